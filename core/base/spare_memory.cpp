// SPDX-License-Identifier: MIT
// See spare_memory.hpp. Spare blocks are linked through their first bytes, a chain for each size; larger ones than
// kLargest are never spare.
#include "base/spare_memory.hpp"

#include <array>
#include <cstdint>
#include <new>
#include <type_traits>

namespace liblock {

namespace {

constexpr size_t kStep = 32, kLargest = 8192;
constexpr size_t kKeptBytesMax = size_t{512} << 10;  // of one size, in one thread

struct Block {
  Block *next;
};

// Of one size.
struct Chain {
  Block *first = nullptr;
  uint32_t kept = 0;
  uint32_t out = 0;  // taken by this thread and not given back by it, as far as it is known
};
using Chains = std::array<Chain, kLargest / kStep + 1>;

// Nothing destroys it: what an exiting thread still holds may end after it was emptied.
struct Mine {
  Chains *chains = nullptr;  // nullptr: nothing was taken yet
  bool gone = false;
};
static_assert(std::is_trivially_destructible_v<Mine>);

// initial-exec: no call to find it; the few bytes fit the loader's reserve for objects that are loaded late.
[[gnu::tls_model("initial-exec")]] constinit thread_local Mine mine;

struct Emptier {
  bool is_armed = false;
  ~Emptier() {
    Chains *const chains = std::exchange(mine.chains, nullptr);
    mine.gone = true;
    if (chains == nullptr) return;
    for (Chain &chain : *chains) {
      while (chain.first != nullptr) ::operator delete(std::exchange(chain.first, chain.first->next));
    }
    delete chains;
  }
};
thread_local Emptier emptier;  // from its first use in a thread on, it runs at the thread's end

constexpr size_t steps_of(size_t size) { return size == 0 ? 1 : (size + kStep - 1) / kStep; }

// nullptr: this thread has taken nothing yet, or keeps nothing of that size.
Chain *chain_of(size_t size) {
  return mine.chains == nullptr || size > kLargest ? nullptr : &(*mine.chains)[steps_of(size)];
}

}  // namespace

void *take_spare(size_t size) {
  if (!kKeepsSpareMemory || size > kLargest) return ::operator new(size);
  if (mine.chains == nullptr && !mine.gone) {
    emptier.is_armed = true;
    mine.chains = new (std::nothrow) Chains;
  }
  Chain *const chain = chain_of(size);
  if (chain == nullptr || chain->first == nullptr) {
    void *const memory = ::operator new(steps_of(size) * kStep);  // another thread may keep it
    if (chain != nullptr) ++chain->out;
    return memory;
  }
  ++chain->out;
  --chain->kept;
  return std::exchange(chain->first, chain->first->next);
}

void give_back_spare(void *memory, size_t size) noexcept {
  if (memory == nullptr) return;
  Chain *const chain = chain_of(size);
  if (chain == nullptr || chain->out == 0) return ::operator delete(memory);
  --chain->out;
  if (chain->kept * steps_of(size) * kStep >= kKeptBytesMax) return ::operator delete(memory);
  ++chain->kept;
  chain->first = new (memory) Block{chain->first};
}

}  // namespace liblock
