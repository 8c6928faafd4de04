// SPDX-License-Identifier: MIT
// The front of one server where what goes from hand to hand meets outsiders, losses and other requests of its process:
// nobody is overtaken, and no lock goes on that may be lost.
#include "front_scene.hpp"

using namespace unit;
using namespace unit::front;

// docs/safety.md: an outsider waits for front_ms, and for those who came before him.
UNIT_TEST(with_a_budget_who_came_before_an_outsider_is_served_before_him) {
  Scene s(with_front(50, -1));
  Wanted &before = *line_of(s, 1)[0];
  s.world.run_ms(5);
  Wanted &outsider = s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(200);  // longer than the budget; the holder just holds
  EXPECT(!before.ended() && !outsider.ended());
  s.a.release(s.held.grant().handle);
  s.world.run_ms(5);
  EXPECT(before.is(Status::OK) && !outsider.ended());
}

// One who came before him is granted the key when that budget is over, with a budget of his own.
UNIT_TEST(an_outsider_waits_for_one_budget_of_each_grant_before_his) {
  Scene s(with_front(50, -1));
  std::vector<Wanted *> line = line_of(s, 1);
  s.world.run_ms(5);
  const Wanted &outsider = s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(20);
  line.push_back(&s.a.acquire({"k"}, waiting_ms(60'000)));
  s.world.run_ms(55);
  const Nanos from = s.world.now();
  const Wanted *last = &s.held;
  for (size_t i = 0; i < 400 && !outsider.ended(); ++i) {
    s.a.release(last->grant().handle);
    s.world.run_ms(1);
    if (outsider.ended()) break;
    EXPECT(line[i]->is(Status::OK));
    last = line[i];
    line.push_back(&s.a.acquire({"k"}, waiting_ms(60'000)));
  }
  EXPECT(outsider.is(Status::OK) && s.world.now() - from <= 55 * kMillisecond);
}

// The question whether it is true is under way meanwhile.
UNIT_TEST(a_lock_of_whose_loss_word_has_come_is_not_handed_on_before_that_was_verified) {
  Scene s;
  Wanted &next = *line_of(s, 1)[0];
  s.world.run_ms(200);
  s.world.link(s.a.host(), s.node).set_delay(5 * kMillisecond, 5 * kMillisecond);
  run_once(s.b.host(), [&] {
    force_away(s.b.instance(), {"liblock:k", {}, false}, [](Status, const std::string &) {});
  });
  Wanted &theirs = s.b.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(7);  // word came after 5, the answer to the question comes after 15
  EXPECT(theirs.is(Status::OK));
  const auto released = s.a.release(s.held.grant().handle);
  s.world.run_for(kMillisecond / 100);
  const bool two = s.b.holds(theirs.grant().handle) && next.is(Status::OK) && s.a.holds(next.grant().handle);
  s.world.run_ms(30);
  EXPECT(!two);
}

UNIT_TEST(an_outsider_whose_word_was_missed_while_the_attempt_was_under_way_is_not_passed_over) {
  Scene s;
  s.a.release(s.held.grant().handle);
  s.world.run_ms(200);
  auto &link = s.world.link(s.a.host(), s.node);
  // The subscription breaks, and the attempt goes out; it is answered late.
  s.node.end_connections(true);
  s.world.run_for(kMillisecond / 5);
  link.set_delay(liblock_test::sim::Way::ToHost, 60 * kMillisecond, 60 * kMillisecond);
  Wanted &first = s.a.acquire({"k"}, waiting_ms(10'000));
  s.world.run_for(kMillisecond);
  link.set_delay_of_world();
  Wanted &outsider = s.b.acquire({"k"}, waiting_ms(60'000));
  for (int i = 0; i < 2000 && !first.ended(); ++i) s.world.run_for(kMillisecond / 10);
  Wanted &second = s.a.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(20);
  s.a.release(first.grant().handle);
  s.world.run_for(kMillisecond / 20);
  if (second.ended()) s.a.release(second.grant().handle);
  s.world.run_ms(5);
  EXPECT(outsider.is(Status::OK) && !second.ended());
}

UNIT_TEST(what_a_server_could_not_tell_of_a_word_is_asked_for_again) {
  Stage s;
  s.b.release(s.b.take("p").grant().handle);
  s.a.take("o", waiting_ms(0, 60'000, false));
  s.world.run_ms(50);
  Wanted &mine = s.a.take("k", waiting_ms(0, 60'000, false));
  s.world.run_ms(300);
  s.world.link(s.a.host(), s.node).set_delay(5 * kMillisecond, 5 * kMillisecond);
  run_once(s.b.host(), [&] {
    force_away(s.b.instance(), {"liblock:k", {}, false}, [](Status, const std::string &) {});
  });
  s.world.run_ms(7);
  s.node.end_connections(false);
  s.world.link(s.a.host(), s.node).set_delay_of_world();
  s.world.run_ms(3'000);
  EXPECT(mine.losses == 1);
}

UNIT_TEST(a_try_does_not_barge_past_who_stands) {
  Scene s;
  Wanted &z = s.a.take("z");
  Wanted &next = *line_of(s, 1, waiting_ms(60'000, 5'000, false))[0];  // other terms: a real release
  s.world.run_ms(100);
  s.a.release(z.grant().handle);
  Wanted &tried = s.a.acquire({"k"}, without_waiting());
  s.a.release(s.held.grant().handle);
  s.world.run_ms(5);
  EXPECT(tried.is(Status::BUSY) && next.is(Status::OK));
}

UNIT_TEST(who_carries_a_value_does_not_overtake_who_stands) {
  Scene s;
  Wanted &z = s.a.take("z");
  Wanted &next = *line_of(s, 1, waiting_ms(60'000, 5'000, false))[0];
  s.world.run_ms(100);
  AcquireParams params = waiting_ms(60'000);
  params.value = "v";
  s.a.release(z.grant().handle);
  Wanted &late = s.a.acquire({"k"}, params);
  s.a.release(s.held.grant().handle);
  s.world.run_ms(5);
  EXPECT(next.is(Status::OK) && !late.ended());
}

namespace {

// Of 60 lives, those in which somebody who did not wait had the key between a real release and the acquire behind it.
int barged_past(int64_t budget_ms) {
  int barged = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Stage s(seed, with_front(budget_ms, -1));
    s.a.release(s.a.take("warm").grant().handle);
    Wanted &held = s.a.take("k");
    s.b.release(s.b.take("other").grant().handle);
    s.world.run_ms(50);
    s.a.acquire({"k"}, waiting_ms(60'000, 5'000, false));  // other terms
    s.world.run_ms(100);
    s.world.delay_most = kMillisecond;
    s.world.piece_bytes_max = 64;
    s.a.release(held.grant().handle);
    std::vector<Wanted *> tries;
    for (int i = 0; i < 60; ++i) {
      tries.push_back(&s.b.acquire({"k"}, without_waiting()));
      s.world.run_for(kMillisecond / 20);
    }
    s.world.run_ms(10);
    for (Wanted *tried : tries) {
      if (!tried->is(Status::OK)) continue;
      ++barged;
      break;
    }
    s.world.piece_bytes_max = SIZE_MAX;
  }
  return barged;
}

}  // namespace

UNIT_TEST(nobody_who_does_not_wait_comes_between_a_release_and_who_stands) {
  EXPECT(barged_past(0) == 0);
}

UNIT_TEST(those_who_came_in_one_turn_are_served_in_their_order_though_a_search_sends_them_to_the_server) {
  int wrong = 0;
  for (int round = 0; round < 10; ++round) {
    Stage s(round + 1, with_front(0, -1));
    Wanted &held = s.a.take("k");
    const auto one = s.a.owner("one"), two = s.a.owner("two"), three = s.a.owner("three");
    s.world.run_ms(50);
    Wanted *w[3] = {&s.a.acquire({"k"}, waiting_ms(60'000), one), &s.a.acquire({"k"}, waiting_ms(60'000), two),
                    &s.a.acquire({"k"}, waiting_ms(60'000), three)};
    s.world.run_ms(300);  // the delay of a search is over
    s.a.release(held.grant().handle);
    s.world.run_ms(5);
    if (!w[0]->ended()) {
      ++wrong;
      continue;
    }
    s.a.release(w[0]->grant().handle);
    s.world.run_ms(5);
    if (!w[1]->ended()) ++wrong;
  }
  EXPECT(wrong == 0);
}

// The estimate of the server's clock moves meanwhile.
UNIT_TEST(those_who_came_one_behind_the_other_keep_their_order) {
  int wrong = 0;
  for (int round = 0; round < 20; ++round) {
    Stage s(round + 1, with_front(0, -1));
    s.world.delay_most = 10 * kMillisecond;
    Wanted &held = s.a.take("k");
    s.world.run_ms(100);
    std::vector<Wanted *> line;
    for (int i = 0; i < 6; ++i) {
      line.push_back(&s.a.acquire({"k"}, waiting_ms(60'000), s.a.owner("o" + std::to_string(i))));
      s.world.run_ms(1);
    }
    for (int i = 0; i < 30; ++i) s.a.take("other" + std::to_string(i));
    s.world.run_ms(300);
    const Wanted *last = &held;
    for (Wanted *next : line) {
      s.a.release(last->grant().handle);
      s.world.run_ms(60);
      if (!next->ended()) {
        ++wrong;
        break;
      }
      last = next;
    }
  }
  EXPECT(wrong == 0);
}

UNIT_TEST(a_lock_that_nobody_has_room_for_is_given_back) {
  liblock::InstanceOptions options = with_front(0, -1);
  options.locks_max = 3;
  Stage s(1, options);
  s.a.release(s.a.take("warm").grant().handle);
  const auto o = s.a.owner("o");
  s.world.run_ms(50);
  // Granted within one microsecond of the server: their tokens are equal.
  Wanted &k = s.a.acquire({"k"}, waiting_ms(10'000), o), &j = s.a.acquire({"j"}, waiting_ms(10'000), o);
  s.world.run_ms(5);
  Wanted &both = s.a.acquire({"k", "j"}, waiting_ms(10'000), o);
  s.world.run_ms(5);
  EXPECT(both.is(Status::OK) && both.grant().token == k.grant().token);
  s.a.release(k.grant().handle);
  s.a.release(j.grant().handle);
  s.world.run_ms(5);
  s.a.take("x");
  s.a.take("y");
  s.a.acquire({"k"}, waiting_ms(60'000));
  const Wanted &last = s.a.acquire({"k"}, waiting_ms(60'000));
  s.world.run_ms(200);
  s.a.question(Ask::What::ReleaseKeys, [&](Ask &ask) {
    ask.owner = o;
    ask.keys = {"k"};
  });
  s.world.run_ms(55'000);
  EXPECT(last.ended());
}

UNIT_MAIN("front_order",
    cmocka_unit_test(with_a_budget_who_came_before_an_outsider_is_served_before_him),
    cmocka_unit_test(an_outsider_waits_for_one_budget_of_each_grant_before_his),
    cmocka_unit_test(a_lock_of_whose_loss_word_has_come_is_not_handed_on_before_that_was_verified),
    cmocka_unit_test(an_outsider_whose_word_was_missed_while_the_attempt_was_under_way_is_not_passed_over),
    cmocka_unit_test(what_a_server_could_not_tell_of_a_word_is_asked_for_again),
    cmocka_unit_test(a_try_does_not_barge_past_who_stands),
    cmocka_unit_test(who_carries_a_value_does_not_overtake_who_stands),
    cmocka_unit_test(nobody_who_does_not_wait_comes_between_a_release_and_who_stands),
    cmocka_unit_test(those_who_came_in_one_turn_are_served_in_their_order_though_a_search_sends_them_to_the_server),
    cmocka_unit_test(those_who_came_one_behind_the_other_keep_their_order),
    cmocka_unit_test(a_lock_that_nobody_has_room_for_is_given_back))
