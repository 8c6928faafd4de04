// SPDX-License-Identifier: MIT
// What bytes do to a TLS session: in pieces, in masses, damaged, none at all; and how it begins and ends.
#include "tls_stage.hpp"

using namespace stage;

namespace {

// A session that nobody has answered yet.
std::unique_ptr<TlsSession> fresh_session(const World &world) {
  std::string error;
  auto session = TlsSession::make(liblock::make_tls_config(world.options, error), "localhost", error);
  if (session == nullptr) throw unit::Failure{error};
  return session;
}

// Bytes in which a piece that is lost, doubled or misplaced would be seen.
std::string pattern(size_t size) {
  std::string bytes(size, '\0');
  uint32_t state = 1;
  for (char &byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

}  // namespace

UNIT_TEST(plain_text_instead_of_tls_fails) {
  World world;
  for (const char *text : {"-ERR Protocol error\r\n", "+OK\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n"}) {
    std::string plain;
    const auto session = fresh_session(world);
    EXPECT(session->receive(text, plain) == State::Failed && plain.empty());
    EXPECT(says(session->error(), "does not speak TLS on this port; "));
    EXPECT(session->receive(text, plain) == State::Failed && session->send("x") == State::Failed);
  }
}

UNIT_TEST(noise_fails_and_never_becomes_plain_text) {
  World world;
  const std::string noise = pattern(1 << 16);
  for (size_t at = 0; at + 512 < noise.size(); at += 512) {
    std::string plain;
    const auto session = fresh_session(world);
    session->receive("\x16\x03\x03", plain);
    for (size_t i = 0; i < 512; ++i) session->receive(std::string_view(noise).substr(at + i, 1), plain);
    EXPECT(session->state() != State::Open && session->state() != State::Closed && plain.empty());
    EXPECT(session->state() == State::Handshaking || says(session->error(), "; "));
  }
}

UNIT_TEST(a_damaged_record_fails_and_what_came_before_stays) {
  World world;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Talk talk(world, peer::Wish{.identity = &world.good, .version_max = version});
    EXPECT(talk.is_open());
    talk.server.send("first");
    std::string bytes = talk.server.take_output();
    talk.server.send("second");
    std::string damaged = talk.server.take_output();
    damaged.back() ^= 1;
    EXPECT(talk.client->receive(bytes + damaged, talk.got) == State::Failed && talk.got == "first");
    EXPECT(says(talk.error(), "TLS failed (") && says(talk.error(), "; "));
    EXPECT(!peer::output_of(*talk.client).empty() && peer::output_of(*talk.client).empty());  // one alert
  }
}

UNIT_TEST(the_servers_refusal_is_told_with_its_alert) {
  World world;
  const auto session = fresh_session(world);
  std::string plain;
  EXPECT(session->receive(std::string_view("\x15\x03\x03\x00\x02\x02\x50", 7), plain) == State::Failed);
  EXPECT(says(session->error(), "alert (internal error); "));
}

UNIT_TEST(a_server_that_hangs_up_in_the_handshake_fails) {
  World world;
  const auto session = fresh_session(world);
  std::string plain;
  EXPECT(session->receive(std::string_view("\x15\x03\x03\x00\x02\x01\x00", 7), plain) == State::Failed);
  EXPECT(says(session->error(), "hung up before TLS was agreed on; "));
}

UNIT_TEST(a_stream_that_is_cut_is_not_closed) {
  World world;
  Talk talk(world, world.good);
  talk.server.send("half");
  SSL_shutdown(talk.server.ssl());
  const std::string bytes = talk.server.take_output();
  EXPECT(talk.client->receive(std::string_view(bytes).substr(0, bytes.size() - 1), talk.got) == State::Open);
  EXPECT(talk.got == "half" && talk.client->receive("", talk.got) == State::Open);
  EXPECT(talk.client->receive(bytes.substr(bytes.size() - 1), talk.got) == State::Closed);
}

UNIT_TEST(close_notify_of_the_server_closes_and_is_answered) {
  World world;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Talk talk(world, peer::Wish{.identity = &world.good, .version_max = version});
    talk.server.send("last words");
    SSL_shutdown(talk.server.ssl());
    EXPECT(!talk.server.heard_close());
    talk.carry();
    EXPECT(talk.state() == State::Closed && talk.got == "last words" && talk.error().empty());
    EXPECT(talk.server.heard_close());
    EXPECT(talk.client->send("x") == State::Closed && peer::output_of(*talk.client).empty());
  }
}

UNIT_TEST(shut_down_tells_the_server_once_and_ends_the_session) {
  World world;
  Talk talk(world, world.good);
  talk.client->send(" and more");
  talk.client->shut_down();
  talk.client->shut_down();
  EXPECT(talk.state() == State::Closed && talk.client->send("late") == State::Closed);
  talk.server.send("unheard");
  talk.carry();
  EXPECT(talk.server.heard_close() && talk.server.got == "AUTH secret and more" && talk.got.empty());
  const auto young = fresh_session(world);
  young->send("never");
  young->shut_down();
  EXPECT(young->state() == State::Closed);
  const auto failed = fresh_session(world);
  failed->receive("-ERR\r\n", talk.got);
  failed->shut_down();
  EXPECT(failed->state() == State::Failed);
}

UNIT_TEST(one_byte_at_a_time_is_enough) {
  World world;
  world.give_client(forge::make({.purpose = "clientAuth"}, &world.ca));
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const peer::Wish wish{.identity = &world.good, .clients_ca = &world.ca, .version_max = version};
    Talk talk(world, wish, "localhost", 1);
    EXPECT(talk.is_open());
    talk.server.send("+OK\r\n");
    talk.client->send("PING");
    talk.carry(1);
    EXPECT(talk.got == "+OK\r\n" && talk.server.got == "AUTH secretPING");
  }
}

UNIT_TEST(masses_of_data_arrive_whole_both_ways) {
  World world;
  Talk talk(world, world.good);
  const std::string mass = pattern(5'000'000);
  talk.server.send(mass);
  EXPECT(talk.client->send(mass) == State::Open);
  talk.carry(100'003);
  EXPECT(talk.got == mass && talk.server.got == "AUTH secret" + mass && talk.state() == State::Open);
}

UNIT_TEST(more_than_the_bound_before_the_handshake_fails) {
  World world;
  const auto session = fresh_session(world);
  const std::string mass = pattern(TlsSession::kUnsentMax);
  EXPECT(session->send(mass) == State::Handshaking && session->send("") == State::Handshaking);
  EXPECT(session->send("x") == State::Failed && says(session->error(), "1 MiB") &&
         says(session->error(), "; "));
  EXPECT(fresh_session(world)->send(mass + "x") == State::Failed);
}

UNIT_TEST(what_is_sent_before_the_handshake_goes_out_after_it) {
  World world;
  const auto session = fresh_session(world);
  const std::string mass = pattern(TlsSession::kUnsentMax);
  EXPECT(session->send(mass.substr(0, 10)) == State::Handshaking);
  EXPECT(session->send(mass.substr(10)) == State::Handshaking);
  EXPECT(peer::output_of(*session).size() < 4096);  // the hello alone
  const auto again = fresh_session(world);
  again->send(mass);
  peer::Server server({.identity = &world.good});
  std::string got;
  peer::carry(*again, server, got);
  EXPECT(again->state() == State::Open && server.got == mass);
}

UNIT_TEST(keys_are_changed_while_it_goes_on) {
  World world;
  Talk talk(world, world.good);
  for (int i = 0; i < 100; ++i) {
    EXPECT(SSL_key_update(talk.server.ssl(), SSL_KEY_UPDATE_REQUESTED) == 1);
    talk.server.send("a");
    talk.client->send("b");
    talk.carry();
  }
  EXPECT(talk.state() == State::Open && talk.got == std::string(100, 'a'));
  EXPECT(talk.server.got == "AUTH secret" + std::string(100, 'b'));
}

UNIT_TEST(a_new_handshake_in_the_old_one_is_refused) {
  World world;
  Talk talk(world, peer::Wish{.identity = &world.good, .version_max = TLS1_2_VERSION});
  EXPECT(talk.is_open() && SSL_renegotiate(talk.server.ssl()) == 1 &&
         SSL_do_handshake(talk.server.ssl()) == 1);
  EXPECT(talk.client->receive(talk.server.take_output(), talk.got) == State::Open);
  const std::string answer = peer::output_of(*talk.client);
  EXPECT(!answer.empty() && answer.front() == 21);  // an alert, and no hello (22)
}

UNIT_TEST(errors_of_others_are_not_taken_for_ours_and_ours_are_not_left_behind) {
  World world;
  ERR_raise(ERR_LIB_SSL, SSL_R_BAD_LENGTH);
  const auto session = fresh_session(world);
  std::string plain;
  ERR_raise(ERR_LIB_SSL, SSL_R_BAD_LENGTH);
  EXPECT(session->receive("\x16", plain) == State::Handshaking);
  EXPECT(session->receive("nonsense", plain) == State::Failed && ERR_peek_error() == 0);
  Talk talk(world, world.good);
  ERR_raise(ERR_LIB_SSL, SSL_R_BAD_LENGTH);
  EXPECT(talk.client->send("x") == State::Open && ERR_peek_error() == 0);
}

UNIT_TEST(sessions_of_one_config_do_not_know_each_other) {
  World world;
  std::string error, got;
  auto config = liblock::make_tls_config(world.options, error);
  auto a = TlsSession::make(config, "localhost", error), b = TlsSession::make(config, "127.0.0.1", error);
  auto c = TlsSession::make(config, "elsewhere", error);
  config.reset();  // the sessions keep what they need
  peer::Server for_a({.identity = &world.good}), for_b({.identity = &world.good}),
      for_c({.identity = &world.good});
  c->receive("nonsense", got);
  peer::carry(*a, for_a, got);
  a.reset();
  peer::carry(*b, for_b, got);
  EXPECT(b->state() == State::Open && for_b.is_open() && got.empty() && c->state() == State::Failed);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(plain_text_instead_of_tls_fails),
      cmocka_unit_test(noise_fails_and_never_becomes_plain_text),
      cmocka_unit_test(a_damaged_record_fails_and_what_came_before_stays),
      cmocka_unit_test(the_servers_refusal_is_told_with_its_alert),
      cmocka_unit_test(a_server_that_hangs_up_in_the_handshake_fails),
      cmocka_unit_test(a_stream_that_is_cut_is_not_closed),
      cmocka_unit_test(close_notify_of_the_server_closes_and_is_answered),
      cmocka_unit_test(shut_down_tells_the_server_once_and_ends_the_session),
      cmocka_unit_test(one_byte_at_a_time_is_enough),
      cmocka_unit_test(masses_of_data_arrive_whole_both_ways),
      cmocka_unit_test(more_than_the_bound_before_the_handshake_fails),
      cmocka_unit_test(what_is_sent_before_the_handshake_goes_out_after_it),
      cmocka_unit_test(keys_are_changed_while_it_goes_on),
      cmocka_unit_test(a_new_handshake_in_the_old_one_is_refused),
      cmocka_unit_test(errors_of_others_are_not_taken_for_ours_and_ours_are_not_left_behind),
      cmocka_unit_test(sessions_of_one_config_do_not_know_each_other),
  };
  return cmocka_run_group_tests_name("bytes through TLS", tests, configure_openssl, remove_configuration);
}
