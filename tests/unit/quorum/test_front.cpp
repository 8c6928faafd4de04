// SPDX-License-Identifier: MIT
// The front of a process over a quorum: locks that go from hand to hand within it, the tokens that are reserved for
// them, and whose turn it is when others want them. Time and network are moved by hand; nodes run the real scripts.
#include "front_scene.hpp"

using namespace unit;
using namespace unit::front;

UNIT_TEST(a_release_gives_the_lock_to_the_next_of_the_process_before_any_node_knows) {
  Scene s;
  Wanted &next = *s.line_of(1)[0];
  EXPECT(s.queued() == 0 && !next.ended());
  s.world.run_ms(100);
  const uint64_t calls = s.calls();
  const auto released = s.a->release(s.held.grant().handle);
  s.in_no_time();
  EXPECT(next.is(Status::OK) && released->is(Status::OK) && s.calls() == calls);
  EXPECT(next.grant().token > s.held.grant().token && next.grant().votes >= 3 && next.grant().nodes == 5);
  EXPECT((next.grant().flags & LIBLOCK_RESULT_WAITED) != 0);
  EXPECT(s.a->state_of(s.held.grant().handle) == Status::NOT_HELD && s.passed_on() == 1);
  s.world.run_ms(6);
  EXPECT(s.recorded("|" + std::to_string(next.grant().token) + "|") == 5 && s.calls() == calls + 5);
  s.world.run_ms(60'000);
  EXPECT(s.a->holds(next.grant().handle));  // it is renewed as any lease
  s.a->release(next.grant().handle);
  s.world.run_ms(1);
  EXPECT(s.held_on("k") == 0);
}

UNIT_TEST(who_stands_costs_the_nodes_nothing) {
  Scene s;
  s.line_of(1);
  s.world.run_ms(2'000);
  const uint64_t calls = s.calls();
  s.line_of(500);
  s.world.run_ms(60);
  EXPECT(s.calls() <= calls + 5 * 12);  // how many they are is told, now and then
  const uint64_t told = s.calls();
  s.world.run_ms(2'000);
  EXPECT(s.calls() == told);  // the lease, of 30 s, needs nothing yet
}

UNIT_TEST(no_token_is_given_out_that_a_quorum_of_nodes_would_give_to_somebody_else) {
  Scene s;
  const std::vector<Wanted *> line = s.line_of(3'000);
  const Wanted *last = &s.held;
  for (const Wanted *next : line) {
    s.a->release(last->grant().handle);
    s.world.run_for(kMillisecond / 20);
    if (!next->ended()) s.world.run_ms(3);
    EXPECT(next->is(Status::OK) && next->grant().token > last->grant().token);
    EXPECT(s.exceeding(next->grant().token) >= 3);
    last = next;
  }
  EXPECT(s.passed_on() > 2'900);
  s.a->release(last->grant().handle);
  EXPECT(s.b->take("k").grant().token > last->grant().token);
}

UNIT_TEST(no_more_tokens_are_given_out_than_were_reserved_where_no_quorum_votes_any_more) {
  Scene s;
  const std::vector<Wanted *> line = s.line_of(300);
  s.world.run_ms(100);
  const uint64_t reserved = s.fence(4);
  for (const size_t n : {0, 1, 2}) {
    s.nodes[n]->stop(Node::Data::Kept);  // which it cannot know: it is silent now
    s.nodes[n]->start();
    s.world.run_ms(1'500);
  }
  const Wanted *last = &s.held;
  size_t hands = 0;
  for (const Wanted *next : line) {
    s.a->release(last->grant().handle);
    s.world.run_ms(7);
    if (!next->ended()) break;
    EXPECT(next->is(Status::OK) && next->grant().token <= std::max(reserved, s.held.grant().token + 255));
    last = next;
    ++hands;
  }
  EXPECT(hands >= 255 && s.passed_on() == hands);
  s.world.run_ms(70'000);
  if (hands < line.size())
    EXPECT(line[hands]->is(Status::OK) && line[hands]->grant().token > last->grant().token);
}

UNIT_TEST(nodes_that_forget_all_while_it_goes_from_hand_to_hand_grant_no_token_that_was_given_out) {
  Scene s;
  const std::vector<Wanted *> line = s.line_of(60);
  const Wanted *last = &s.held;
  size_t down = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (i % 20 == 10) {
      s.nodes[down]->stop(Node::Data::Lost);
      s.world.run_ms(20);
      s.nodes[down]->start();
      down = (down + 1) % 5;
    }
    s.a->release(last->grant().handle);
    EXPECT(s.world.run_until([&] { return line[i]->ended(); }, 5'000));
    EXPECT(line[i]->is(Status::OK) && line[i]->grant().token > last->grant().token);
    last = line[i];
    if (i % 20 == 19) s.world.run_ms(65'000);  // it has been silent, and was told a floor
  }
  EXPECT(s.passed_on() > 50);
  s.a->release(last->grant().handle);
  EXPECT(s.b->take("k").grant().token > last->grant().token);
}

UNIT_TEST(a_node_that_has_lost_the_lock_alone_gets_it_again_by_renewal_as_it_is_now) {
  Scene s(with_front(), waiting_ms(10'000, 3'000));
  const std::vector<Wanted *> line = s.line_of(3, waiting_ms(60'000, 3'000));
  s.a->release(s.held.grant().handle);
  s.world.run_ms(20);
  EXPECT(s.fence(2) > line[0]->grant().token);
  s.nodes[2]->ask({"DEL", "liblock:k"});
  s.world.run_ms(1'200);
  EXPECT(s.held_on("k") == 5);
  EXPECT(s.record(2).find("|" + std::to_string(line[0]->grant().token) + "|") != std::string::npos);
  // Not where somebody else had it meanwhile.
  s.nodes[2]->ask({"DEL", "liblock:k"});
  s.nodes[2]->ask({"SET", "ll1:f:{liblock:k}", std::to_string(s.fence(2) + 1)});
  s.world.run_ms(1'200);
  EXPECT(s.held_on("k") == 4 && s.a->holds(line[0]->grant().handle));
}

UNIT_TEST(a_node_that_was_not_told_whose_it_is_hears_it_by_the_next_renewal) {
  Scene s(with_front(), waiting_ms(10'000, 3'000));
  const auto owner = s.a->owner("worker");
  Wanted &next = s.a->acquire({"k"}, waiting_ms(60'000, 3'000), owner);
  s.world.run_ms(5);
  s.world.link(s.a->host(), *s.nodes[1]).cut();
  s.a->release(s.held.grant().handle);
  s.world.run_ms(30);
  EXPECT(next.is(Status::OK) && s.recorded("|" + owner->id() + "|") == 4);
  s.world.link(s.a->host(), *s.nodes[1]).mend();
  s.world.run_ms(3'000);
  EXPECT(s.recorded("|" + owner->id() + "|") == 5);
}

UNIT_TEST(an_outsider_comes_behind_those_who_were_there_before_him_and_before_those_who_came_later) {
  Scene s;
  const std::vector<Wanted *> first = s.line_of(3);
  Wanted &outsider = s.b->acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(5);
  const std::vector<Wanted *> later = s.line_of(3);
  const Wanted *last = &s.held;
  const auto is_next = [&](Process &holder, Wanted &next) {
    holder.release(last->grant().handle);
    s.world.run_ms(10);
    EXPECT(next.is(Status::OK) && next.grant().token > last->grant().token);
    last = &next;
  };
  for (Wanted *next : first) is_next(*s.a, *next);
  is_next(*s.a, outsider);
  EXPECT(s.passed_on() == 0);
  is_next(*s.b, *later[0]);
  // He is gone: what is left is a matter of the process again.
  s.a->release(last->grant().handle);
  s.in_no_time();
  EXPECT(later[1]->is(Status::OK) && s.passed_on() == 1);
}

UNIT_TEST(two_processes_of_many_threads_take_turns_and_nobody_waits_for_long) {
  Scene s(with_front(0, 100));
  s.a->release(s.held.grant().handle);
  struct Side {
    Process *process;
    std::vector<Wanted *> waiting;
    int turns = 0;
  };
  Side sides[2] = {{s.a.get(), {}}, {s.b.get(), {}}};
  std::map<const Wanted *, Nanos> since;
  uint64_t token = 0;
  Nanos longest = 0;
  const auto part = static_cast<int>(slowness());
  const Nanos until = s.world.now() + 3'000 * kMillisecond / part;
  while (s.world.now() < until) {
    for (Side &side : sides) {
      while (side.waiting.size() < 8) {
        side.waiting.push_back(&side.process->acquire({"k"}, waiting_ms(60'000)));
        since[side.waiting.back()] = s.world.now();
      }
    }
    s.world.run_for(kMillisecond / 5);
    for (Side &side : sides) {
      const auto done =
          std::find_if(side.waiting.begin(), side.waiting.end(), [](auto *w) { return w->ended(); });
      if (done == side.waiting.end()) continue;
      EXPECT((*done)->is(Status::OK) && (*done)->grant().token > token);
      token = (*done)->grant().token;
      longest = std::max(longest, s.world.now() - since[*done]);
      side.process->release((*done)->grant().handle);
      side.waiting.erase(done);
      ++side.turns;
    }
  }
  EXPECT(sides[0].turns > 300 / part && sides[1].turns > 300 / part);
  EXPECT(longest < 500 * kMillisecond);
}

UNIT_TEST(with_a_budget_an_outsider_waits_for_it_and_not_for_longer) {
  Scene s(with_front(50));
  std::vector<Wanted *> line = s.line_of(20);  // before him
  Wanted &outsider = s.b->acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(1);
  for (int i = 0; i < 80; ++i) line.push_back(&s.a->acquire({"k"}, waiting_ms(60'000)));
  const Nanos from = s.world.now();
  const Wanted *last = &s.held;
  for (size_t i = 0; i < line.size() && !outsider.ended(); ++i) {
    s.a->release(last->grant().handle);
    s.world.run_ms(1);  // that each has it
    last = line[i];
  }
  const Nanos waited = s.world.now() - from;
  EXPECT(outsider.is(Status::OK) && waited >= 47 * kMillisecond && waited <= 60 * kMillisecond);
}

UNIT_TEST(an_outsider_of_whom_no_message_came_is_not_passed_over) {
  Scene s;
  s.world.run_ms(100);
  for (Node *node : s.nodes) node->end_connections(true);
  Wanted &outsider = s.b->acquire({"k"}, waiting_ms(60'000));
  s.world.run_for(kMillisecond / 4);
  const std::vector<Wanted *> line = s.line_of(3);
  s.world.run_ms(1'000);  // messages come again, and nodes were asked whether somebody waits
  s.a->release(s.held.grant().handle);
  s.world.run_ms(5);
  EXPECT(outsider.is(Status::OK) && s.passed_on() == 0 && !line[0]->ended());
}

namespace {

// A process that passes a key on without end. How often no node had it.
int free_for_others(Scene &s, int turns, bool releases_another_first) {
  const Wanted *last = &s.held;
  int free = 0;
  for (int turn = 0; turn < turns; ++turn) {
    Wanted *const next = &s.a->acquire({"k"}, waiting_ms(60'000));
    s.world.run_ms(1);
    if (releases_another_first) {
      const Handle another = s.a->take("j").grant().handle;
      s.a->release(another);
    }
    s.a->release(last->grant().handle);
    for (int part = 0; part < 8 && !next->ended(); ++part) {
      s.world.run_for(kMillisecond / 10);
      free += s.held_on("k") == 0;
    }
    EXPECT(s.world.run_until([&] { return next->ended(); }, 1'000));
    EXPECT(next->is(Status::OK) && next->grant().token > last->grant().token);
    last = next;
  }
  return free;
}

}  // namespace

UNIT_TEST(a_process_that_passes_a_key_on_without_end_leaves_it_free_for_foreign_clients_all_the_same) {
  Scene s(with_front(0, 100));
  EXPECT(free_for_others(s, 1'000, false) >= 5 && s.passed_on() > 900);
}

UNIT_TEST(a_key_is_left_free_for_foreign_clients_also_where_another_is_released_before_it_in_the_same_turn) {
  Scene s(with_front(0, 100));
  EXPECT(free_for_others(s, 1'000, true) >= 5 && s.passed_on() > 800);
}

UNIT_TEST(what_another_lease_would_be_granted_for_asks_the_nodes) {
  std::vector<std::function<void(AcquireParams &)>> changes{
      [](AcquireParams &p) { p.votes = LIBLOCK_VOTES_ALL; }, [](AcquireParams &p) { p.votes = 4; },
      [](AcquireParams &p) {
        p.nodes = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"n1", "n2"});
      },
      [](AcquireParams &p) { p.value = "v"; },
      [](AcquireParams &p) { p.ttl = 5'000 * kMillisecond, p.renew = false; }};
  for (const auto &change : changes) {
    Scene s;
    AcquireParams params = waiting_ms(60'000);
    change(params);
    Wanted &other = s.a->acquire({"k"}, params);
    s.world.run_ms(5);
    s.a->release(s.held.grant().handle);
    s.world.run_ms(20);
    EXPECT(other.is(Status::OK) && s.passed_on() == 0 && other.grant().token > s.held.grant().token);
  }
  Scene s;
  AcquireParams longer = waiting_ms(60'000, 61'000, false);
  Wanted &refused = s.a->acquire({"k"}, longer);
  s.world.run_ms(20);
  EXPECT(refused.is(Status::INVALID_ARGUMENT));
}

UNIT_TEST(a_lease_as_long_as_any_may_be_is_passed_on_where_more_was_asked_for) {
  liblock::QuorumOptions options = with_front();
  options.max_ttl = 5'000 * kMillisecond;
  Scene s(options);
  const std::vector<Wanted *> line = s.line_of(2);
  s.a->release(s.held.grant().handle);
  s.in_no_time();
  EXPECT(line[0]->is(Status::OK) && s.passed_on() == 1);
}

UNIT_TEST(a_lock_that_its_holder_has_changed_is_not_passed_on) {
  for (const bool extends : {true, false}) {
    Scene s;
    const std::vector<Wanted *> line = s.line_of(3);
    s.a->release(s.held.grant().handle);
    s.world.run_ms(2);
    EXPECT(line[0]->is(Status::OK) && s.passed_on() == 1);
    const auto changed = extends ? s.a->extend(line[0]->grant().handle, 50'000)
                                 : s.a->update(line[0]->grant().handle, "a value");
    s.world.run_ms(20);
    EXPECT(changed->is(Status::OK) && s.a->holds(line[0]->grant().handle));
    EXPECT(extends || s.recorded("|a value") == 5);
    s.a->release(line[0]->grant().handle);
    s.world.run_ms(20);
    EXPECT(line[1]->is(Status::OK) && s.passed_on() == 1 && line[1]->grant().token > line[0]->grant().token);
    EXPECT(s.recorded("a value") == 0);
  }
}

UNIT_TEST(a_lease_that_is_not_renewed_is_set_to_its_time_to_live_behind_each_hand_over) {
  Scene s(with_front(), waiting_ms(10'000, 2'000, false));
  const std::vector<Wanted *> line = s.line_of(3, waiting_ms(60'000, 2'000, false));
  const Wanted *last = &s.held;
  for (const Wanted *next : line) {
    s.world.run_ms(1'000);
    s.a->release(last->grant().handle);
    s.in_no_time();
    EXPECT(next->is(Status::OK));
    s.world.run_ms(30);
    EXPECT(s.nodes[0]->ask({"PTTL", "liblock:k"}).integer > 1'950);
    last = next;
  }
  EXPECT(s.passed_on() == 3);
  s.world.run_ms(2'100);
  EXPECT(s.a->state_of(last->grant().handle) == Status::LOST && last->losses == 1 && s.held_on("k") == 0);
}

UNIT_MAIN(
    "quorum_front",
    cmocka_unit_test(a_release_gives_the_lock_to_the_next_of_the_process_before_any_node_knows),
    cmocka_unit_test(who_stands_costs_the_nodes_nothing),
    cmocka_unit_test(no_token_is_given_out_that_a_quorum_of_nodes_would_give_to_somebody_else),
    cmocka_unit_test(no_more_tokens_are_given_out_than_were_reserved_where_no_quorum_votes_any_more),
    cmocka_unit_test(nodes_that_forget_all_while_it_goes_from_hand_to_hand_grant_no_token_that_was_given_out),
    cmocka_unit_test(a_node_that_has_lost_the_lock_alone_gets_it_again_by_renewal_as_it_is_now),
    cmocka_unit_test(a_node_that_was_not_told_whose_it_is_hears_it_by_the_next_renewal),
    cmocka_unit_test(
        an_outsider_comes_behind_those_who_were_there_before_him_and_before_those_who_came_later),
    cmocka_unit_test(two_processes_of_many_threads_take_turns_and_nobody_waits_for_long),
    cmocka_unit_test(with_a_budget_an_outsider_waits_for_it_and_not_for_longer),
    cmocka_unit_test(an_outsider_of_whom_no_message_came_is_not_passed_over),
    cmocka_unit_test(
        a_process_that_passes_a_key_on_without_end_leaves_it_free_for_foreign_clients_all_the_same),
    cmocka_unit_test(
        a_key_is_left_free_for_foreign_clients_also_where_another_is_released_before_it_in_the_same_turn),
    cmocka_unit_test(what_another_lease_would_be_granted_for_asks_the_nodes),
    cmocka_unit_test(a_lease_as_long_as_any_may_be_is_passed_on_where_more_was_asked_for),
    cmocka_unit_test(a_lock_that_its_holder_has_changed_is_not_passed_on),
    cmocka_unit_test(a_lease_that_is_not_renewed_is_set_to_its_time_to_live_behind_each_hand_over))
