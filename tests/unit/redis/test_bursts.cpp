// SPDX-License-Identifier: MIT
// Whoever wants thousands of locks at once gets them over the connection that there is, however long the last of them
// waits for its turn; and those who hold something are kept and served meanwhile.
#include <deque>

#include "support/burst.hpp"

#include "stage.hpp"

using namespace unit;

namespace {

struct OneServer : Stage, Burst<Process> {
  OneServer() : Burst(world, a, {&node}) {
    world.run_ms(10);
    servers_take(kMillisecond);
  }
  // Where that is less than the time-out the machine does as a whole: the server has no time either.
  Wanted &asks_and_stands_still(Nanos time) {
    Wanted &asked = a.acquire({"k"}, waiting_ms(0));
    world.run_for(150'000);  // it is on its way
    a.host().pause();
    if (time < 1'000 * kMillisecond) node.freeze();
    world.run_for(time);
    node.thaw();
    a.host().go_on();
    world.run_ms(50);
    return asked;
  }
  // So many, each in a turn of the loop of its own, so that none goes with another at once.
  std::vector<std::shared_ptr<Answered>> release_all() {
    std::vector<std::shared_ptr<Answered>> answers;
    for (const auto *one : wanted) {
      answers.push_back(a.release(one->grant().handle));
      world.run_for(1'000);
    }
    return answers;
  }
};

// Much longer than the time-out, a moment longer, and up to a moment before it ends.
constexpr Nanos kStandsStill[] = {2'500 * kMillisecond, 1'050 * kMillisecond, 999 * kMillisecond + 800'000};

// A command that says what becomes of it.
struct Said final : liblock::Command {
  Said(bool grows_of_it, bool may_be_passed_by_what_joins)
      : grows(grows_of_it), passable(may_be_passed_by_what_joins) {}
  void encode(std::string &wire) const override { liblock::encode_words(wire, {"PING"}); }
  size_t words() const override { return 4; }  // 256 of them are as much as is under way at first
  void sending(liblock::Nanos) override { was_sent = true, is_growing = false; }
  void replied(const liblock::Reply &) override { ++ends; }
  void failed(const liblock::Failure &) override { is_growing = false, ends += 2; }
  bool begins_to_grow() override { return is_growing = grows; }
  void ends_growth() override { is_growing = false; }
  bool may_be_passed() const override { return passable; }

  const bool grows, passable;
  bool is_growing = false, was_sent = false;
  int ends = 0;
};

}  // namespace

UNIT_TEST(the_last_of_many_acquires_takes_longer_than_the_command_time_out_and_the_connection_stays) {
  OneServer().is_served_over_one_connection(3'000, 6'000);
}

UNIT_TEST(a_server_that_takes_long_over_each_is_asked_for_less_at_once) {
  OneServer s;
  s.servers_take(8 * kMillisecond);
  s.is_served_over_one_connection(300, 5'000, false);
}

UNIT_TEST(a_lease_is_renewed_while_thousands_of_acquires_wait_for_their_turn) {
  OneServer().keeps_who_holds_a_lock(5'000, 1'200, 3'000);
}

UNIT_TEST(a_short_lease_is_renewed_once_for_each_time_that_it_is_due_while_commands_wait) {
  OneServer s;
  s.servers_take(kMillisecond / 2);
  const uint64_t before = s.a.instance().counts.renewals;
  s.keeps_who_holds_a_lock(5'000, 480, 1'000);
  EXPECT(s.a.instance().counts.renewals - before < 20 + 2 * s.count(Status::OK));
}

// An extension waits for a connection: renewals that a new one begins with go before it, and take nothing from it.
UNIT_TEST(what_a_new_connection_begins_with_goes_before_all_that_waited_for_it) {
  OneServer s;
  s.servers_take(0);
  Wanted &first = s.a.take("first", waiting_ms(0, 3'000));
  Wanted &second = s.a.take("second", waiting_ms(0, 3'000));
  s.world.run_ms(800);
  s.node.freeze();
  s.a.host().break_connections();
  s.world.run_ms(400);  // both are due by now, and the server has not greeted yet
  const auto extended = s.a.extend_for(first.grant().handle, liblock::kNever, false, false);
  s.world.run_ms(5);
  s.node.thaw();
  s.world.run_ms(1'000);
  EXPECT(extended->is(Status::OK));
  EXPECT(s.node.ask({"PTTL", "liblock:first"}).integer == -1);
  EXPECT(s.node.ask({"PTTL", "liblock:second"}).integer > 0);
  s.world.run_ms(5'000);
  EXPECT(s.a.holds(second.grant().handle) && s.node.ask({"PTTL", "liblock:second"}).integer > 0);
}

UNIT_TEST(whoever_waits_for_his_turn_when_his_time_is_over_is_told_so_and_nothing_of_him_is_sent) {
  OneServer s;
  s.acquire(2'000, waiting_ms(100));
  s.world.run_ms(110);
  s.ends_without_a_word(Status::TIMEOUT, 2 * 300 + 100, 2'000);
}

UNIT_TEST(whoever_waits_for_his_turn_can_be_canceled) {
  OneServer s;
  s.acquire(2'000);
  s.world.run_ms(50);
  s.end_all(Status::CANCELED);
  s.ends_without_a_word(Status::CANCELED, 2 * 250 + 100, 2'000);
}

UNIT_TEST(a_context_that_is_closed_ends_those_who_wait_for_their_turn) {
  OneServer s;
  s.acquire(2'000);
  s.world.run_ms(50);
  bool closed = false;
  run_once(s.a.host(), [&] { s.a.instance().close(false, [&] { closed = true; }); });
  EXPECT(s.world.run_until([&] { return closed; }, 3'000));
  s.ends_without_a_word(Status::CLOSED, 2 * 250 + 100, 2'000);
}

UNIT_TEST(those_who_wait_for_their_turn_are_asked_for_anew_when_the_server_is_there_again) {
  OneServer s;
  s.acquire(1'000);
  s.world.run_ms(300);
  s.node.stop(Node::Data::Kept);
  s.world.run_ms(300);
  s.node.start();
  EXPECT(s.world.run_until([&] { return s.all_ended(); }, 10'000));
  EXPECT(s.count(Status::OK) == 1'000);
}

UNIT_TEST(a_lock_that_its_owner_holds_is_reentered_while_others_wait_for_their_turn) {
  OneServer s;
  const auto owner = s.a.owner("o");
  Wanted &first = s.a.acquire({"mine"}, waiting_ms(1'000), owner);
  EXPECT(s.world.run_until([&] { return first.ended(); }, 1'000));
  s.acquire(2'000);
  s.world.run_ms(5);
  Wanted &second = s.a.acquire({"mine"}, waiting_ms(1'000), owner);
  s.world.run_ms(5);
  EXPECT(first.is(Status::OK) && second.is(Status::OK) && !s.all_ended());
}

UNIT_TEST(releases_that_wait_for_their_turn_go_together) {
  OneServer s;
  s.servers_take(0);
  s.is_granted(2'500, 500);
  s.servers_take(kMillisecond);
  const uint64_t before = s.calls();
  const auto answers = s.release_all();
  s.world.run_ms(1'800);
  for (const auto &answer : answers) EXPECT(answer->is(Status::OK));
  EXPECT(s.calls() - before < 1'500);
}

UNIT_TEST(what_waits_grows_until_something_comes_behind_it_that_it_must_not_pass) {
  std::deque<Said> said;  // outlives whom it is said to
  OneServer s;
  s.a.take("first");
  const auto say = [&](bool grows, bool may_be_passed) -> Said & {
    Said &one = said.emplace_back(grows, may_be_passed);
    run_once(s.a.host(), [&s, &one] { s.a.instance().link.send(one); });
    s.world.run_for(1'000);
    return one;
  };
  for (int i = 0; i < 300; ++i) say(false, false);
  const Said &first = say(true, true);
  EXPECT(first.is_growing && !first.was_sent);
  say(false, true);
  EXPECT(first.is_growing);
  say(false, false);
  EXPECT(!first.is_growing && !first.was_sent);
  const Said &second = say(true, true);
  EXPECT(second.is_growing && !second.was_sent);
  s.world.run_ms(500);
  for (const Said &one : said) EXPECT(one.was_sent && !one.is_growing && one.ends == 1);
}

UNIT_TEST(a_process_that_stood_still_hears_what_was_answered_meanwhile_before_it_gives_a_server_up) {
  for (const Nanos time : kStandsStill) {
    OneServer s;
    s.a.take("first");
    s.world.run_ms(100);
    const uint64_t before = s.greetings();
    EXPECT(s.asks_and_stands_still(time).is(Status::OK));
    EXPECT(s.greetings() == before);
  }
}

UNIT_TEST(a_process_that_stood_still_while_it_connected_hears_the_greeting_before_it_gives_the_server_up) {
  for (const Nanos time : kStandsStill) {
    OneServer s;
    EXPECT(s.asks_and_stands_still(time).is(Status::OK));
  }
}

UNIT_TEST(a_server_that_answers_nothing_is_given_up_also_by_a_loop_that_is_always_late) {
  OneServer s;
  s.a.take("first");
  s.world.run_ms(100);
  s.node.freeze();
  s.a.acquire({"k"}, waiting_ms(60'000));
  for (int i = 0; i < 15; ++i) {
    s.world.run_ms(1);
    s.a.host().pause();
    s.world.run_ms(200);
    s.a.host().go_on();
  }
  EXPECT(!s.a.instance().link.is_connected());
}

UNIT_TEST(a_close_waits_for_as_long_as_locks_are_given_back_and_no_longer) {
  for (const bool answers : {true, false}) {
    OneServer s;
    s.servers_take(kMillisecond / 50);
    s.is_granted(4'000, 5'000);
    const Nanos timeout = s.a.instance().options.connection.command_timeout;
    answers ? s.servers_take(timeout / 125) : s.node.freeze();  // two time-outs for all of them
    const Nanos from = s.world.now();
    bool closed = false;
    run_once(s.a.host(), [&] { s.a.instance().close(false, [&] { closed = true; }); });
    EXPECT(s.world.run_until([&] { return closed; }, 20'000));
    const Nanos took = s.world.now() - from;
    EXPECT(answers ? took > timeout * 3 / 2 : took < timeout * 5 / 4);
    for (int i = 0; i < 4'000 && answers; ++i) EXPECT(s.is_free("k" + std::to_string(i)));
  }
}

UNIT_MAIN(
    "bursts",
    cmocka_unit_test(the_last_of_many_acquires_takes_longer_than_the_command_time_out_and_the_connection_stays),
    cmocka_unit_test(a_server_that_takes_long_over_each_is_asked_for_less_at_once),
    cmocka_unit_test(a_lease_is_renewed_while_thousands_of_acquires_wait_for_their_turn),
    cmocka_unit_test(a_short_lease_is_renewed_once_for_each_time_that_it_is_due_while_commands_wait),
    cmocka_unit_test(what_a_new_connection_begins_with_goes_before_all_that_waited_for_it),
    cmocka_unit_test(whoever_waits_for_his_turn_when_his_time_is_over_is_told_so_and_nothing_of_him_is_sent),
    cmocka_unit_test(whoever_waits_for_his_turn_can_be_canceled),
    cmocka_unit_test(a_context_that_is_closed_ends_those_who_wait_for_their_turn),
    cmocka_unit_test(those_who_wait_for_their_turn_are_asked_for_anew_when_the_server_is_there_again),
    cmocka_unit_test(a_lock_that_its_owner_holds_is_reentered_while_others_wait_for_their_turn),
    cmocka_unit_test(releases_that_wait_for_their_turn_go_together),
    cmocka_unit_test(what_waits_grows_until_something_comes_behind_it_that_it_must_not_pass),
    cmocka_unit_test(a_process_that_stood_still_hears_what_was_answered_meanwhile_before_it_gives_a_server_up),
    cmocka_unit_test(a_process_that_stood_still_while_it_connected_hears_the_greeting_before_it_gives_the_server_up),
    cmocka_unit_test(a_server_that_answers_nothing_is_given_up_also_by_a_loop_that_is_always_late),
    cmocka_unit_test(a_close_waits_for_as_long_as_locks_are_given_back_and_no_longer))
