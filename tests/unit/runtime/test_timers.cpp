// SPDX-License-Identifier: MIT
// The timer heap against a sorted model, and timers whose references several hands hold.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <set>

#include "../support/manual.hpp"
#include "../support/unit.hpp"
#include "runtime/counted_timer.hpp"

using namespace liblock;

namespace {

struct Recorded final : Timer {
  void fire(Nanos) override {}
};

struct Counted final : CountedTimer {
  Counted(std::shared_ptr<Runtime> runtime, int *alive) : CountedTimer(std::move(runtime)), alive_(alive) {
    ++*alive_;
  }
  ~Counted() override { --*alive_; }
  Nanos due(Nanos) override {
    ++fired;
    return std::exchange(again, kNever);
  }
  int fired = 0;
  Nanos again = kNever;

 private:
  int *alive_;
};

}  // namespace

UNIT_TEST(timers_fire_in_the_order_of_a_sorted_model) {
  Random random(42);
  TimerHeap heap;
  std::vector<Recorded> timers(200);
  std::vector<Nanos> armed(timers.size(), kNever);
  Nanos now = 0;
  for (int step = 0; step < 20'000; ++step) {
    const size_t i = random.next() % timers.size();
    switch (random.next() % 4) {
      case 0:
      case 1: {
        const Nanos at = now + random.up_to(1'000);
        EXPECT(heap.arm(timers[i], at) == (armed[i] == kNever));
        armed[i] = std::min(armed[i], at);  // arming again can only make it earlier
        break;
      }
      case 2:
        EXPECT(heap.cancel(timers[i]) == (armed[i] != kNever));
        armed[i] = kNever;
        break;
      default:
        now += random.up_to(50);
        while (Timer *due = heap.pop_due(now)) {
          const size_t which = static_cast<size_t>(static_cast<Recorded *>(due) - timers.data());
          EXPECT(armed[which] <= now);
          armed[which] = kNever;
        }
        EXPECT(*std::min_element(armed.begin(), armed.end()) == heap.earliest());
    }
    heap.check_invariants();
  }
  for (Recorded &timer : timers) heap.cancel(timer);
}

UNIT_TEST(a_timer_that_goes_while_it_is_armed_ends_the_process_instead_of_being_fired_later) {
  const pid_t child = fork();
  if (child == 0) {
    TimerHeap heap;
    Recorded timer;
    heap.arm(timer, 10);
    timer.~Recorded();  // aborts
    _exit(0);
  }
  int how = 0;
  EXPECT(child > 0 && waitpid(child, &how, 0) == child);
  EXPECT(WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT);
}

UNIT_TEST(a_timer_is_deleted_with_its_last_reference_however_it_ends) {
  auto runtime = std::make_shared<unit::ManualRuntime>();
  int alive = 0;
  auto *timer = new Counted(runtime, &alive);
  timer->arm(10);
  timer->arm(5);
  timer->unpin();
  EXPECT(alive == 1);  // the heap's reference
  runtime->fire_due(10);
  EXPECT(alive == 0);
  timer = new Counted(runtime, &alive);
  timer->arm(20);
  timer->disarm();
  EXPECT(alive == 1 && runtime->timers.size() == 0);
  timer->arm(30);  // nothing once disarmed
  EXPECT(runtime->timers.size() == 0);
  timer->unpin();
  EXPECT(alive == 0);
}

UNIT_TEST(a_timer_that_asks_for_it_comes_again) {
  auto runtime = std::make_shared<unit::ManualRuntime>();
  int alive = 0;
  auto *timer = new Counted(runtime, &alive);
  timer->again = 20;
  timer->arm(10);
  runtime->fire_due(10);
  EXPECT(timer->fired == 1 && runtime->timers.earliest() == 20);
  runtime->fire_due(20);
  EXPECT(timer->fired == 2 && runtime->timers.size() == 0);
  timer->unpin();
  EXPECT(alive == 0);
}

UNIT_MAIN("timers", cmocka_unit_test(timers_fire_in_the_order_of_a_sorted_model),
          cmocka_unit_test(a_timer_that_goes_while_it_is_armed_ends_the_process_instead_of_being_fired_later),
          cmocka_unit_test(a_timer_is_deleted_with_its_last_reference_however_it_ends),
          cmocka_unit_test(a_timer_that_asks_for_it_comes_again))
