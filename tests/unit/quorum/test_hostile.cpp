// SPDX-License-Identifier: MIT
// Keeping, changing and giving back over a quorum, where messages are lost and come late on purpose.
#include <algorithm>
#include <set>

#include "stage.hpp"

using namespace unit;
using What = Ask::What;

namespace {

constexpr int64_t kLong = 50'000;

liblock::QuorumOptions brief() {
  liblock::QuorumOptions options;
  options.max_ttl = 10'000 * kMillisecond;
  return options;
}
AcquireParams carrying(liblock::Bytes value, int64_t ttl_ms = kLong) {
  AcquireParams params = without_waiting(ttl_ms, false);
  params.value = value;
  return params;
}
std::vector<std::string> many(int count) {
  std::vector<std::string> keys;
  for (int i = 0; i < count; ++i) keys.push_back("k" + std::to_string(i));
  return keys;
}

struct Scene : Stage {
  using Stage::Stage;
  bool verifies(const Wanted &lock, Status status) {
    Question &verified = a->question(What::Verify, [&](Ask &ask) { ask.lock = lock.grant().handle; });
    world.run_ms(2'000);
    return verified.is(status);
  }
  void delay(Process &of, size_t node, int64_t ms) {
    world.link(of.host(), *nodes[node]).set_delay(ms * kMillisecond, ms * kMillisecond);
  }
  void forbid_third() { nodes[2]->ask({"SET", "liblock:k", "foreign", "PX", "100000"}); }
  void allow_third() { nodes[2]->ask({"DEL", "liblock:k"}); }
  uint32_t changes_open(const std::string &key) {
    uint32_t open = 0;
    for (const auto &lease : a->instance().keeper.find("liblock:" + key)) open += lease->changes_open;
    return open;
  }
};

bool is_change(const std::vector<std::string> &words) {
  return std::find(words.begin(), words.end(), "set") != words.end();
}

}  // namespace

UNIT_TEST(an_extension_that_is_too_long_changes_nothing) {
  for (const bool adds : {false, true}) {
    Scene s(3, 1, true, brief());
    Wanted &one = s.a->take("k1", without_waiting(5'000)), &two = s.a->take("k2", without_waiting(5'000));
    const auto extended = s.a->extend(one.grant().handle, adds ? 9'000 : 20'000, true, adds);
    s.world.run_ms(100);
    EXPECT(extended->is(Status::INVALID_ARGUMENT));
    s.world.run_ms(30'000);
    EXPECT(s.a->holds(one.grant().handle) && s.a->holds(two.grant().handle));
  }
}

UNIT_TEST(an_automatic_extension_is_as_long_as_the_quorum_lets_it_be) {
  Scene s(3, 1, true, brief());
  Wanted &lock = s.a->take("k", without_waiting(1'000, false));
  const auto extended = s.a->extend(lock.grant().handle, 30'000);
  s.world.run_ms(100);
  EXPECT(extended->is(Status::OK));
  EXPECT(s.nodes[0]->ask({"PTTL", "liblock:k"}).integer > 9'000);
  s.world.run_ms(60'000);
  EXPECT(s.a->holds(lock.grant().handle));
}

UNIT_TEST(locks_on_many_keys_are_renewed_and_verified_and_extended) {
  for (const int count : {31, 40, 300}) {
    Scene s(3);
    Wanted &lock = s.a->acquire(many(count), without_waiting(10'000));
    s.world.run_ms(200);
    EXPECT(lock.is(Status::OK));
    s.world.run_ms(20'000);
    EXPECT(s.a->holds(lock.grant().handle) && s.verifies(lock, Status::OK));
    const auto extended = s.a->extend(lock.grant().handle, 40'000, false);
    s.world.run_ms(2'000);
    EXPECT(extended->is(Status::OK));
  }
}

UNIT_TEST(keys_with_long_values_are_verified) {
  Scene s(3);
  const std::string value(4'096, 'x');
  Wanted &lock = s.a->acquire(many(16), carrying(value));
  s.world.run_ms(200);
  EXPECT(lock.is(Status::OK) && s.verifies(lock, Status::OK));
}

UNIT_TEST(a_lock_is_not_lost_because_restarted_nodes_do_not_have_it_yet) {
  Scene s(3);
  Wanted &lock = s.a->take("k", without_waiting(30'000));
  s.world.run_ms(5'000);
  for (size_t n = 0; n < 2; ++n) s.nodes[n]->stop(Node::Data::Lost);
  s.world.run_ms(20);
  for (size_t n = 0; n < 2; ++n) s.nodes[n]->start();
  s.world.run_ms(600);
  EXPECT(s.verifies(lock, Status::NO_QUORUM) && s.a->holds(lock.grant().handle));
}

// The node has forgotten the script: it is sent once more, when nobody asks for it any more.
UNIT_TEST(an_attempt_that_was_won_does_not_look_at_its_request_again) {
  Scene s(3);
  s.a->release(s.a->take("k").grant().handle);
  s.world.run_ms(100);
  s.delay(*s.a, 2, 20);
  s.nodes[2]->flush_scripts();
  const auto owner = s.a->owner("somebody");
  auto wanted = std::make_unique<Wanted>(s.a->instance(), *owner, std::vector<std::string>{"k"},
                                         without_waiting(), s.a->host().shared());
  s.world.run_ms(5);
  EXPECT(wanted->is(Status::OK));
  const Handle handle = wanted->grant().handle;
  wanted.reset();  // as a blocking call that returns
  s.world.run_ms(100);
  EXPECT(s.a->holds(handle) && s.nodes[2]->ask({"EXISTS", "liblock:k"}).is(0));
  s.a->release(handle);
  s.world.run_ms(100);
  EXPECT(s.held_on("k") == 0);
}

// Two leases are renewed in one call, of which one is given back before that call is sent again with its script.
UNIT_TEST(a_renewal_that_is_sent_again_leaves_nothing_of_what_was_given_back_meanwhile) {
  Scene s(3);
  std::vector<Wanted *> locks;
  for (const std::string &key : many(30)) locks.push_back(&s.a->acquire({key}, without_waiting(30'000)));
  s.world.run_ms(20'000);
  s.a->release(s.a->take("another").grant().handle);
  s.world.run_ms(100);
  const auto under_way = [&] {
    std::vector<size_t> open;
    for (size_t i = 0; i < locks.size(); ++i) {
      if (s.changes_open("k" + std::to_string(i)) != 0) open.push_back(i);
    }
    return open;
  };
  EXPECT(s.world.run_until([&] { return under_way().empty(); }, 1'000));
  for (size_t n = 0; n < 3; ++n) s.delay(*s.a, n, 3);
  EXPECT(s.world.run_until([&] { return under_way().size() > 1; }, 20'000));
  for (Node *node : s.nodes) {
    node->flush_scripts();
    node->ask({"SCRIPT", "LOAD", std::string(liblock::quorum::scripts::release.body)});
  }
  const size_t first = under_way().front();
  const auto released = s.a->release(locks[first]->grant().handle);
  s.world.run_ms(3'000);
  EXPECT(released->is(Status::OK) && s.held_on("k" + std::to_string(first)) == 0);
}

UNIT_TEST(what_was_made_longer_by_and_by_is_cleaned_up_for_as_long_as_it_may_last) {
  Scene s(3);
  int ends = 0;
  const auto hear = [](const liblock_event *, void *count) { ++*static_cast<int *>(count); };
  s.a->instance().events.instruments()->events().listen(1u << LIBLOCK_EVENT_DOUBT_ENDED, hear, &ends,
                                                        s.a->host().shared());
  Wanted &lock = s.a->take("k", waiting_ms(1'000, 500, false));
  for (int i = 0; i < 40; ++i) {
    s.a->extend(lock.grant().handle, 1'000, false, true);
    s.world.run_ms(5);
  }
  for (Node *node : s.nodes) node->stop(Node::Data::Kept);
  const auto released = s.a->release(lock.grant().handle);
  s.world.run_ms(6'000);
  EXPECT(released->is(Status::IN_DOUBT) && ends == 0);
  for (Node *node : s.nodes) node->start();
  s.world.run_ms(5'000);
  EXPECT(s.held_on("k") == 0 && ends == 1);
}

UNIT_TEST(a_value_that_was_written_without_an_answer_leaves_no_lock_behind) {
  Scene s(3);
  for (Node *node : s.nodes) {
    node->on_answer = [node](const auto &words, const auto &) {
      if (is_change(words)) node->lose_answers();
    };
  }
  Wanted &lock = s.a->acquire({"k"}, carrying("v"));
  s.world.run_ms(2);
  for (Node *node : s.nodes) s.world.link(s.a->host(), *node).cut();
  s.world.run_ms(6'000);
  for (Node *node : s.nodes) s.world.link(s.a->host(), *node).mend();
  s.world.run_ms(5'000);
  for (Node *node : s.nodes) node->on_answer = nullptr;
  EXPECT(lock.is(Status::IN_DOUBT) && s.held_on("k") == 0);
}

// One node had refused it before: it has it since the value was written.
UNIT_TEST(a_value_whose_writing_failed_leaves_no_lock_where_it_was_refused) {
  Scene s(3);
  s.forbid_third();
  for (size_t n = 0; n < 2; ++n) {
    s.nodes[n]->on_answer = [&s, n](const auto &words, const auto &) {
      if (is_change(words)) s.nodes[n]->lose_answers();
    };
    s.delay(*s.a, n, 5);
  }
  Wanted &lock = s.a->acquire({"k"}, carrying("v"));
  s.world.run_ms(8);
  s.allow_third();
  s.world.run_ms(1'500);
  for (Node *node : s.nodes) node->on_answer = nullptr;
  EXPECT(lock.is(Status::IN_DOUBT) && s.held_on("k") == 0);
}

UNIT_TEST(who_gives_up_while_his_value_is_written_leaves_no_lock_behind) {
  Scene s(3);
  s.forbid_third();
  for (size_t n = 0; n < 3; ++n) s.delay(*s.a, n, 5);
  AcquireParams params = waiting_ms(10'000, kLong, false);
  params.value = "v";
  Wanted &lock = s.a->acquire({"k"}, params);
  s.world.run_ms(8);
  s.allow_third();
  s.world.run_ms(6);
  s.a->cancel(lock);
  s.world.run_ms(1'500);
  EXPECT(lock.is(Status::CANCELED) && s.held_on("k") == 0);
}

UNIT_TEST(a_value_that_is_written_too_late_leaves_no_lock_behind) {
  Scene s(3);
  s.forbid_third();
  for (size_t n = 0; n < 3; ++n) s.delay(*s.a, n, 5);
  AcquireParams params = carrying("v");
  params.min_remaining = liblock::Lease::trusted(kLong * kMillisecond) - 5 * kMillisecond;
  Wanted &lock = s.a->acquire({"k"}, params);
  s.world.run_ms(8);
  s.allow_third();
  s.world.run_ms(1'500);
  EXPECT(lock.is(Status::TOO_LATE) && s.held_on("k") == 0);
}

UNIT_TEST(one_lock_more_than_one_may_have_is_undone_when_its_value_is_written) {
  liblock::QuorumOptions options;
  options.locks_max = 1;
  Scene s(3, 1, true, options);
  Wanted &one = s.a->acquire({"k1"}, carrying("v")), &two = s.a->acquire({"k2"}, carrying("v"));
  s.world.run_ms(10'000);
  EXPECT(one.is(Status::OK) && two.is(Status::LIMIT));
  EXPECT(s.held_on("k1") == 3 && s.held_on("k2") == 0);
}

UNIT_TEST(a_change_that_was_read_once_is_read_from_then_on) {
  Scene s(3);
  AcquireParams params = without_waiting(30'000);
  params.value = "old";
  s.a->take("k", params);
  s.world.run_ms(4'000);
  s.delay(*s.b, 2, 5'000);
  Question &update = s.b->about("k", What::UpdateKey, [](Ask &ask) {
    ask.text = "old";
    ask.value = "new";
  });
  s.world.run_ms(1'100);
  EXPECT(update.is(Status::OK));
  s.world.link(s.b->host(), *s.nodes[2]).set_delay_of_world();
  s.nodes[1]->stop(Node::Data::Lost);
  s.world.run_ms(50);
  s.nodes[1]->start();
  int news = 0;
  for (int i = 0; i < 60; ++i) {
    Question &read = s.b->about("k", What::Read, [](Ask &ask) { ask.from = Ask::From::Quorum; });
    s.world.run_ms(400);
    EXPECT(!read.is(Status::OK) || read.infos.front()->value == "new");
    news += read.is(Status::OK);
  }
  EXPECT(news > 0);
}

UNIT_TEST(a_value_that_was_changed_by_a_clock_far_ahead_can_be_changed_by_others) {
  Scene s(3);
  Process ahead(s.world, "ahead", over(s.nodes), 2'000'000'000'000'000);
  s.world.run_ms(50);
  for (int i = 0; i < 100; ++i) {
    ahead.release(ahead.take("x" + std::to_string(i)).grant().handle);
    s.world.run_ms(2);
  }
  AcquireParams params = without_waiting(kLong);
  params.value = "0";
  Wanted &lock = s.a->take("k", params);
  const auto change = [&](Process &by, const std::string &from, const std::string &to) {
    Question &update = by.about("k", What::UpdateKey, [&](Ask &ask) {
      ask.text = from;
      ask.value = to;
    });
    s.world.run_until([&] { return update.ends == 1; }, 2'000);
    return update.is(Status::OK);
  };
  EXPECT(change(ahead, "0", "1") && change(*s.b, "1", "2"));
  const auto mine = s.a->update(lock.grant().handle, "3");
  s.world.run_ms(1'000);
  EXPECT(mine->is(Status::OK));
}

UNIT_TEST(a_password_that_goes_to_nodes_in_clear_text_is_told_for_each_to_later_listeners) {
  World world(1);
  const std::vector<Node *> nodes = {&world.add_node("n1"), &world.add_node("n2"), &world.add_node("n3")};
  liblock::QuorumOptions options = over(nodes);
  for (size_t i = 0; i < 2; ++i) options.nodes[i].address.password = liblock::Secret("S3cret");
  options.observers = over({&world.add_node("observer")}).nodes;
  options.observers[0].address.password = liblock::Secret("S3cret");
  Process process(world, "p", options);
  world.run_ms(200);
  std::vector<std::string> told;
  const auto instruments = process.instance().events.instruments();
  instruments->events().listen(
      uint64_t{1} << LIBLOCK_EVENT_CLEARTEXT_PASSWORD,
      [](const liblock_event *event, void *user_data) {
        static_cast<std::vector<std::string> *>(user_data)->push_back(
            std::string(static_cast<const char *>(event->node.data), event->node.size) + " " + event->message);
      },
      &told, process.host().shared());
  instruments->tell_listener();
  nodes[0]->stop(Node::Data::Kept);
  world.run_ms(200);
  nodes[0]->start();
  world.run_ms(3'000);
  EXPECT(told.size() == 3 && std::set(told.begin(), told.end()).size() == 3);
  for (const std::string &text : told)
    EXPECT(text.find("redis://sim:") == 0 && text.find("S3cret") == std::string::npos);
}

UNIT_MAIN("quorum hostile",
          cmocka_unit_test(a_password_that_goes_to_nodes_in_clear_text_is_told_for_each_to_later_listeners),
          cmocka_unit_test(an_extension_that_is_too_long_changes_nothing),
          cmocka_unit_test(an_automatic_extension_is_as_long_as_the_quorum_lets_it_be),
          cmocka_unit_test(locks_on_many_keys_are_renewed_and_verified_and_extended),
          cmocka_unit_test(keys_with_long_values_are_verified),
          cmocka_unit_test(a_lock_is_not_lost_because_restarted_nodes_do_not_have_it_yet),
          cmocka_unit_test(an_attempt_that_was_won_does_not_look_at_its_request_again),
          cmocka_unit_test(a_renewal_that_is_sent_again_leaves_nothing_of_what_was_given_back_meanwhile),
          cmocka_unit_test(what_was_made_longer_by_and_by_is_cleaned_up_for_as_long_as_it_may_last),
          cmocka_unit_test(a_value_that_was_written_without_an_answer_leaves_no_lock_behind),
          cmocka_unit_test(a_value_whose_writing_failed_leaves_no_lock_where_it_was_refused),
          cmocka_unit_test(who_gives_up_while_his_value_is_written_leaves_no_lock_behind),
          cmocka_unit_test(a_value_that_is_written_too_late_leaves_no_lock_behind),
          cmocka_unit_test(one_lock_more_than_one_may_have_is_undone_when_its_value_is_written),
          cmocka_unit_test(a_change_that_was_read_once_is_read_from_then_on),
          cmocka_unit_test(a_value_that_was_changed_by_a_clock_far_ahead_can_be_changed_by_others))
