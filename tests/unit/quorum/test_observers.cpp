// SPDX-License-Identifier: MIT
// What observers are told of locks by others than their holders: taken away, released or changed by value.
#include "stage.hpp"

using namespace unit;
using What = Ask::What;

namespace {

constexpr size_t kNodes = 3;

// The server that is added behind the nodes.
liblock::QuorumOptions observed() {
  liblock::QuorumOptions options;
  liblock::ConnectionOptions observer;
  observer.address.target.host = "sim";
  observer.address.target.port = kNodes + 1;
  observer.command_timeout = 200 * kMillisecond;
  options.observers = {observer};
  return options;
}

AcquireParams carrying(liblock::Bytes value, int64_t ttl_ms = 30'000, bool renew = true) {
  AcquireParams params = waiting_ms(10'000, ttl_ms, renew);
  params.value = value;
  return params;
}

struct Scene : Stage {
  Scene() : Stage(kNodes, 1, true, observed()), observer(world.add_node("o")) {
    EXPECT(observer.port() == kNodes + 1);
    world.run_ms(5'000);
  }
  // Its holder tells the observer of it and is heard by nobody from then on.
  Wanted &taken_by_one_who_falls_silent(const AcquireParams &params) {
    Wanted &held = a->take("k", params);
    world.run_ms(300);
    EXPECT(is_shown());
    a->host().cut();
    return held;
  }
  Question &force() { return b->about("k", What::ForceRelease); }
  Question &change_value(const std::string &expected, const std::string &value) {
    return b->about("k", What::UpdateKey, [&](Ask &ask) {
      ask.text = expected;
      ask.value = value;
    });
  }
  bool is_shown() { return observer.ask({"EXISTS", "liblock:k"}).is(1); }
  std::string shown_value() {
    const auto held = observer.ask({"GET", "liblock:k"});
    return held.text.substr(held.text.rfind('|') + 1);
  }
  int64_t shown_for_ms() { return observer.ask({"PTTL", "liblock:k"}).integer; }
  bool shows_who_holds(const Wanted &held) {
    const std::string token = "|" + std::to_string(held.grant().token) + "|";
    return observer.ask({"GET", "liblock:k"}).text.find(token) != std::string::npos;
  }
  Node &observer;
};

}  // namespace

UNIT_TEST(how_far_an_observer_is_behind_is_measured_as_it_is_fed) {
  Scene s;
  const auto lag_ms = [&] { return s.a->instance().observers.all().front()->figures->lag_ms.load(); };
  EXPECT(lag_ms() == -1);
  s.a->take("k");
  s.world.run_ms(300);
  EXPECT(lag_ms() >= 90 && lag_ms() <= 200);  // changes are collected for 100 ms
}

UNIT_TEST(an_observer_hears_of_a_forced_release_from_whoever_forced_it) {
  Scene s;
  s.taken_by_one_who_falls_silent(waiting_ms(10'000));
  Question &forced = s.force();
  s.world.run_ms(300);
  EXPECT(forced.is(Status::OK) && !s.is_shown());
}

UNIT_TEST(an_observer_hears_of_a_forced_release_that_was_forgotten_by_nodes_in_between) {
  Scene s;
  s.taken_by_one_who_falls_silent(waiting_ms(10'000));
  s.nodes[2]->ask({"DEL", "liblock:k"});
  Question &forced = s.force();
  s.world.run_ms(300);
  EXPECT(forced.is(Status::OK) && !s.is_shown());
}

UNIT_TEST(a_forced_release_without_a_quorum_is_not_told) {
  Scene s;
  s.taken_by_one_who_falls_silent(waiting_ms(10'000));
  s.nodes[0]->stop(Node::Data::Kept);
  s.nodes[1]->stop(Node::Data::Kept);
  s.world.run_ms(50);
  Question &forced = s.force();
  s.world.run_ms(600);
  EXPECT(forced.ends == 1 && !forced.is(Status::OK) && s.is_shown());
}

UNIT_TEST(a_forced_release_that_an_observer_hears_of_late_leaves_the_next_lock_alone) {
  Scene s;
  s.taken_by_one_who_falls_silent(waiting_ms(10'000));
  Process other(s.world, "other", over(s.nodes, observed()));
  s.world.run_ms(50);
  Question &forced = s.force();
  s.world.run_ms(50);
  EXPECT(forced.is(Status::OK));
  s.b->host().pause();  // before it has told anybody
  Wanted &next = other.take("k");
  s.world.run_ms(300);
  EXPECT(s.shows_who_holds(next));
  s.b->host().go_on();
  s.world.run_ms(300);
  EXPECT(s.shows_who_holds(next));
  other.release(next.grant().handle);
  s.world.run_ms(300);
  EXPECT(!s.is_shown());
}

UNIT_TEST(a_holder_who_is_heard_again_does_not_show_what_was_taken_away) {
  Scene s;
  Wanted &held = s.taken_by_one_who_falls_silent(waiting_ms(10'000));
  s.force();
  s.world.run_ms(300);
  s.a->host().mend_if_alive();
  s.world.run_ms(3'000);
  EXPECT(held.losses == 1 && !s.is_shown());
}

UNIT_TEST(an_observer_hears_of_what_an_administrator_clears) {
  Scene s;
  s.taken_by_one_who_falls_silent(waiting_ms(10'000));
  Question &cleared = s.b->question(
      What::Clear, [](Ask &ask) { ask.number = static_cast<uint64_t>(liblock::Engine::Whom::Everybody); });
  s.world.run_ms(600);
  EXPECT(cleared.is(Status::OK) && !s.is_shown());
}

UNIT_TEST(an_observer_hears_of_a_release_by_value) {
  Scene s;
  s.taken_by_one_who_falls_silent(carrying("v"));
  Question &released = s.b->about("k", What::ReleaseKey, [](Ask &ask) { ask.text = "v"; });
  s.world.run_ms(300);
  EXPECT(released.is(Status::OK) && !s.is_shown());
}

UNIT_TEST(an_observer_hears_of_a_lease_that_is_extended_by_value) {
  Scene s;
  s.taken_by_one_who_falls_silent(carrying("v", 10'000, false));
  Question &extended = s.b->about("k", What::ExtendKey, [](Ask &ask) {
    ask.text = "v";
    ask.ttl = 40'000 * kMillisecond;
  });
  s.world.run_ms(500);
  EXPECT(extended.is(Status::OK) && s.shown_for_ms() > 38'000 && s.shown_value() == "v");
}

UNIT_TEST(a_renewal_by_the_holder_does_not_shorten_what_was_extended_by_value) {
  Scene s;
  s.a->take("k", carrying("v", 10'000));
  s.world.run_ms(300);
  Question &extended = s.b->about("k", What::ExtendKey, [](Ask &ask) {
    ask.text = "v";
    ask.ttl = 50'000 * kMillisecond;
  });
  s.world.run_ms(8'000);
  EXPECT(extended.is(Status::OK) && s.shown_for_ms() > 40'000);
}

UNIT_TEST(an_observer_hears_of_a_value_that_another_process_changed) {
  Scene s;
  s.taken_by_one_who_falls_silent(carrying("old"));
  Question &changed = s.change_value("old", "new");
  s.world.run_ms(500);
  EXPECT(changed.is(Status::OK) && s.shown_value() == "new");
  EXPECT(s.shown_for_ms() > 0 && s.shown_for_ms() < 30'000);
}

UNIT_TEST(an_older_value_that_arrives_late_does_not_stand_in_the_place_of_a_newer_one) {
  Scene s;
  s.a->take("k", carrying("old"));
  s.a->host().pause();  // before it has told anybody
  Question &changed = s.change_value("old", "new");
  s.world.run_ms(500);
  EXPECT(changed.is(Status::OK) && s.shown_value() == "new");
  s.a->host().go_on();
  s.world.run_ms(150);
  EXPECT(s.shown_value() == "new");
  s.world.run_ms(5'000);
  EXPECT(s.shown_value() == "new");
}

UNIT_MAIN("what observers of a quorum are told by others than holders",
          cmocka_unit_test(how_far_an_observer_is_behind_is_measured_as_it_is_fed),
          cmocka_unit_test(an_observer_hears_of_a_forced_release_from_whoever_forced_it),
          cmocka_unit_test(an_observer_hears_of_a_forced_release_that_was_forgotten_by_nodes_in_between),
          cmocka_unit_test(a_forced_release_without_a_quorum_is_not_told),
          cmocka_unit_test(a_forced_release_that_an_observer_hears_of_late_leaves_the_next_lock_alone),
          cmocka_unit_test(a_holder_who_is_heard_again_does_not_show_what_was_taken_away),
          cmocka_unit_test(an_observer_hears_of_what_an_administrator_clears),
          cmocka_unit_test(an_observer_hears_of_a_release_by_value),
          cmocka_unit_test(an_observer_hears_of_a_lease_that_is_extended_by_value),
          cmocka_unit_test(a_renewal_by_the_holder_does_not_shorten_what_was_extended_by_value),
          cmocka_unit_test(an_observer_hears_of_a_value_that_another_process_changed),
          cmocka_unit_test(an_older_value_that_arrives_late_does_not_stand_in_the_place_of_a_newer_one))
