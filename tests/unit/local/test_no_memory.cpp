// SPDX-License-Identifier: MIT
// Allocations that fail at the one moment at which something is half done: each thread says for itself which of its own
// fail. Where each of all allocations fails in turn is tests/torture.
#include <cstdlib>
#include <map>
#include <new>

#include "../support/stage.hpp"

using namespace liblock;
using namespace unit;

namespace {

enum class Fails : uint8_t { None, Aligned, All };
thread_local Fails fails = Fails::None;

// Until it goes out of scope.
struct Lack {
  explicit Lack(Fails which) { fails = which; }
  ~Lack() { fails = Fails::None; }
  Lack(const Lack &) = delete;
  Lack &operator=(const Lack &) = delete;
};

void *or_throw(void *memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void *operator new(size_t size) { return or_throw(fails == Fails::All ? nullptr : std::malloc(size)); }
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void *operator new(size_t size, std::align_val_t alignment) {
  const auto to = static_cast<size_t>(alignment);
  return or_throw(fails != Fails::None ? nullptr : std::aligned_alloc(to, (size + to - 1) / to * to));
}
void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void *memory, size_t, std::align_val_t) noexcept { std::free(memory); }

UNIT_TEST(a_shard_that_finds_no_memory_for_more_entries_keeps_those_that_it_has) {
  Random random(7);
  Shard shard;
  shard.init(0, &random);
  LocalOwner owner(nullptr, "i", 1, "o", true);
  std::map<std::string, uint32_t> held;
  const auto take = [&](uint32_t number) {
    const std::string key = "k" + std::to_string(number);
    const uint32_t index = shard.insert(number, key);
    shard.entry(index).owner = &owner;
    ++shard.held;
    held[key] = index;
  };
  for (uint32_t number = 0; number < 40 * kEntriesPerChunk; ++number) {
    // The next chunk, and now and then a larger list of them; the first one is there from the beginning.
    if (number != 0 && number % kEntriesPerChunk == 0) {
      bool is_refused = false;
      const Lack lack(Fails::Aligned);
      try {
        shard.insert(number, "more");
      } catch (const std::bad_alloc &) {
        is_refused = true;
      }
      EXPECT(is_refused);
      shard.check_invariants();
    }
    take(number);
  }
  for (const auto &[key, index] : held) EXPECT(shard.entry(index).key() == key);
  for (const auto &[key, index] : held) {
    shard.entry(index).owner = nullptr;
    shard.erase(index);
  }
}

UNIT_TEST(whoever_takes_a_lock_away_needs_no_memory_to_tell_its_holder) {
  Stage s;
  int losses = 0;
  AcquireParams params;
  params.runtime = s.world.runtime;
  params.on_lost = [](const liblock_completion *end, void *user_data) {
    *static_cast<int *>(user_data) += end->kind == LIBLOCK_KIND_LOST && end->status == LIBLOCK_LOST;
  };
  params.on_lost_user_data = &losses;
  for (int round = 1; round < 40; ++round) {  // more than a thread keeps records for
    s.take({"k"}, params);
    Tally tally;
    {
      const Lack lack(Fails::All);
      EXPECT(s.table().force_release("k", false, tally) == Status::OK);
    }
    EXPECT(losses == round && tally.locks == 1);
  }
}

UNIT_TEST(the_global_lock_is_lost_without_memory_and_its_holder_told) {
  Stage s;
  int losses = 0;
  AcquireParams params = for_ms(100);
  params.runtime = s.world.runtime;
  params.on_lost = [](const liblock_completion *, void *user_data) { ++*static_cast<int *>(user_data); };
  params.on_lost_user_data = &losses;
  const Handle h = s.take({}, params);
  s.world.advance_ms(200);
  {
    const Lack lack(Fails::All);
    EXPECT(s.table().sweep() == 1);
  }
  EXPECT(losses == 1 && s.release(h) == Status::NOT_HELD);  // that it was lost found no memory to be remembered
}

// The first has used up the heap's room, which each growth doubles.
UNIT_TEST(a_request_for_whose_timer_there_is_no_memory_ends_in_time) {
  Stage s;
  const Handle h = s.take({"k"});
  AcquireParams params;
  params.wait = 100 * kMillisecond;
  std::vector<Request *> waiting;
  for (int n = 0; n < 20; ++n) {
    if (n == 0) {
      s.ask({"k"}, params);
      continue;
    }
    auto *request = new Request(s.world.table, s.world.runtime);
    request->pin();
    request->params = params;
    const Bytes key = "k";
    s.requests.push_back(request);
    waiting.push_back(request);
    const Lack lack(Fails::All);
    s.table().submit(*request, *s.nobody, {&key, 1}, request->params);
  }
  for (const Request *request : waiting) EXPECT(!request->done);
  s.world.runtime->timers.check_invariants();
  s.world.advance_ms(99);
  for (const Request *request : waiting) EXPECT(!request->done);
  s.world.advance_ms(2);
  for (const Request *request : waiting) EXPECT(request->done && request->grant.status == Status::TIMEOUT);
  EXPECT(s.world.runtime->timers.size() == 0 && s.release(h) == Status::OK);
}

namespace {

struct Recorded final : Timer {
  void fire(Nanos) override {}

 private:
  Aside *aside() override { return &aside_; }
  Aside aside_;
};

}  // namespace

UNIT_TEST(timers_that_the_heap_has_no_room_for_fire_in_time_and_can_be_cancelled) {
  TimerHeap heap;
  Recorded timers[6];
  heap.arm(timers[0], 50);
  {
    const Lack lack(Fails::All);
    for (int n = 1; n < 6; ++n) EXPECT(heap.arm(timers[n], 10 * n));
    EXPECT(!heap.arm(timers[5], 5));   // earlier,
    EXPECT(!heap.arm(timers[1], 90));  // and not later
  }
  heap.check_invariants();
  EXPECT(heap.size() == 6 && heap.earliest() == 5 && heap.pop_due(4) == nullptr);
  EXPECT(heap.pop_due(5) == &timers[5] && !heap.cancel(timers[5]));
  EXPECT(heap.cancel(timers[2]) && !heap.cancel(timers[2]));
  EXPECT(heap.earliest() == 10 && heap.pop_due(10) == &timers[1] && heap.pop_due(10) == nullptr);
  EXPECT(heap.arm(timers[1], 20) && heap.earliest() == 20 && heap.pop_due(20) == &timers[1]);
  EXPECT(heap.pop_due(30) == &timers[3] && heap.cancel(timers[4]));
  EXPECT(heap.earliest() == 50 && heap.cancel(timers[0]) && heap.earliest() == kNever && heap.size() == 0);
}

UNIT_MAIN("local without memory",
          cmocka_unit_test(a_shard_that_finds_no_memory_for_more_entries_keeps_those_that_it_has),
          cmocka_unit_test(whoever_takes_a_lock_away_needs_no_memory_to_tell_its_holder),
          cmocka_unit_test(the_global_lock_is_lost_without_memory_and_its_holder_told),
          cmocka_unit_test(a_request_for_whose_timer_there_is_no_memory_ends_in_time),
          cmocka_unit_test(timers_that_the_heap_has_no_room_for_fire_in_time_and_can_be_cancelled))
