// SPDX-License-Identifier: MIT
// What administrators and those who know a lock's value do with it over a quorum.
#include <set>

#include "stage.hpp"

using namespace unit;
using What = Ask::What;

namespace {

AcquireParams carrying(liblock::Bytes value) {
  AcquireParams params = waiting_ms(10'000);
  params.value = value;
  return params;
}

struct Scene : Stage {
  using Stage::Stage;
  Question &force(const std::string &key, bool drops_queue = false) {
    return b->about(key, What::ForceRelease, [&](Ask &ask) { ask.flag = drops_queue; });
  }
  Question &release(const std::string &value) {
    return b->about("k", What::ReleaseKey, [&](Ask &ask) { ask.text = value; });
  }
  Question &extend(const std::string &value, int64_t ttl_ms, bool adds = false) {
    return b->about("k", What::ExtendKey, [&](Ask &ask) {
      ask.text = value;
      ask.ttl = liblock::nanos_from_ms(ttl_ms);
      ask.flag = adds;
    });
  }
  // Steps through a listing; how many keys it shows, each of them once. What happens after the first step is given.
  size_t listed(
      Ask::Which which, bool zombies_only, const std::function<void()> &meanwhile = [] {}) {
    std::set<std::string> keys;
    size_t shown = 0;
    liblock::ListPosition position;
    for (int steps = 0; steps < 1'000 && !position.at_end; ++steps) {
      Question &step = b->question(What::List, [&](Ask &ask) {
        ask.which = which;
        ask.flag = zombies_only;
        ask.batch = 10;
        ask.position = position;
      });
      EXPECT(world.run_until([&] { return step.ends != 0; }, 2'000) && step.is(Status::OK));
      for (const auto &info : step.infos) keys.insert(info->key);
      shown += step.infos.size();
      position = step.position;
      if (steps == 0) meanwhile();
    }
    EXPECT(position.at_end && shown == keys.size());
    return shown;
  }
  Question &clear(liblock::Engine::Whom whom, const std::string &identity = "") {
    return b->question(What::Clear, [&](Ask &ask) {
      ask.number = static_cast<uint64_t>(whom);
      ask.text = identity;
    });
  }
  int64_t left_on(size_t node) { return nodes[node]->ask({"PTTL", "liblock:k"}).integer; }
};

}  // namespace

UNIT_TEST(a_lease_that_is_too_long_for_the_quorum_is_refused_unless_it_is_to_live_as_long_as_its_process) {
  liblock::QuorumOptions options;
  options.max_ttl = 4'000 * kMillisecond;
  Stage s(3, 1, true, options);
  AcquireParams usual = without_waiting();
  usual.ttl_is_auto = false;
  Wanted &refused = s.a->acquire({"k"}, usual);
  s.world.run_ms(1'000);
  EXPECT(refused.is(Status::INVALID_ARGUMENT));
  usual.ttl_is_auto = true;
  usual.max_hold = 20'000 * kMillisecond;
  s.a->take("k", usual);
  s.world.run_ms(15'000);
  EXPECT(s.held_on("k") == 3);
  s.world.run_ms(10'000);
  EXPECT(s.held_on("k") == 0);
}

UNIT_TEST(a_lease_that_is_to_live_as_long_as_its_process_is_cut_to_what_the_quorum_has_wherever_it_is_asked_for) {
  liblock::QuorumOptions options;
  options.max_ttl = 4'000 * kMillisecond;
  Stage s(3, 1, true, options);
  Wanted &held = s.a->take("k", without_waiting(3'000));
  const auto extended = [&](bool is_auto) {
    Question &asked = s.a->question(What::Extend, [&](Ask &ask) {
      ask.lock = held.grant().handle;
      ask.ttl = 20'000 * kMillisecond;
      ask.number = is_auto;
    });
    s.world.run_ms(500);
    return asked.is(Status::OK);
  };
  EXPECT(!extended(false) && extended(true));
  s.world.run_ms(20'000);
  EXPECT(s.held_on("k") == 3);
  Question &exported = s.a->question(What::Export, [&](Ask &ask) {
    ask.lock = held.grant().handle;
    ask.number = 1'024;
  });
  s.world.run_ms(5);
  const AcquireParams params = waiting_ms(1'000);
  Question &adopted = s.b->question(What::Adopt, [&](Ask &ask) {
    ask.text = exported.text;
    ask.params = &params;
  });
  s.world.run_ms(20'000);
  EXPECT(adopted.is(Status::OK) && s.b->holds(adopted.lock) && s.held_on("k") == 3);
}

UNIT_TEST(a_key_that_nobody_holds_is_not_taken_away) {
  Scene s;
  Question &none = s.force("k");
  s.world.run_ms(20);
  EXPECT(none.is(Status::NOT_HELD) && none.tally.locks == 0 && none.tally.queues == 0);
  for (int n = 0; n < 3; ++n) s.nodes[n]->stop(Node::Data::Kept);
  s.world.run_ms(50);
  Question &unknown = s.force("k");
  s.world.run_ms(1'000);
  EXPECT(unknown.ends == 1 && !unknown.is(Status::OK) && !unknown.is(Status::NOT_HELD));
}

UNIT_TEST(a_key_is_taken_from_a_holder_who_renews_and_who_does_not_get_it_back) {
  Scene s;
  Wanted &held = s.a->take("k");
  s.world.run_ms(5'000);
  Question &forced = s.force("k");
  s.world.run_ms(20);
  EXPECT(forced.is(Status::OK) && forced.tally.locks == 1 && forced.votes >= 3);
  EXPECT(held.losses == 1 && s.held_on("k") == 0);
  s.world.run_ms(30'000);
  EXPECT(s.held_on("k") == 0);
}

UNIT_TEST(a_holder_who_gives_back_what_was_taken_away_a_moment_ago_is_told) {
  Scene s;
  Wanted &held = s.a->take("k");
  for (Node *node : s.nodes) s.world.link(s.a->host(), *node).cut(liblock_test::sim::Way::ToHost);
  Question &forced = s.force("k");
  s.world.run_ms(50);
  EXPECT(forced.is(Status::OK));
  const auto released = s.a->release(held.grant().handle);
  for (Node *node : s.nodes) s.world.link(s.a->host(), *node).mend();
  s.world.run_ms(50);
  EXPECT(released->is(Status::LOST));
}

UNIT_TEST(a_holder_who_does_not_hear_of_it_finds_out_by_his_next_renewal) {
  Scene s;
  Wanted &held = s.a->take("k");
  s.world.run_ms(5'000);
  s.a->host().cut();
  Question &forced = s.force("k");
  s.world.run_ms(500);
  EXPECT(forced.is(Status::OK) && held.losses == 0);
  s.a->host().mend_if_alive();
  s.world.run_ms(15'000);
  EXPECT(held.losses == 1 && s.held_on("k") == 0);
  Wanted &next = s.b->take("k");
  EXPECT(next.grant().token > held.grant().token);
}

UNIT_TEST(a_key_is_taken_away_while_two_nodes_are_down_which_do_not_bring_it_back) {
  Scene s;
  Wanted &held = s.a->take("k");
  s.world.run_ms(5'000);
  s.nodes[0]->stop(Node::Data::Kept);
  s.nodes[1]->stop(Node::Data::Kept);
  s.world.run_ms(100);
  Question &forced = s.force("k");
  s.world.run_ms(500);
  EXPECT(forced.is(Status::OK) && held.losses == 1);
  s.nodes[0]->start();
  s.nodes[1]->start();
  s.world.run_ms(5'000);
  EXPECT(s.held_on("k") == 0);
}

UNIT_TEST(the_next_in_line_gets_what_was_taken_away_and_with_the_line_nobody_does) {
  Scene s;
  s.a->take("k");
  Wanted &waiter = s.b->acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(50);
  s.force("k");
  s.world.run_ms(20);
  EXPECT(waiter.is(Status::OK));
  Wanted &second = s.a->acquire({"k"}, waiting_ms(60'000));
  Wanted &third = s.b->acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(50);
  Question &dropped = s.force("k", true);
  s.world.run_ms(50);
  EXPECT(dropped.is(Status::OK) && dropped.tally.waiters == 2 && dropped.tally.queues == 1);
  EXPECT(second.is(Status::DEQUEUED) && third.is(Status::DEQUEUED) && s.held_on("k") == 0);
}

UNIT_TEST(whoever_does_not_know_the_value_releases_and_extends_nothing) {
  Scene s;
  Question &none = s.release("v");
  s.world.run_ms(50);
  EXPECT(none.is(Status::NOT_HELD));
  Wanted &held = s.a->take("k", carrying("v"));
  Question &wrong = s.release("w");
  Question &longer = s.extend("w", 50'000);
  s.world.run_ms(50);
  EXPECT(wrong.is(Status::NOT_OWNER) && longer.is(Status::NOT_OWNER) && s.a->holds(held.grant().handle));
  Question &too_long = s.extend("v", 500'000);
  s.world.run_ms(50);
  EXPECT(too_long.is(Status::INVALID_ARGUMENT));
  for (int n = 0; n < 3; ++n) s.nodes[n]->stop(Node::Data::Kept);
  s.world.run_ms(50);
  Question &alone = s.release("v");
  s.world.run_ms(1'000);
  EXPECT(alone.is(Status::NO_QUORUM));
}

UNIT_TEST(whoever_knows_the_value_releases_the_lock_for_good) {
  Scene s;
  Wanted &held = s.a->take("k", carrying("v"));
  s.world.run_ms(5'000);
  Question &released = s.release("v");
  s.world.run_ms(20);
  EXPECT(released.is(Status::OK) && released.votes >= 3 && released.nodes == 5);
  EXPECT(held.losses == 1 && s.held_on("k") == 0);
  s.world.run_ms(20'000);
  EXPECT(s.held_on("k") == 0);
}

UNIT_TEST(a_lock_is_extended_by_its_value_and_never_shortened) {
  Scene s;
  AcquireParams params = waiting_ms(10'000, 20'000, false);
  params.value = "v";
  s.a->take("k", params);
  s.nodes[3]->ask({"DEL", "liblock:k"});
  Question &shorter = s.extend("v", 5'000);
  s.world.run_ms(20);
  EXPECT(shorter.is(Status::OK) && s.left_on(0) > 19'000);
  Question &longer = s.extend("v", 40'000);
  s.world.run_ms(20);
  EXPECT(longer.is(Status::OK));
  for (size_t n = 0; n < 5; ++n) EXPECT(s.left_on(n) > 39'000);
  Question &more = s.extend("v", 10'000, true);
  s.world.run_ms(20);
  EXPECT(more.is(Status::OK) && s.left_on(0) > 49'000 && s.value_on(3, "k") == "v");
  EXPECT(more.view.deadline > s.b->instance().clock.now() + liblock::nanos_from_ms(48'000));
}

UNIT_TEST(an_extension_that_crosses_a_release_brings_nothing_back) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Scene s(5, seed);
    Wanted &held = s.a->take("k", carrying("v"));
    s.world.run_ms(50);
    s.world.delay_most = 10 * kMillisecond;
    Question &longer = s.extend("v", 50'000);
    s.a->release(held.grant().handle);
    s.world.run_ms(1'000);
    EXPECT(longer.ends == 1 && s.held_on("k") < 3);
  }
}

UNIT_TEST(a_list_without_a_quorum_fails_instead_of_ending) {
  Scene s;
  for (int n = 0; n < 3; ++n) s.nodes[n]->stop(Node::Data::Kept);
  s.world.run_ms(50);
  Question &step = s.b->question(What::List, [](Ask &ask) { ask.which = Ask::Which::Keys; });
  s.world.run_ms(500);
  EXPECT(step.is(Status::NO_QUORUM) && !step.position.at_end);
}

UNIT_TEST(each_lock_is_listed_once_whichever_nodes_have_it) {
  Scene s;
  for (int i = 0; i < 70; ++i) s.a->take("k" + std::to_string(i));
  s.nodes[0]->ask({"DEL", "liblock:k0", "liblock:k1"});
  s.write({0, 1}, "few", Stage::record('a', 7, "v"));
  Wanted &waiter = s.b->acquire({"k5"}, waiting_ms(60'000));
  s.world.run_ms(50);
  EXPECT(s.listed(Ask::Which::Locks, false) == 70);
  EXPECT(s.listed(Ask::Which::Queues, false) == 1 && s.listed(Ask::Which::Keys, false) == 70);
  s.nodes[0]->stop(Node::Data::Kept);
  s.world.run_ms(50);
  EXPECT(s.listed(Ask::Which::Locks, false) == 70 && !waiter.ended());
}

UNIT_TEST(a_lock_that_reaches_a_node_after_the_list_went_over_it_is_listed_all_the_same) {
  Scene s;
  const std::string granted = Stage::record('a', 7, "v");
  s.write({1, 2, 3, 4}, "late", granted);
  EXPECT(s.listed(Ask::Which::Locks, false, [&] { s.write({0}, "late", granted); }) == 1);
}

UNIT_TEST(a_lock_on_some_nodes_is_listed_and_taken_away_like_any_other) {
  Scene s;
  AcquireParams params = without_waiting();
  params.nodes = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"n4", "n5"});
  Wanted &lock = s.a->acquire({"k"}, params);
  s.world.run_ms(50);
  EXPECT(lock.is(Status::OK) && s.listed(Ask::Which::Locks, false) == 1);
  Question &forced = s.force("k");
  s.world.run_ms(50);
  EXPECT(forced.is(Status::OK) && forced.votes == 2 && forced.nodes == 2);
  EXPECT(s.held_on("k") == 0 && !s.a->holds(lock.grant().handle));
}

UNIT_TEST(a_list_of_instances_is_refused_where_none_is_kept) {
  Scene s;
  s.a->take("k");
  Question &instances = s.b->question(What::ListInstances, [](Ask &) {});
  s.world.run_ms(10);
  EXPECT(instances.is(Status::UNSUPPORTED) && instances.message.find("zombies_only") != std::string::npos);
}

UNIT_TEST(only_the_locks_of_the_dead_are_zombies_and_are_cleared_with_them) {
  Scene s;
  s.a->take("dead");
  Wanted &lives = s.b->take("alive");
  s.world.run_ms(5'000);
  s.a->host().kill();
  s.world.run_ms(500);
  EXPECT(s.listed(Ask::Which::Locks, true) == 1);
  Question &cleared = s.clear(liblock::Engine::Whom::Dead);
  s.world.run_ms(2'000);
  EXPECT(cleared.ends == 0 && s.held_on("dead") == 5);  // it might come back
  s.world.run_ms(3'000);
  EXPECT(cleared.is(Status::OK) && cleared.tally.locks == 1 && s.held_on("dead") == 0);
  EXPECT(s.b->holds(lives.grant().handle) && s.held_on("alive") == 5);
}

UNIT_TEST(clearing_takes_what_is_named_and_nothing_else) {
  Scene s;
  const auto one = s.a->owner("one"), other = s.a->owner("other");
  Wanted &mine = s.a->acquire({"mine"}, waiting_ms(1'000), one);
  Wanted &other_lock = s.a->acquire({"k"}, waiting_ms(1'000), other);
  s.world.run_ms(50);
  Wanted &waits = s.a->acquire({"k"}, waiting_ms(60'000), one);
  Wanted &stays = s.b->acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(50);
  Question &by_owner = s.clear(liblock::Engine::Whom::Owner, one->id());
  s.world.run_ms(500);
  EXPECT(by_owner.is(Status::OK) && by_owner.tally.locks == 1 && by_owner.tally.waiters == 1);
  EXPECT(mine.losses == 1 && waits.is(Status::DEQUEUED) && other_lock.losses == 0 && !stays.ended());
  Question &by_instance = s.clear(liblock::Engine::Whom::Instance, "a");
  s.world.run_ms(500);
  EXPECT(by_instance.is(Status::OK) && by_instance.tally.locks == 1 && other_lock.losses == 1);
  EXPECT(stays.is(Status::OK));
  Question &all = s.clear(liblock::Engine::Whom::Everybody);
  s.world.run_ms(500);
  EXPECT(all.is(Status::OK) && stays.losses == 1 && s.held_on("k") == 0);
}

UNIT_TEST(clearing_without_a_quorum_is_no_success) {
  Scene s;
  s.a->take("k");
  for (int n = 0; n < 3; ++n) s.nodes[n]->stop(Node::Data::Kept);
  s.world.run_ms(50);
  Question &all = s.clear(liblock::Engine::Whom::Everybody);
  s.world.run_ms(500);
  EXPECT(all.is(Status::NO_QUORUM));
}

UNIT_TEST(a_lock_goes_to_another_process_with_its_value_and_stays_his) {
  Scene s;
  Wanted &held = s.a->take("k", carrying("v"));
  Question &exported = s.a->question(What::Export, [&](Ask &ask) {
    ask.lock = held.grant().handle;
    ask.number = 1'024;
  });
  s.world.run_ms(5);
  EXPECT(exported.is(Status::OK) && exported.text.size() == exported.count && s.held_on("k") == 5);
  EXPECT(!s.a->holds(held.grant().handle));
  const AcquireParams params = waiting_ms(1'000);
  const auto adopt = [&](const std::string &text) -> Question & {
    Question &asked = s.b->question(What::Adopt, [&](Ask &ask) {
      ask.text = text;
      ask.params = &params;
    });
    s.world.run_ms(500);
    return asked;
  };
  EXPECT(adopt("llx1|" + exported.text.substr(5)).is(Status::INVALID_ARGUMENT));
  Question &adopted = adopt(exported.text);
  EXPECT(adopted.is(Status::OK) && adopted.view.token == held.grant().token && s.b->holds(adopted.lock));
  s.nodes[2]->ask({"DEL", "liblock:k"});
  s.a->host().kill();
  s.world.run_ms(60'000);
  EXPECT(s.b->holds(adopted.lock) && s.held_on("k") == 5 && s.value_on(2, "k") == "v");
  Question &seen = s.b->about("k", What::Inspect);
  s.world.run_ms(10);
  EXPECT(seen.is(Status::OK) && seen.infos.front()->instance == "b" && !seen.infos.front()->is_zombie);
  const auto released = s.b->release(adopted.lock);
  s.world.run_ms(10);
  EXPECT(released->is(Status::OK) && s.held_on("k") == 0);
  EXPECT(adopt(exported.text).is(Status::LOST));
}

UNIT_TEST(a_release_says_how_many_nodes_of_how_many_have_confirmed_it) {
  Scene s;
  const auto release = [&](Wanted &held, int64_t ms) -> Question & {
    Question &asked = s.a->question(What::Release, [&](Ask &ask) { ask.lock = held.grant().handle; });
    s.world.run_ms(ms);
    return asked;
  };
  Question &released = release(s.a->take("k"), 20);
  EXPECT(released.is(Status::OK) && released.votes >= 3 && released.nodes == 5);
  const auto owner = s.a->owner("o");
  s.a->acquire({"i", "j"}, waiting_ms(1'000), owner);
  s.world.run_ms(50);
  Question &of_owner = s.a->question(What::ReleaseKeys, [&](Ask &ask) {
    ask.owner = owner;
    ask.keys = {"i", "j"};
  });
  s.world.run_ms(20);
  EXPECT(of_owner.is(Status::OK) && of_owner.votes >= 3 && of_owner.nodes == 5);
  Wanted &held = s.a->take("k");
  for (int n = 0; n < 3; ++n) s.nodes[n]->stop(Node::Data::Kept);
  Question &few = release(held, 1'000);
  EXPECT(few.is(Status::PARTIAL) && few.votes == 2 && few.nodes == 5);
}

UNIT_TEST(a_lock_that_is_not_exported_says_why) {
  Scene s;
  const auto owner = s.a->owner("o");
  Wanted &held = s.a->acquire({"k"}, waiting_ms(1'000), owner);
  s.world.run_ms(50);
  const auto exported = [&](uint64_t room) -> Question & {
    Question &asked = s.a->question(What::Export, [&](Ask &ask) {
      ask.lock = held.grant().handle;
      ask.number = room;
    });
    s.world.run_ms(5);
    return asked;
  };
  Question &cramped = exported(10);
  EXPECT(cramped.is(Status::INVALID_ARGUMENT) && cramped.message.find("room for 10") != std::string::npos);
  Wanted &again = s.a->acquire({"k"}, waiting_ms(1'000), owner);
  s.world.run_ms(50);
  EXPECT(again.is(Status::OK));
  Question &shared = exported(1'024);
  EXPECT(shared.is(Status::UNSUPPORTED) && shared.message.find("other handles") != std::string::npos);
}

UNIT_MAIN("administration over a quorum", cmocka_unit_test(
              a_lease_that_is_to_live_as_long_as_its_process_is_cut_to_what_the_quorum_has_wherever_it_is_asked_for),
          cmocka_unit_test(
              a_lease_that_is_too_long_for_the_quorum_is_refused_unless_it_is_to_live_as_long_as_its_process),
          cmocka_unit_test(a_key_that_nobody_holds_is_not_taken_away),
          cmocka_unit_test(a_key_is_taken_from_a_holder_who_renews_and_who_does_not_get_it_back),
          cmocka_unit_test(a_holder_who_gives_back_what_was_taken_away_a_moment_ago_is_told),
          cmocka_unit_test(a_holder_who_does_not_hear_of_it_finds_out_by_his_next_renewal),
          cmocka_unit_test(a_key_is_taken_away_while_two_nodes_are_down_which_do_not_bring_it_back),
          cmocka_unit_test(the_next_in_line_gets_what_was_taken_away_and_with_the_line_nobody_does),
          cmocka_unit_test(whoever_does_not_know_the_value_releases_and_extends_nothing),
          cmocka_unit_test(whoever_knows_the_value_releases_the_lock_for_good),
          cmocka_unit_test(a_lock_is_extended_by_its_value_and_never_shortened),
          cmocka_unit_test(an_extension_that_crosses_a_release_brings_nothing_back),
          cmocka_unit_test(a_list_without_a_quorum_fails_instead_of_ending),
          cmocka_unit_test(each_lock_is_listed_once_whichever_nodes_have_it),
          cmocka_unit_test(a_lock_that_reaches_a_node_after_the_list_went_over_it_is_listed_all_the_same),
          cmocka_unit_test(a_lock_on_some_nodes_is_listed_and_taken_away_like_any_other),
          cmocka_unit_test(a_list_of_instances_is_refused_where_none_is_kept),
          cmocka_unit_test(only_the_locks_of_the_dead_are_zombies_and_are_cleared_with_them),
          cmocka_unit_test(clearing_takes_what_is_named_and_nothing_else),
          cmocka_unit_test(clearing_without_a_quorum_is_no_success),
          cmocka_unit_test(a_lock_goes_to_another_process_with_its_value_and_stays_his),
          cmocka_unit_test(a_release_says_how_many_nodes_of_how_many_have_confirmed_it),
          cmocka_unit_test(a_lock_that_is_not_exported_says_why))
