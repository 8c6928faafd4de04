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

UNIT_MAIN("local without memory",
          cmocka_unit_test(a_shard_that_finds_no_memory_for_more_entries_keeps_those_that_it_has))
