// SPDX-License-Identifier: MIT
// What is released within one turn of the loop goes to the server as one call, and each release comes to its own end.
// Time and network are moved by hand; the server runs the real scripts.
#include "redis/releasing.hpp"
#include "redis/server_clock.hpp"
#include "stage.hpp"

using namespace unit;

namespace {

struct Releasing : Stage {
  // Locks of one process, each of one key of its own.
  std::vector<Handle> hold(size_t count) {
    std::vector<Handle> held;
    for (size_t i = 0; i < count; ++i) held.push_back(a.take(key(i)).grant().handle);
    world.run_ms(50);
    calls = node.script_calls();
    return held;
  }
  static std::string key(size_t i) { return "k" + std::to_string(i); }
  std::vector<std::shared_ptr<Answered>> release(const std::vector<Handle> &held) {
    std::vector<std::shared_ptr<Answered>> answers;
    for (const Handle handle : held) answers.push_back(a.release(handle));
    return answers;
  }
  uint64_t calls_since() const { return node.script_calls() - calls; }
  void write(const std::string &name, const std::string &value) { node.ask({"SET", name, value}); }

  uint64_t calls = 0;
};

}  // namespace

UNIT_TEST(a_key_whose_queue_is_none_keeps_no_other_from_being_given_back) {
  Releasing s;
  const std::vector<Handle> held = s.hold(3);
  s.write("ll1:q:{liblock:k1}", "no queue");
  const auto answers = s.release(held);
  s.world.run_ms(50);
  EXPECT(s.calls_since() >= 1);
  EXPECT(answers[0]->is(Status::OK) && answers[2]->is(Status::OK));
  EXPECT(answers[1]->is(Status::IN_DOUBT));
  EXPECT(s.is_free("k0") && s.is_free("k2"));
  s.node.ask({"DEL", "ll1:q:{liblock:k1}"});
  s.world.run_ms(1'000);  // what was in doubt is repeated
  EXPECT(s.is_free("k1"));
}

UNIT_TEST(a_server_that_may_not_write_any_more_is_left_also_where_each_key_says_so) {
  Releasing s;
  const std::vector<Handle> held = s.hold(2);
  for (size_t i = 0; i < 2; ++i) s.b.acquire({s.key(i)}, waiting_ms(60'000));
  s.world.run_ms(300);
  s.node.set_replica(true);
  const auto answers = s.release(held);
  s.world.run_ms(5);
  for (const auto &answer : answers) EXPECT(answer->is(Status::IN_DOUBT));
  EXPECT(!s.a.instance().link.is_connected());
}

UNIT_TEST(of_many_released_at_once_who_had_lost_his_lock_is_told_so_alone) {
  Releasing s;
  const std::vector<Handle> held = s.hold(4);
  s.node.ask({"DEL", "liblock:k2"});
  const auto answers = s.release(held);
  s.world.run_ms(50);
  EXPECT(s.calls_since() == 1);
  for (size_t i = 0; i < answers.size(); ++i) EXPECT(answers[i]->is(i == 2 ? Status::LOST : Status::OK));
  for (size_t i = 0; i < answers.size(); ++i) EXPECT(s.is_free(s.key(i)));
}

UNIT_TEST(what_is_wrong_with_each_of_1024_keys_does_not_end_the_connection) {
  Releasing s;
  std::vector<std::string> keys;
  for (size_t i = 0; i < 1'024; ++i) keys.push_back(s.key(i));
  Wanted &all = s.a.acquire(keys, waiting_ms(10'000));
  s.world.run_ms(500);
  EXPECT(all.is(Status::OK));
  for (const std::string &key : keys) s.write("ll1:q:{liblock:" + key + "}", "no queue");
  const auto released = s.a.release(all.grant().handle);
  EXPECT(s.world.run_until([&] { return released->times != 0; }, 1'000));
  EXPECT(released->is(Status::IN_DOUBT) && released->why.find("WRONGTYPE") != std::string::npos);
  EXPECT(s.a.instance().link.is_connected());
}

UNIT_TEST(a_connection_that_breaks_leaves_each_of_them_in_doubt_and_all_are_given_back) {
  Releasing s;
  const std::vector<Handle> held = s.hold(4);
  s.node.freeze();
  const auto answers = s.release(held);
  s.world.run_ms(20);
  s.node.end_connections(false);
  s.node.thaw();
  s.world.run_ms(3'000);
  for (const auto &answer : answers) EXPECT(answer->is(Status::IN_DOUBT));
  for (size_t i = 0; i < answers.size(); ++i) EXPECT(s.is_free(s.key(i)));
}

UNIT_TEST(a_server_that_forgot_the_script_is_sent_it_once_for_all_of_them) {
  Releasing s;
  const std::vector<Handle> warm = s.hold(1);
  s.release(warm);
  s.world.run_ms(50);
  const std::vector<Handle> held = s.hold(4);
  s.node.flush_scripts();
  const auto answers = s.release(held);
  s.world.run_ms(50);
  EXPECT(s.calls_since() == 2);
  for (const auto &answer : answers) EXPECT(answer->is(Status::OK));
}

UNIT_TEST(more_than_a_call_has_room_for_go_as_several) {
  Releasing s;
  const auto answers = s.release(s.hold(40));
  s.world.run_ms(50);
  EXPECT(s.calls_since() == 3);
  for (const auto &answer : answers) EXPECT(answer->is(Status::OK));
  for (size_t i = 0; i < answers.size(); ++i) EXPECT(s.is_free(s.key(i)));
}

UNIT_TEST(an_extension_asked_for_before_a_release_is_carried_out_before_it) {
  Releasing s;
  const std::vector<Handle> held = s.hold(2);
  const auto first = s.a.release(held[0]);
  const auto extended = s.a.extend(held[1], 60'000);
  const auto second = s.a.release(held[1]);
  s.world.run_ms(50);
  EXPECT(extended->is(Status::OK));
  EXPECT(first->is(Status::OK) && second->is(Status::OK));
  EXPECT(s.calls_since() == 3);
}

UNIT_TEST(releases_before_and_behind_an_attempt_go_together_and_the_attempt_finds_their_keys_free) {
  Releasing s;
  const std::vector<Handle> held = s.hold(2);
  const auto first = s.a.release(held[0]);
  Wanted &wanted = s.a.acquire({"k0", "k1"}, without_waiting());
  const auto second = s.a.release(held[1]);
  s.world.run_ms(50);
  EXPECT(s.calls_since() == 2);
  EXPECT(first->is(Status::OK) && second->is(Status::OK));
  EXPECT(wanted.is(Status::OK));
}

UNIT_TEST(whoever_waits_for_one_of_many_released_at_once_gets_it) {
  Releasing s;
  const std::vector<Handle> held = s.hold(4);
  Wanted &first = s.b.acquire({"k1"}, waiting_ms(60'000));
  Wanted &second = s.b.acquire({"k3"}, waiting_ms(60'000));
  s.world.run_ms(300);
  const uint64_t calls = s.node.script_calls();
  s.release(held);
  s.world.run_ms(20);
  EXPECT(first.is(Status::OK) && second.is(Status::OK));
  EXPECT(s.node.script_calls() == calls + 1);  // by messages: nobody had to ask again
  EXPECT(s.is_free("k0") && s.is_free("k2"));
}

// What it says is an answer to nothing; it must not be taken for that of a call whose bytes have not gone.
UNIT_TEST(a_reply_that_comes_before_the_call_is_sent_ends_the_connection_and_nothing_else) {
  Releasing s;
  const std::vector<Handle> held = s.hold(2);
  s.a.host().pause();
  s.node.say_unasked("*3\r\n:1700000000000000\r\n:1\r\n:1\r\n");
  s.world.run_ms(20);
  const auto answers = s.release(held);
  s.a.host().go_on();
  s.world.run_ms(3'000);
  for (const auto &answer : answers) EXPECT(answer->is(Status::IN_DOUBT));
  EXPECT(s.is_free("k0") && s.is_free("k1"));
}

UNIT_TEST(an_answer_to_a_release_has_a_time_and_a_word_of_each_key) {
  using Kind = liblock::Reply::Kind;
  const auto reply = [](Kind kind, int64_t integer) {
    liblock::Reply one;
    one.kind = kind;
    one.integer = integer;
    return one;
  };
  const auto number = [&](int64_t value) { return reply(Kind::Integer, value); };
  const auto fits = [&](std::vector<liblock::Reply> told) {
    liblock::Reply all = reply(Kind::Array, 0);
    all.elements = told;
    return liblock::fits_release(all, 2);
  };
  const liblock::Reply now = number(1'700'000'000'000'000), text = reply(Kind::Text, 0);
  EXPECT(liblock::fits_release(now, 2));
  EXPECT(fits({now, number(1), text}));
  EXPECT(!fits({now, number(1)}));
  EXPECT(!fits({now, number(1), reply(Kind::Nil, 0)}));
  EXPECT(!fits({text, number(1), number(1)}));
  for (const int64_t no_time : {int64_t{-1}, liblock::ServerClock::kLastUs + 1}) {
    EXPECT(!liblock::fits_release(number(no_time), 2));
    EXPECT(!fits({number(no_time), number(1), number(1)}));
  }
}

UNIT_MAIN(
    "what one turn of the loop releases on a server",
    cmocka_unit_test(a_key_whose_queue_is_none_keeps_no_other_from_being_given_back),
    cmocka_unit_test(a_server_that_may_not_write_any_more_is_left_also_where_each_key_says_so),
    cmocka_unit_test(of_many_released_at_once_who_had_lost_his_lock_is_told_so_alone),
    cmocka_unit_test(what_is_wrong_with_each_of_1024_keys_does_not_end_the_connection),
    cmocka_unit_test(a_connection_that_breaks_leaves_each_of_them_in_doubt_and_all_are_given_back),
    cmocka_unit_test(a_server_that_forgot_the_script_is_sent_it_once_for_all_of_them),
    cmocka_unit_test(more_than_a_call_has_room_for_go_as_several),
    cmocka_unit_test(an_extension_asked_for_before_a_release_is_carried_out_before_it),
    cmocka_unit_test(releases_before_and_behind_an_attempt_go_together_and_the_attempt_finds_their_keys_free),
    cmocka_unit_test(whoever_waits_for_one_of_many_released_at_once_gets_it),
    cmocka_unit_test(a_reply_that_comes_before_the_call_is_sent_ends_the_connection_and_nothing_else),
    cmocka_unit_test(an_answer_to_a_release_has_a_time_and_a_word_of_each_key))
