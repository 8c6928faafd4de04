// SPDX-License-Identifier: MIT
// Nodes that lost a lock and have it again by a renewal: what they know of its value, and when that counts again.
#include "values.hpp"

using namespace unit;
using What = Ask::What;

namespace {

struct Scene : ValueScene {
  using ValueScene::ValueScene;
  void lose(size_t node, const std::string &key = "k") { nodes[node]->ask({"DEL", "liblock:" + key}); }
  bool changes(Process &by, const std::string &expected, const std::string &value) {
    Question &changed = change(by, expected, value);
    world.run_ms(600);
    return changed.is(Status::OK);
  }
  Question &extend(Process &by, const std::string &expected, int64_t ttl_ms) {
    Question &extended = by.about("k", What::ExtendKey, [&](Ask &ask) {
      ask.text = expected;
      ask.ttl = liblock::nanos_from_ms(ttl_ms);
    });
    world.run_ms(600);
    return extended;
  }
  std::string exported(Process &from, liblock::Handle lock) {
    Question &asked = from.question(What::Export, [&](Ask &ask) {
      ask.lock = lock;
      ask.number = 1'024;
    });
    world.run_ms(50);
    EXPECT(asked.is(Status::OK));
    return asked.text;
  }
  Question &adopt(Process &by, const std::string &text) {
    static const AcquireParams params = waiting_ms(1'000, 3'000);
    Question &asked = by.question(What::Adopt, [&](Ask &ask) {
      ask.text = text;
      ask.params = &params;
    });
    world.run_ms(500);
    return asked;
  }
};

}  // namespace

UNIT_TEST(a_change_is_not_undone_by_a_holder_who_has_not_heard_of_it_and_a_node_that_lost_its_data) {
  Scene s;
  Wanted &held = s.b->take("k", carrying("old", 3'000));
  s.cut(*s.b, {3, 4});
  Question &changed = s.change(*s.a, "old", "new");
  s.world.run_ms(200);
  EXPECT(changed.is(Status::OK));
  s.cut(*s.a, {0, 1});
  s.cut(*s.b, {0, 1});
  s.nodes[2]->stop(Node::Data::Lost);
  s.nodes[2]->start();
  s.mend(*s.b, {3, 4});
  Process other(s.world, "other", over(s.nodes));
  s.world.run_ms(80'000);
  EXPECT(s.b->holds(held.grant().handle));
  // It is nobody's yet: a quorum has what b brings, of which 2 does not know whether it is the newest.
  Question &undone = s.change(other, "old", "third");
  Question &seen = s.read(other);
  EXPECT(!undone.is(Status::OK) && !(seen.is(Status::OK) && seen.infos.front()->value == "old"));
  s.mend(*s.b, {0, 1});
  s.world.run_ms(6'000);
  EXPECT(s.nodes_with("new") == 5);
  Question &last = s.change(other, "new", "last");
  s.world.run_ms(100);
  EXPECT(last.is(Status::OK));
}

UNIT_TEST(a_node_that_lost_a_lock_knows_its_value_again_when_the_holder_has_asked_a_quorum) {
  Scene s;
  Wanted &held = s.a->take("k", carrying("one", 3'000));
  for (const size_t lost : {0, 1}) {
    s.nodes[lost]->ask({"DEL", "liblock:k"});
    s.world.run_ms(1'500);
    EXPECT(s.state_on(lost).starts_with('r'));
  }
  // Three others know of nothing newer. Then these are two of three.
  s.world.run_ms(3'000);
  EXPECT(s.state_on(0) == "c" && s.state_on(1) == "c");
  for (const size_t away : {3, 4}) s.nodes[away]->stop(Node::Data::Kept);
  const auto updated = s.a->update(held.grant().handle, "two");
  s.world.run_ms(300);
  EXPECT(updated->is(Status::OK) && s.is_read("two"));
}

UNIT_TEST(where_all_nodes_lost_a_lock_its_value_counts_when_all_have_it_again) {
  Scene s;
  Wanted &held = s.a->take("k", carrying("one", 3'000));
  s.world.run_ms(100);  // it listens, and has looked for what it may have missed before
  for (Node *node : s.nodes) node->ask({"DEL", "liblock:k"});
  s.world.run_ms(1'200);
  EXPECT(s.nodes_with("one") == 5);
  const auto refused = s.a->update(held.grant().handle, "two");
  s.world.run_ms(600);
  EXPECT(refused->is(Status::QUARANTINED) && s.a->holds(held.grant().handle));
  s.world.run_ms(3'000);
  const auto updated = s.a->update(held.grant().handle, "two");
  s.world.run_ms(100);
  EXPECT(updated->is(Status::OK) && s.is_read("two"));
}

UNIT_TEST(a_node_that_refuses_renewals_for_good_stands_in_nobodys_way) {
  Scene s(3);
  s.a->take("k", carrying("one", 3'000));
  // Somebody else had a vote of node 0 after it had lost the lock, and gave it back.
  s.lose(0);
  s.nodes[0]->ask({"SET", "ll1:f:{liblock:k}", std::to_string(s.nodes[0]->clock_us() + 60'000'000)});
  s.world.run_ms(1'500);
  s.lose(1);
  s.world.run_ms(1'500);
  EXPECT(s.held_on("k") == 2 && s.state_on(1).starts_with('r'));
  s.world.run_ms(3'000);
  EXPECT(s.state_on(1) == "c" && s.changes(*s.b, "one", "two"));
}

UNIT_TEST(as_many_nodes_need_to_know_as_meet_every_quorum) {
  Scene s(4);
  s.a->take("k", carrying("one", 3'000));
  s.nodes[3]->stop(Node::Data::Kept);
  s.lose(2);
  s.world.run_ms(1'500);
  EXPECT(s.state_on(2).starts_with('r') && !s.changes(*s.b, "one", "early"));
  s.world.run_ms(3'000);
  EXPECT(s.state_on(2) == "c" && s.changes(*s.b, "one", "two"));
}

UNIT_TEST(who_keeps_a_lock_by_its_value_finds_out_as_well) {
  Scene s(3);
  AcquireParams params = carrying("one", 20'000);
  params.renew = false;
  s.a->take("k", params);
  for (const size_t lost : {0, 1}) {
    s.lose(lost);
    EXPECT(s.extend(*s.b, "one", 20'000).is(Status::OK) && s.state_on(lost).starts_with('r'));
    EXPECT(s.extend(*s.b, "one", 20'000).is(Status::OK));
    EXPECT(s.state_on(lost) == "c");
  }
  EXPECT(s.changes(*s.b, "one", "two"));
}

UNIT_TEST(a_lock_can_be_adopted_though_nobody_agrees_on_its_value_yet) {
  Scene s(3);
  Wanted &held = s.a->take("k", carrying("one", 3'000));
  s.world.run_ms(100);
  s.lose(0);
  s.lose(1);
  s.world.run_ms(1'200);
  EXPECT(s.state_on(0).starts_with('r') && s.state_on(1).starts_with('r'));
  Question &adopted = s.adopt(*s.b, s.exported(*s.a, held.grant().handle));
  EXPECT(adopted.is(Status::OK) && s.b->holds(adopted.lock));
  s.world.run_ms(4'000);
  EXPECT(s.is_read("one") && s.changes(*s.a, "one", "two"));
}

UNIT_TEST(who_adopts_a_lock_on_several_keys_has_the_newest_value_of_all) {
  Scene s(3);
  Wanted &held = s.a->acquire({"a", "k"}, carrying("old", 3'000));
  s.world.run_ms(100);
  EXPECT(s.changes(*s.b, "old", "new"));  // of k alone
  Question &adopted = s.adopt(*s.b, s.exported(*s.a, held.grant().handle));
  EXPECT(adopted.is(Status::OK));
  s.world.run_ms(2'000);
  for (size_t n = 0; n < 3; ++n) EXPECT(s.value_on(n, "k") == "new" && s.value_on(n, "a") == "new");
}

UNIT_MAIN("values on nodes that lost them",
          cmocka_unit_test(
              a_change_is_not_undone_by_a_holder_who_has_not_heard_of_it_and_a_node_that_lost_its_data),
          cmocka_unit_test(a_node_that_lost_a_lock_knows_its_value_again_when_the_holder_has_asked_a_quorum),
          cmocka_unit_test(where_all_nodes_lost_a_lock_its_value_counts_when_all_have_it_again),
          cmocka_unit_test(a_node_that_refuses_renewals_for_good_stands_in_nobodys_way),
          cmocka_unit_test(as_many_nodes_need_to_know_as_meet_every_quorum),
          cmocka_unit_test(who_keeps_a_lock_by_its_value_finds_out_as_well),
          cmocka_unit_test(a_lock_can_be_adopted_though_nobody_agrees_on_its_value_yet),
          cmocka_unit_test(who_adopts_a_lock_on_several_keys_has_the_newest_value_of_all))
