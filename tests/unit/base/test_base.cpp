// SPDX-License-Identifier: MIT
// Hash, byte order, durations, statuses, lists, handles, what is wiped.
#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "../support/unit.hpp"
#include "base/clock.hpp"
#include "base/hash.hpp"
#include "base/lasting_text.hpp"
#include "base/list.hpp"
#include "base/spare_memory.hpp"
#include "base/spin_habit.hpp"
#include "base/spin_lock.hpp"
#include "base/status.hpp"
#include "base/wipe.hpp"
#include "engine/handle.hpp"
#include "runtime/inbox.hpp"

using namespace liblock;

UNIT_TEST(keys_of_every_length_hash_apart_and_apart_by_seed) {
  std::set<uint64_t> seen;
  std::string key;
  for (int size = 1; size <= 512; ++size) {
    key.push_back(static_cast<char>(size % 3));
    EXPECT(seen.insert(hash_bytes(key, 1)).second);
    EXPECT(seen.insert(hash_bytes(key, 2)).second);
  }
}

UNIT_TEST(one_changed_byte_changes_the_hash) {
  std::string key(40, 'x');
  const uint64_t before = hash_bytes(key, 7);
  for (size_t i = 0; i < key.size(); ++i) {
    std::string changed = key;
    changed[i] ^= 1;
    EXPECT(hash_bytes(changed, 7) != before);
  }
}

UNIT_TEST(machines_without_wide_words_hash_to_the_same) {
  using namespace hash_internal;
  uint64_t a = kMix1, b = kMix2;
  for (int i = 0; i < 1000; ++i) {
    EXPECT(fold(a, b) == fold_by_halves(a, b));
    a = a * kMix3 + b;
    b = ~(b << 1 | b >> 63);
  }
  EXPECT(fold_by_halves(UINT64_MAX, UINT64_MAX) == fold(UINT64_MAX, UINT64_MAX) && fold_by_halves(0, 7) == 0);
}

UNIT_TEST(shards_are_filled_evenly) {
  int shards[256] = {};
  for (int i = 0; i < 256 * 100; ++i) ++shards[hash_bytes("key-" + std::to_string(i), 3) & 255];
  for (const int count : shards) EXPECT(count > 40 && count < 200);
}

UNIT_TEST(byte_order_is_that_of_memcmp_and_shorter_first) {
  const std::string bytes[] = {std::string(1, '\0'), "a",         "ab", "abcdefgh",
                               "abcdefgha",          "abcdefghb", "b",  "\xff"};
  for (const auto &a : bytes) {
    for (const auto &b : bytes) {
      const int expected = std::string_view(a).compare(b);
      const int got = compare_bytes(a, b);
      EXPECT((expected < 0) == (got < 0) && (expected == 0) == (got == 0));
    }
  }
}

UNIT_TEST(an_empty_text_is_none_and_a_long_one_is_cut) {
  EXPECT(lasting_text("") == nullptr);
  const std::string most(kLastingTextBytesMax, 'm');
  EXPECT(lasting_text(most + "x") == std::string(kLastingTextBytesMax - 4, 'm') + " …");
  EXPECT(lasting_text("some words and " + most) == std::string("some words and …"));
  EXPECT(lasting_text(most) == most);
}

// The last word has the bound: texts are for the process, so the tests before count as well.
UNIT_TEST(a_text_stays_where_it_is_until_there_are_too_many_and_threads_share_it) {
  const char *seen[4] = {};
  std::vector<std::thread> threads;
  for (const char *&mine : seen) threads.emplace_back([&mine] { mine = lasting_text("of several threads"); });
  for (std::thread &thread : threads) thread.join();
  for (const char *mine : seen) EXPECT(std::string(mine) == "of several threads");
  std::vector<const char *> given;
  while (const char *text = lasting_text("text " + std::to_string(given.size()))) {
    given.push_back(text);
    EXPECT(given.size() <= kLastingTextsMax);
  }
  EXPECT(given.size() >= kLastingTextsMax - 16);
  EXPECT(lasting_text("one too many") == nullptr);
  for (size_t i = 0; i < given.size(); ++i) EXPECT(given[i] == "text " + std::to_string(i));
  EXPECT(lasting_text("text 0") == given[0]);
}

UNIT_TEST(the_longest_durations_do_not_overflow) {
  EXPECT(nanos_from_ms(INT64_MAX) > 0);
  EXPECT(nanos_from_ms(INT64_MAX) + nanos_from_ms(INT64_MAX) > 0);
  EXPECT(ms_from_nanos(1) == 1 && ms_from_nanos(0) == 0 && ms_from_nanos(-5) == 0);
}

UNIT_TEST(every_status_has_a_number_name_and_text_of_its_own) {
  std::set<int> numbers;
  std::set<std::string> names, texts;
#define CHECK_STATUS(name, number, predicates, text) \
  EXPECT(                                            \
      numbers.insert(number).second &&names.insert(status_name(number)).second &&texts.insert(text).second);
  LIBLOCK_STATUS_MAP(CHECK_STATUS)
#undef CHECK_STATUS
  EXPECT(std::string(status_name(9999)) == "UNKNOWN" && status_predicates(9999) == 0);
}

UNIT_TEST(a_list_keeps_order_through_inserts_and_removals) {
  struct Node {
    int value;
    ListLinks<Node> links;
  };
  Node nodes[4] = {{0, {}}, {1, {}}, {2, {}}, {3, {}}};
  List<Node, &Node::links> list;
  list.push_back(&nodes[1]);
  list.push_back(&nodes[3]);
  list.insert(&nodes[0], &nodes[1]);
  list.insert(&nodes[2], &nodes[3]);
  int expected = 0;
  for (Node *n = list.front(); n != nullptr; n = list.next(n)) EXPECT(n->value == expected++);
  list.remove(&nodes[2]);
  list.remove(&nodes[0]);
  EXPECT(list.size() == 2 && list.front()->value == 1 && list.back()->value == 3);
  EXPECT(list.pop_front() == &nodes[1] && list.pop_front() == &nodes[3] && list.pop_front() == nullptr);
}

UNIT_TEST(a_handle_keeps_its_place_through_all_generations_and_is_never_0) {
  Random random(5);
  Handle h = handle::first(200, 0xABCDE, true, random);
  for (int i = 0; i < 1000; ++i, h = handle::next(h)) {
    EXPECT(h != 0 && handle::shard(h) == 200 && handle::index(h) == 0xABCDE && handle::is_compound(h));
  }
  const Handle last = (handle::kGenerationMax - 1) << handle::kGenerationShift;
  EXPECT(handle::used_up(last) && !handle::used_up(h));
}

UNIT_TEST(a_handle_that_is_handed_on_for_ever_begins_anew_and_can_still_be_retired) {
  Handle h = ((handle::kGenerationMax - 5) << handle::kGenerationShift) | 7;
  bool began_anew = false;
  for (int i = 0; i < 20; ++i) {
    EXPECT(h != 0 && handle::index(h) == 7 && handle::generation(h) != 0 && !handle::used_up(h));
    EXPECT(handle::generation(handle::next(h)) > handle::generation(h));
    began_anew |= handle::generation(h) == 1;
    h = handle::next_in_place(h);
  }
  EXPECT(began_anew);
}

UNIT_TEST(thousands_of_tasks_ring_once_and_run_in_their_order) {
  struct Task final : LoopTask {
    void run() override { ran->push_back(number); }
    std::vector<int> *ran = nullptr;
    int number = 0;
  };
  Inbox inbox;
  std::vector<int> ran;
  std::vector<Task> tasks(5'000);
  int rings = 0;
  for (int i = 0; i < 5'000; ++i) {
    Task &task = tasks[static_cast<size_t>(i)];
    task.ran = &ran;
    task.number = i;
    rings += inbox.push(task) == Inbox::Pushed::First;
  }
  EXPECT(rings == 1);
  inbox.run_all();
  EXPECT(ran.size() == 5'000 && std::is_sorted(ran.begin(), ran.end()));
}

UNIT_TEST(what_is_wiped_is_gone_also_where_the_text_had_become_shorter) {
  for (const size_t size : {10, 100}) {  // within the object, and outside of it
    std::string text(size, 's');
    text.resize(3);
    const char *const bytes = text.data();
    wipe(text);
    EXPECT(text.empty() && text.data() == bytes && std::count(bytes, bytes + size, 's') == 0);
  }
}

UNIT_TEST(what_ends_leaves_its_memory_to_the_next_of_its_size) {
  void *const before = take_spare(100);
  give_back_spare(before, 100);
  void *const other = take_spare(200), *const again = take_spare(97);
  EXPECT(!kKeepsSpareMemory || (again == before && other != before));
  give_back_spare(again, 97);
  give_back_spare(other, 200);
  give_back_spare(nullptr, 100);
}

UNIT_TEST(what_another_thread_took_does_not_pile_up_where_it_ends) {
  constexpr size_t kSize = 4'000;
  SpareVector<void *> taken;
  std::thread([&] {
    for (int i = 0; i < 3; ++i) taken.push_back(take_spare(kSize));
  }).join();
  void *const own = take_spare(kSize);
  give_back_spare(own, kSize);  // one of its own: one is kept
  for (void *block : taken) give_back_spare(block, kSize);
  void *const first = take_spare(kSize), *const second = take_spare(kSize);
  EXPECT(!kKeepsSpareMemory || (first == own && second != own));
  give_back_spare(second, kSize);
  give_back_spare(first, kSize);
}

UNIT_TEST(what_is_larger_than_anything_usual_is_memory_all_the_same) {
  SpareText text(100'000, 'x');
  text += SpareText(200'000, 'y');
  EXPECT(text.size() == 300'000 && text[99'999] == 'x' && text[100'000] == 'y');
}

UNIT_TEST(memory_may_end_on_another_thread_and_as_much_of_it_as_there_is) {
  // More than a thread keeps.
  constexpr size_t kBlocks = 600, kSize = 8'000;
  SpareVector<void *> blocks;
  for (size_t i = 0; i < kBlocks; ++i) blocks.push_back(std::memset(take_spare(kSize), 'x', kSize));
  std::thread([&] {
    for (void *block : blocks) give_back_spare(block, kSize);
  }).join();
  for (void *&block : blocks) block = std::memset(take_spare(kSize), 'y', kSize);
  for (void *block : blocks) give_back_spare(block, kSize);
}

UNIT_TEST(who_looks_in_vain_eight_times_looks_once_in_32_times_and_again_when_it_pays) {
  SpinHabit habit;
  for (uint32_t vain = 0; vain < SpinHabit::kVainMax; ++vain) {
    EXPECT(habit.pays());
    habit.ended(false);
  }
  for (int turn = 0; turn < 3; ++turn) {
    for (uint32_t nth = 1; nth < SpinHabit::kProbeEvery; ++nth) EXPECT(!habit.pays());
    EXPECT(habit.pays());
    habit.ended(false);
  }
  habit.ended(true);
  for (uint32_t nth = 0; nth < 2 * SpinHabit::kProbeEvery; ++nth) EXPECT(habit.pays());
}

UNIT_TEST(a_look_in_vain_now_and_then_does_not_end_the_habit) {
  SpinHabit habit;
  for (uint32_t nth = 1; nth < 100; ++nth) {
    EXPECT(habit.pays());
    habit.ended(nth % SpinHabit::kVainMax == 0);
  }
}

namespace {

SpinLock *lets_go = nullptr;
int cancel_state = -1;

}  // namespace

// In place of the C library's, for the whole program, in which nobody sleeps.
extern "C" int sleep_without_time(const timespec *, timespec *) __asm__("nanosleep");
extern "C" int sleep_without_time(const timespec *, timespec *) {
  if (lets_go == nullptr) return 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
  std::exchange(lets_go, nullptr)->unlock();
  return 0;
}

// Which would leave what it does half done, and other locks taken.
UNIT_TEST(a_thread_that_sleeps_for_a_taken_lock_cannot_be_cancelled_there) {
  SpinLock lock;
  lock.lock();
  lets_go = &lock;
  lock.lock();
  EXPECT(lets_go == nullptr && cancel_state == PTHREAD_CANCEL_DISABLE);
  int now = -1;
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &now);
  EXPECT(now == PTHREAD_CANCEL_ENABLE);
}

UNIT_MAIN("base", cmocka_unit_test(what_ends_leaves_its_memory_to_the_next_of_its_size),
          cmocka_unit_test(what_another_thread_took_does_not_pile_up_where_it_ends),
          cmocka_unit_test(what_is_larger_than_anything_usual_is_memory_all_the_same),
          cmocka_unit_test(memory_may_end_on_another_thread_and_as_much_of_it_as_there_is),
          cmocka_unit_test(who_looks_in_vain_eight_times_looks_once_in_32_times_and_again_when_it_pays),
          cmocka_unit_test(a_look_in_vain_now_and_then_does_not_end_the_habit),
          cmocka_unit_test(what_is_wiped_is_gone_also_where_the_text_had_become_shorter),
          cmocka_unit_test(thousands_of_tasks_ring_once_and_run_in_their_order),
          cmocka_unit_test(keys_of_every_length_hash_apart_and_apart_by_seed),
          cmocka_unit_test(one_changed_byte_changes_the_hash),
          cmocka_unit_test(machines_without_wide_words_hash_to_the_same),
          cmocka_unit_test(shards_are_filled_evenly),
          cmocka_unit_test(byte_order_is_that_of_memcmp_and_shorter_first),
          cmocka_unit_test(the_longest_durations_do_not_overflow),
          cmocka_unit_test(every_status_has_a_number_name_and_text_of_its_own),
          cmocka_unit_test(a_list_keeps_order_through_inserts_and_removals),
          cmocka_unit_test(a_handle_keeps_its_place_through_all_generations_and_is_never_0),
          cmocka_unit_test(a_handle_that_is_handed_on_for_ever_begins_anew_and_can_still_be_retired),
          cmocka_unit_test(a_thread_that_sleeps_for_a_taken_lock_cannot_be_cancelled_there),
          cmocka_unit_test(an_empty_text_is_none_and_a_long_one_is_cut),
          cmocka_unit_test(a_text_stays_where_it_is_until_there_are_too_many_and_threads_share_it))
