// SPDX-License-Identifier: MIT
// What is asked of the system, of either file that answers. The goal: no wake-up is lost, no sleeper outlives its
// deadline for ever, and what is told about descriptors and clocks is so. Linked once with each.
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "../support/unit.hpp"
#include "base/clock.hpp"
#include "base/parking.hpp"
#include "base/platform.hpp"

using namespace liblock;

namespace {

bool polls_readable(const ReadableFlag &flag) {
  pollfd one{flag.fd(), POLLIN, 0};
  return poll(&one, 1, 0) == 1;
}

// One says ping, the other pong: every wake-up is needed, and one that is lost hangs the test.
void play(std::atomic<uint32_t> &word, uint32_t mine, uint32_t rounds) {
  for (uint32_t turn = mine; turn < 2 * rounds; turn += 2) {
    for (uint32_t seen = word.load(); seen != turn; seen = word.load()) wait_on_word(word, seen, kNever);
    word.store(turn + 1);
    wake_word(&word, 1);
  }
}

}  // namespace

UNIT_TEST(a_word_that_has_changed_is_not_slept_on) {
  std::atomic<uint32_t> word{7};
  wait_on_word(word, 6, kNever);
}

UNIT_TEST(a_sleeper_that_nobody_wakes_is_back_after_its_deadline) {
  std::atomic<uint32_t> word{0};
  const Clock clock;
  const Nanos until = clock.now() + 5 * kMillisecond;
  while (clock.now() < until) wait_on_word(word, 0, until);
  wait_on_word(word, 0, until);  // that is over
  wait_on_word(word, 0, 0);
}

UNIT_TEST(no_wake_up_is_lost_between_two_threads) {
  std::atomic<uint32_t> word{0};
  std::thread other([&] { play(word, 1, 5000); });
  play(word, 0, 5000);
  other.join();
  EXPECT(word.load() == 10'000);
}

UNIT_TEST(whoever_waits_elsewhere_does_not_keep_a_sleeper_from_being_woken) {
  constexpr size_t kThreads = 16, kStride = 4096;  // words far apart share what the fallback sleeps on
  auto words = std::make_unique<std::array<std::atomic<uint32_t>, kThreads * kStride>>();
  std::vector<std::thread> sleepers;
  for (size_t i = 0; i < kThreads; ++i) {
    sleepers.emplace_back([&word = (*words)[i * kStride]] {
      while (word.load() == 0) wait_on_word(word, 0, kNever);
    });
  }
  for (size_t i = kThreads; i-- > 0;) {
    (*words)[i * kStride].store(1);
    wake_word(&(*words)[i * kStride], 1);
  }
  for (std::thread &sleeper : sleepers) sleeper.join();
}

UNIT_TEST(waking_a_word_that_has_gone_is_harmless) {
  auto word = std::make_unique<std::atomic<uint32_t>>(0);
  const void *const address = word.get();
  word.reset();
  wake_word(address, 1);
}

UNIT_TEST(a_parked_thread_hears_of_a_nudge_and_of_the_end) {
  Parking parking;
  std::atomic<int> nudges{0};
  std::thread parked([&] {
    while (!parking.park()) ++nudges;
  });
  parking.nudge();
  while (nudges.load() == 0) std::this_thread::yield();
  parking.unpark();
  parked.join();
  EXPECT(nudges.load() == 1);
}

UNIT_TEST(the_child_of_a_fork_sleeps_and_wakes_though_threads_slept_when_it_was_made) {
  std::atomic<uint32_t> word{0};
  std::atomic<int> started{0};
  std::vector<std::thread> sleepers;
  for (int i = 0; i < 8; ++i) {
    sleepers.emplace_back([&word, &started] {
      ++started;
      while (word.load() == 0) wait_on_word(word, 0, kNever);
    });
  }
  // A thread that is only just starting may have a lock of the sanitizer, which the child would inherit locked.
  while (started.load() < 8) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    std::atomic<uint32_t> own{0};
    std::thread other([&] { play(own, 1, 100); });
    play(own, 0, 100);
    other.join();
    wake_word(&word, 1);
    _exit(own.load() == 200 ? 0 : 1);
  }
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child);
  word.store(1);
  wake_word(&word, 8);
  for (std::thread &sleeper : sleepers) sleeper.join();
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

UNIT_TEST(a_flag_polls_readable_exactly_while_it_is_raised) {
  ReadableFlag flag;
  EXPECT(!polls_readable(flag));
  flag.lower();
  EXPECT(!polls_readable(flag));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 40; ++i) flag.raise();
    EXPECT(polls_readable(flag));
    flag.lower();
    EXPECT(!polls_readable(flag));
  }
}

UNIT_TEST(a_flag_is_not_inherited_by_programs_and_can_be_closed_twice) {
  ReadableFlag flag;
  const int fd = flag.fd();
  EXPECT((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0 && (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
  flag.close();
  flag.close();
  EXPECT(flag.fd() == -1 && fcntl(fd, F_GETFD) == -1);
}

UNIT_TEST(random_bytes_are_whole_and_new_each_time) {
  std::array<unsigned char, 256> first{}, second{};
  EXPECT(random_bytes(first.data(), first.size(), WhenUnseeded::Wait));
  EXPECT(random_bytes(second.data(), second.size(), WhenUnseeded::Fail));
  EXPECT(first != second);
  // Sixteen bytes in a row that nobody has written: not in the age of the universe.
  EXPECT(std::memcmp(first.data() + 240, std::array<unsigned char, 16>{}.data(), 16) != 0);
}

UNIT_TEST(clocks_never_go_back_and_a_coarse_one_is_never_ahead) {
  const Clock clock, server = Clock::suspend_aware();
  for (int i = 0; i < 1000; ++i) {
    const Nanos coarse = clock.coarse(), fine = clock.now(), slept = server.now();
    EXPECT(coarse <= fine && fine <= clock.now() && slept <= server.now());
    EXPECT(clock.now() - coarse >= 0);
  }
  EXPECT(clock.coarse_lag_max() > 0 && clock.coarse_lag_max() <= 40 * kMillisecond);
}

// But where the machine is late with its ticks.
UNIT_TEST(a_coarse_clock_is_seldom_behind_by_more_than_it_says) {
  const Clock clock;
  int late = 0;
  for (int i = 0; i < 200'000; ++i) {
    const Nanos fine = clock.now();
    late += fine - clock.coarse() > clock.coarse_lag_max();
  }
  EXPECT(late <= 20'000);
}

UNIT_TEST(what_is_left_of_a_lease_is_never_too_much_where_ticks_come_late) {
  std::atomic<Nanos> fine{1000 * kMillisecond}, coarse{997 * kMillisecond};
  const Clock clock(&fine, &coarse, 4 * kMillisecond);
  const Nanos set = clock.coarse() + clock.coarse_lag_max() + 50 * kMillisecond;
  EXPECT(clock.left_until(set) == 50 * kMillisecond);  // not the 51 there are: 50 were asked for
  fine += 30 * kMillisecond;                           // and no tick in all of it
  EXPECT(clock.left_until(set) == 21 * kMillisecond);
  fine += 22 * kMillisecond;
  EXPECT(clock.left_until(set) == 0);
  EXPECT(clock.left_until(kNever) == kNever);
  EXPECT(clock.left_until(clock.deadline_of(7 * kMillisecond)) == 7 * kMillisecond);
}

UNIT_MAIN("platform", cmocka_unit_test(a_word_that_has_changed_is_not_slept_on),
          cmocka_unit_test(what_is_left_of_a_lease_is_never_too_much_where_ticks_come_late),
          cmocka_unit_test(a_sleeper_that_nobody_wakes_is_back_after_its_deadline),
          cmocka_unit_test(no_wake_up_is_lost_between_two_threads),
          cmocka_unit_test(whoever_waits_elsewhere_does_not_keep_a_sleeper_from_being_woken),
          cmocka_unit_test(waking_a_word_that_has_gone_is_harmless),
          cmocka_unit_test(a_parked_thread_hears_of_a_nudge_and_of_the_end),
          cmocka_unit_test(the_child_of_a_fork_sleeps_and_wakes_though_threads_slept_when_it_was_made),
          cmocka_unit_test(a_flag_polls_readable_exactly_while_it_is_raised),
          cmocka_unit_test(a_flag_is_not_inherited_by_programs_and_can_be_closed_twice),
          cmocka_unit_test(random_bytes_are_whole_and_new_each_time),
          cmocka_unit_test(a_coarse_clock_is_seldom_behind_by_more_than_it_says),
          cmocka_unit_test(clocks_never_go_back_and_a_coarse_one_is_never_ahead))
