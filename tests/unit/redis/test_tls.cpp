// SPDX-License-Identifier: MIT
// Whom a TLS session trusts, and what it says when it does not: certificates, names, versions, files.
#include "tls_stage.hpp"

using namespace stage;

namespace {

bool has(const std::string &text, const char *a, const char *b) { return says(text, a) && says(text, b); }

std::string refusal(const TlsOptions &options) {
  std::string error;
  if (liblock::make_tls_config(options, error) != nullptr) return "accepted";
  if (ERR_peek_error() != 0) return "an error was left behind";
  return says(error, "; ") ? error : "no cure was told";
}

}  // namespace

UNIT_TEST(a_certificate_for_another_name_fails) {
  World world;
  const auto wrong = forge::make({.names = "DNS:elsewhere.example,DNS:*.localhost"}, &world.ca);
  Talk talk(world, wrong);
  EXPECT(talk.failed_by("hostname mismatch") && has(talk.error(), "'localhost'", "server_name"));
}

UNIT_TEST(a_wildcard_stands_for_one_whole_label) {
  World world;
  const auto partial = forge::make({.names = "DNS:db*.redis.example"}, &world.ca);
  EXPECT(Talk(world, partial, "db1.redis.example").failed_by("hostname mismatch"));
  const auto whole = forge::make({.names = "DNS:*.redis.example"}, &world.ca);
  EXPECT(Talk(world, whole, "a.db1.redis.example").failed_by("hostname mismatch"));
  EXPECT(Talk(world, whole, "db1.redis.example").is_open());
}

UNIT_TEST(a_certificate_for_another_address_fails) {
  World world;
  Talk talk(world, world.good, "127.0.0.2");
  EXPECT(talk.failed_by("IP address mismatch") && says(talk.error(), "'127.0.0.2'"));
  // An address in text form is no address.
  const auto text = forge::make({.names = "DNS:127.0.0.1"}, &world.ca);
  EXPECT(Talk(world, text, "127.0.0.1").failed_by("IP address mismatch"));
}

UNIT_TEST(a_common_name_is_no_host_name) {
  World world;
  const auto old_style = forge::make({.common_name = "localhost", .names = ""}, &world.ca);
  EXPECT(Talk(world, old_style).failed_by("hostname mismatch"));
}

UNIT_TEST(an_expired_certificate_fails) {
  World world;
  const auto expired = forge::make({.from_s = -7200, .until_s = -3600}, &world.ca);
  Talk talk(world, expired);
  EXPECT(talk.failed_by("certificate has expired") && has(talk.error(), "renew", "clock"));
}

UNIT_TEST(a_certificate_that_is_not_valid_yet_fails) {
  World world;
  const auto early = forge::make({.from_s = 3600, .until_s = 7200}, &world.ca);
  Talk talk(world, early);
  EXPECT(talk.failed_by("not yet valid") && says(talk.error(), "clock"));
}

UNIT_TEST(a_self_signed_certificate_fails_unless_it_is_named_itself) {
  World world;
  const auto alone = forge::make({});
  Talk talk(world, alone);
  EXPECT(talk.failed_by("self-signed certificate") && says(talk.error(), "ca_file"));
  world.options.ca_file = world.folder.write("alone.pem", forge::pem(alone));
  EXPECT(Talk(world, alone).is_open());
}

UNIT_TEST(a_certificate_of_an_unknown_ca_fails) {
  World world;
  const auto foreign = forge::make({}, &world.other_ca);
  Talk talk(world, foreign);
  EXPECT(talk.failed_by("unable to get local issuer certificate") && has(talk.error(), "ca_file", "ca_path"));
}

UNIT_TEST(a_certificate_that_is_meant_for_clients_fails) {
  World world;
  const auto client = forge::make({.purpose = "clientAuth"}, &world.ca);
  EXPECT(Talk(world, client).failed_by("purpose"));
}

UNIT_TEST(a_peer_without_any_certificate_fails) {
  World world;
  const peer::Wish anonymous{.version_max = TLS1_2_VERSION, .ciphers = "aNULL:@SECLEVEL=0"};
  EXPECT(Talk(world, anonymous).failed_by("without a certificate"));
  world.options.verify = false;  // so it was not the handshake that could not be
  EXPECT(Talk(world, anonymous).is_open());
}

UNIT_TEST(a_missing_client_certificate_fails) {
  World world;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const peer::Wish strict{.identity = &world.good, .clients_ca = &world.ca, .version_max = version};
    Talk talk(world, strict);
    EXPECT(talk.failed_by("wants a client certificate and got none"));
    EXPECT(has(talk.error(), "certificate_file", "key_file"));
  }
}

UNIT_TEST(a_client_certificate_of_another_ca_fails) {
  World world;
  world.give_client(
      forge::make({.common_name = "a client", .names = "", .purpose = "clientAuth"}, &world.other_ca));
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const peer::Wish strict{.identity = &world.good, .clients_ca = &world.ca, .version_max = version};
    EXPECT(Talk(world, strict).failed_by("refuses our certificate (unknown CA)"));
  }
}

UNIT_TEST(the_wanted_client_certificate_opens) {
  World world;
  world.give_client(
      forge::make({.common_name = "a client", .names = "", .purpose = "clientAuth"}, &world.ca));
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const peer::Wish strict{.identity = &world.good, .clients_ca = &world.ca, .version_max = version};
    Talk talk(world, strict);
    EXPECT(talk.is_open() && SSL_get0_peer_certificate(talk.server.ssl()) != nullptr);
  }
}

UNIT_TEST(a_good_name_opens) {
  World world;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    for (const char *host : {"localhost", "LocalHost", "localhost."}) {
      Talk talk(world, peer::Wish{.identity = &world.good, .version_max = version}, host);
      EXPECT(talk.is_open() && talk.error().empty());
      EXPECT(SSL_version(talk.server.ssl()) == version && talk.server.asked_name().size() == 9);
    }
  }
}

UNIT_TEST(a_good_address_opens_and_is_not_asked_for_by_name) {
  World world;
  for (const char *host : {"127.0.0.1", "::1", "::1%lo"}) {
    Talk talk(world, world.good, host);
    EXPECT(talk.is_open() && talk.server.asked_name().empty());
  }
}

UNIT_TEST(server_name_stands_for_the_host) {
  World world;
  const auto named = forge::make({.names = "DNS:redis.example"}, &world.ca);
  world.options.server_name = "redis.example";
  Talk talk(world, named, "127.0.0.1");
  EXPECT(talk.is_open() && talk.server.asked_name() == "redis.example");
  EXPECT(Talk(world, world.good, "localhost").failed_by("'redis.example'"));
  world.options.server_name = "127.0.0.1";
  Talk address(world, world.good, "elsewhere");
  EXPECT(address.is_open() && address.server.asked_name().empty());
}

UNIT_TEST(what_names_no_single_server_is_no_host) {
  World world;
  std::string error;
  auto config = liblock::make_tls_config(world.options, error);
  for (const std::string &host :
       {std::string(), std::string("."), std::string(".localhost"), std::string("localhost\0x", 11)}) {
    EXPECT(TlsSession::make(config, host, error) == nullptr && says(error, "server_name"));
  }
  EXPECT(TlsSession::make(config, std::string("127.0.0.1\0x", 11), error) == nullptr);
  EXPECT(TlsSession::make(config, std::string(300, 'x'), error) == nullptr && says(error, "server_name"));
  world.options.verify = false;
  config = liblock::make_tls_config(world.options, error);
  EXPECT(TlsSession::make(config, "", error) != nullptr && error.empty());
}

UNIT_TEST(without_verification_anyone_is_let_in) {
  World world;
  world.options.verify = false;
  world.options.ca_file.clear();
  const auto expired = forge::make({.from_s = -7200, .until_s = -3600}, &world.ca);
  const auto wrong = forge::make({.names = "DNS:elsewhere.example"}, &world.other_ca);
  const auto alone = forge::make({});
  for (const auto *identity : {&expired, &wrong, &alone}) EXPECT(Talk(world, *identity).is_open());
}

UNIT_TEST(without_a_ca_the_systems_store_decides) {
  World world;
  const std::string ca_file = world.options.ca_file;
  world.options.ca_file.clear();
  EXPECT(Talk(world, world.good).failed_by("unable to get local issuer certificate"));
  const char *was = getenv("SSL_CERT_FILE");
  const std::string before = was != nullptr ? was : "";
  setenv("SSL_CERT_FILE", ca_file.c_str(), 1);
  Talk trusted(world, world.good);
  // And it counts for nothing where a CA was named.
  world.options.ca_file = world.folder.write("other.pem", forge::pem(world.other_ca));
  Talk named(world, world.good);
  setenv("SSL_CERT_FILE", before.c_str(), 1);
  EXPECT(trusted.is_open());
  EXPECT(named.failed_by("unable to get local issuer certificate"));
}

UNIT_TEST(a_folder_of_cas_is_looked_into) {
  World world;
  char hashed[32];
  std::snprintf(
      hashed, sizeof hashed, "%08lx.0",
      X509_NAME_hash_ex(X509_get_subject_name(world.ca.certificate.get()), nullptr, nullptr, nullptr));
  std::filesystem::create_directory(world.folder.path("cas"));
  world.options.ca_path = world.folder.path("cas");
  world.options.ca_file.clear();
  EXPECT(Talk(world, world.good).failed_by("unable to get local issuer certificate"));
  world.folder.write(std::string("cas/") + hashed, forge::pem(world.ca));
  EXPECT(Talk(world, world.good).is_open());
}

UNIT_TEST(a_peer_that_ends_at_tls_1_1_is_refused) {
  World world;
  const peer::Wish old{.identity = &world.good,
                       .version_min = TLS1_VERSION,
                       .version_max = TLS1_1_VERSION,
                       .ciphers = "ALL:@SECLEVEL=0"};
  EXPECT(Talk(world, old).failed_by("TLS 1.2 or newer"));
  // A server's hello of TLS 1.1, from one that does not care what was offered.
  std::string error, plain;
  const auto client = TlsSession::make(liblock::make_tls_config(world.options, error), "localhost", error);
  const std::string random(32, 'r');
  const std::string hello = std::string("\x16\x03\x02\x00\x2a\x02\x00\x00\x26\x03\x02", 11) + random +
                            std::string("\x00\xc0\x09\x00", 4);
  EXPECT(client->receive(hello, plain) == State::Failed &&
         has(client->error(), "too old", "TLS 1.2 or newer"));
}

UNIT_TEST(files_that_cannot_be_used_are_told_with_cause_and_cure) {
  World world;
  const auto with = [&](auto &&change) {
    TlsOptions options = world.options;
    change(options);
    return refusal(options);
  };
  const std::string nothing = world.folder.path("none.pem"),
                    noise = world.folder.write("noise.pem", "no PEM\n");
  EXPECT(has(with([&](TlsOptions &o) { o.ca_file = nothing; }), "ca_file", "No such file"));
  EXPECT(has(with([&](TlsOptions &o) { o.ca_file = noise; }), "ca_file", "no certificate"));
  EXPECT(has(with([&](TlsOptions &o) { o.ca_file = world.folder.path(); }), "ca_file", "no certificate"));
  EXPECT(has(with([&](TlsOptions &o) { o.ca_path = nothing; }), "ca_path", "no folder"));
  EXPECT(has(with([&](TlsOptions &o) { o.verify = false, o.ca_file = nothing; }), "ca_file", "No such file"));
  EXPECT(refusal(world.options) == "accepted");
}

UNIT_TEST(a_certificate_and_a_key_that_do_not_go_together_are_told) {
  World world;
  world.give_client(world.good);
  EXPECT(refusal(world.options) == "accepted");
  const auto with = [&](auto &&change) {
    TlsOptions options = world.options;
    change(options);
    return refusal(options);
  };
  const std::string nothing = world.folder.path("none.pem"),
                    noise = world.folder.write("noise.pem", "no PEM\n");
  const std::string other = world.folder.write("other.key", forge::key_pem(world.other_ca));
  // Of another kind than the certificate's: OpenSSL itself would take it for the key of a certificate still to come.
  const forge::Identity stranger{{EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), EVP_PKEY_free}, nullptr};
  const std::string other_kind = world.folder.write("other_kind.key", forge::key_pem(stranger));
  const std::string secret = world.folder.write("secret.key", forge::encrypted_key_pem(world.good));
  EXPECT(has(with([&](TlsOptions &o) { o.key_file.clear(); }), "one is missing", "key_file"));
  EXPECT(has(with([&](TlsOptions &o) { o.certificate_file.clear(); }), "one is missing", "certificate_file"));
  EXPECT(has(with([&](TlsOptions &o) { o.certificate_file = nothing; }), "certificate_file", "No such file"));
  EXPECT(has(with([&](TlsOptions &o) { o.certificate_file = noise; }), "certificate_file", "cannot be used"));
  EXPECT(has(with([&](TlsOptions &o) { o.key_file = nothing; }), "key_file", "No such file"));
  EXPECT(has(with([&](TlsOptions &o) { o.key_file = noise; }), "key_file", "cannot be used"));
  EXPECT(has(with([&](TlsOptions &o) { o.key_file = other; }), "key_file", "belong together"));
  EXPECT(has(with([&](TlsOptions &o) { o.key_file = other_kind; }), "key_file", "belong together"));
  EXPECT(has(with([&](TlsOptions &o) { o.key_file = secret; }), "key_file", "encrypted"));
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_certificate_for_another_name_fails),
      cmocka_unit_test(a_wildcard_stands_for_one_whole_label),
      cmocka_unit_test(a_certificate_for_another_address_fails),
      cmocka_unit_test(a_common_name_is_no_host_name),
      cmocka_unit_test(an_expired_certificate_fails),
      cmocka_unit_test(a_certificate_that_is_not_valid_yet_fails),
      cmocka_unit_test(a_self_signed_certificate_fails_unless_it_is_named_itself),
      cmocka_unit_test(a_certificate_of_an_unknown_ca_fails),
      cmocka_unit_test(a_certificate_that_is_meant_for_clients_fails),
      cmocka_unit_test(a_peer_without_any_certificate_fails),
      cmocka_unit_test(a_missing_client_certificate_fails),
      cmocka_unit_test(a_client_certificate_of_another_ca_fails),
      cmocka_unit_test(the_wanted_client_certificate_opens),
      cmocka_unit_test(a_good_name_opens),
      cmocka_unit_test(a_good_address_opens_and_is_not_asked_for_by_name),
      cmocka_unit_test(server_name_stands_for_the_host),
      cmocka_unit_test(what_names_no_single_server_is_no_host),
      cmocka_unit_test(without_verification_anyone_is_let_in),
      cmocka_unit_test(without_a_ca_the_systems_store_decides),
      cmocka_unit_test(a_folder_of_cas_is_looked_into),
      cmocka_unit_test(a_peer_that_ends_at_tls_1_1_is_refused),
      cmocka_unit_test(files_that_cannot_be_used_are_told_with_cause_and_cure),
      cmocka_unit_test(a_certificate_and_a_key_that_do_not_go_together_are_told),
  };
  return cmocka_run_group_tests_name("whom TLS trusts", tests, configure_openssl, remove_configuration);
}
