// SPDX-License-Identifier: MIT
// The pace at which batches of renewals leave, with a loop and a queue as simple as can be.
#include "remote/renewal_pace.hpp"

#include <algorithm>

// After the standard headers, whose names cmocka redefines.
#include "support/unit.hpp"

using liblock::kMillisecond;
using liblock::kNever;
using liblock::Nanos;
using liblock::RenewalPace;

namespace {

constexpr size_t kBatch = 64;
constexpr int64_t kSecond = 1'000 * kMillisecond;

// Renewals that come at an even rate or at once, and leave in batches when the loop turns.
struct Queue {
  explicit Queue(int64_t per_second) : rate(per_second) { pace.add_rate(per_second * 1'000'000'000); }
  // The loop turns; says how many left in that turn.
  size_t turn(Nanos at, Nanos left = kNever) {
    due += static_cast<double>(at - now) * static_cast<double>(comes) / static_cast<double>(kSecond);
    now = at;
    size_t gone = 0;
    for (; due >= kBatch && now >= pace.next_at(); gone += kBatch) {
      due -= kBatch;
      pace.sent(kBatch, now, static_cast<size_t>(due), left == kNever ? kNever : left - now);
    }
    return gone;
  }
  RenewalPace pace;
  int64_t rate, comes = 0;
  Nanos now = kSecond;
  double due = 0;
};

}  // namespace

UNIT_TEST(a_crowd_leaves_a_fifth_faster_than_it_comes) {
  for (const int64_t rate : {1'000, 10'000, 100'000}) {
    Queue queue(rate);
    queue.due = static_cast<double>(10 * rate);  // all of a period of ten seconds
    size_t most = 0;
    while (queue.due >= kBatch) most = std::max(most, queue.turn(queue.now + kMillisecond));
    EXPECT(queue.now > kSecond + 79 * kSecond / 10 && queue.now < kSecond + 81 * kSecond / 10);
    EXPECT(most <= static_cast<size_t>(rate) * 25 / 1'000 + 2 * kBatch);
  }
}

UNIT_TEST(timers_that_come_late_do_not_let_renewals_fall_behind) {
  for (const int64_t rate : {1'000, 2'000, 10'000, 50'000, 100'000}) {
    for (const int64_t late_ms : {2, 5, 10}) {
      Queue queue(rate);
      queue.comes = rate;
      double most = 0;
      while (queue.now < 20 * kSecond) {
        // When its turn has come, or when enough are there, and that much later.
        const double lack = std::max(0.0, kBatch - queue.due);
        const Nanos full_at = queue.now + static_cast<Nanos>(lack * 1e9 / static_cast<double>(rate));
        queue.turn(std::max(queue.pace.next_at(), full_at) + late_ms * kMillisecond);
        most = std::max(most, queue.due);
      }
      EXPECT(most < static_cast<double>(rate) / 25 + 2 * kBatch);
    }
  }
}

UNIT_TEST(what_was_not_sent_for_a_while_does_not_leave_at_once) {
  Queue queue(10'000);
  for (const Nanos idle : {kSecond, 100 * kSecond}) {
    queue.due = 100'000;
    EXPECT(queue.turn(queue.now + idle) <= 6 * kBatch);
    EXPECT(queue.turn(queue.now + kMillisecond) <= kBatch);
    queue.due = 0;
  }
}

// As many that can wait no longer are sent whatever the pace says.
UNIT_TEST(a_flood_does_not_hold_up_what_comes_behind_it) {
  Queue queue(10'000);
  for (int i = 0; i < 1'000; ++i) queue.pace.sent(kBatch, queue.now, 1'000, 10 * kSecond);
  EXPECT(queue.pace.next_at() <= queue.now + 6 * kMillisecond);
}

// Such as those of several keys, of which fewer fit into a call.
UNIT_TEST(a_small_batch_has_a_short_pause) {
  RenewalPace few, many;
  for (RenewalPace *pace : {&few, &many}) pace->add_rate(1'000'000'000'000);
  many.sent(64, kSecond, 0, kNever);
  for (int i = 0; i < 4; ++i) few.sent(16, kSecond, 0, kNever);
  EXPECT(few.next_at() - kSecond <= 16 * 8 * kMillisecond / 10);
  EXPECT(many.next_at() - kSecond <= 64 * 8 * kMillisecond / 10);
}

UNIT_TEST(all_have_left_when_the_first_could_wait_no_longer) {
  Queue queue(10'000);
  queue.due = 100'000;
  const Nanos left = queue.now + 4 * kSecond;
  size_t most = 0;
  while (queue.due >= kBatch) most = std::max(most, queue.turn(queue.now + kMillisecond, left));
  EXPECT(queue.now > left - kSecond / 10 && queue.now < left + kSecond / 10);
  EXPECT(most <= 10 * kBatch);
}

UNIT_TEST(few_wait_for_no_longer_than_a_second_and_where_none_come_again_nothing_waits) {
  RenewalPace pace;
  pace.sent(kBatch, kSecond, 1'000, 60 * kSecond);
  EXPECT(pace.next_at() <= kSecond);
  pace.add_rate(1);
  pace.sent(kBatch, 10 * kSecond, 0, kNever);
  EXPECT(pace.next_at() > 10 * kSecond && pace.next_at() <= 11 * kSecond + 24 * kMillisecond);
  pace.add_rate(-1);
  pace.sent(kBatch, 20 * kSecond, 1'000, 60 * kSecond);
  EXPECT(pace.next_at() <= 20 * kSecond);
}

UNIT_MAIN("the pace of renewals", cmocka_unit_test(a_crowd_leaves_a_fifth_faster_than_it_comes),
          cmocka_unit_test(timers_that_come_late_do_not_let_renewals_fall_behind),
          cmocka_unit_test(what_was_not_sent_for_a_while_does_not_leave_at_once),
          cmocka_unit_test(a_flood_does_not_hold_up_what_comes_behind_it),
          cmocka_unit_test(a_small_batch_has_a_short_pause),
          cmocka_unit_test(all_have_left_when_the_first_could_wait_no_longer),
          cmocka_unit_test(few_wait_for_no_longer_than_a_second_and_where_none_come_again_nothing_waits))
