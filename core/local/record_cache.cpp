// SPDX-License-Identifier: MIT
// See record_cache.hpp.
#include "local/record_cache.hpp"

#include <type_traits>
#include <utility>

namespace liblock {

namespace {

constexpr uint32_t kKeptPerThread = 16;

// Nothing destroys it: locks of an exiting thread may be released after it was emptied. What a destructor wrote into
// its own object for those would be lost, since compilers know that nobody may read it.
struct RecordCache {
  Record *first = nullptr;
  uint32_t count = 0;
  bool gone = false;
};
static_assert(std::is_trivially_destructible_v<RecordCache>);

// initial-exec: no call to find it; the few bytes fit the loader's reserve for objects that are loaded late.
[[gnu::tls_model("initial-exec")]] constinit thread_local RecordCache cache;

struct Emptier {
  bool is_armed = false;
  ~Emptier() {
    RecordCache &mine = cache;
    while (mine.first != nullptr) delete std::exchange(mine.first, mine.first->next_free);
    mine.gone = true;
  }
};
thread_local Emptier emptier;  // from its first use in a thread on, it runs at the thread's end

void clear(Record &record) {
  record.handle = 0;
  record.token = 0;
  record.owner = nullptr;
  record.global = record.handle_gone = record.renew = false;
  record.all_held.store(false, std::memory_order_relaxed);
  record.let_go = false;
  record.lost.store(false, std::memory_order_relaxed);
  record.taken.store(0, std::memory_order_relaxed);
  record.queued = nullptr;
  record.key_count = record.lock_count = 0;
  record.key_bytes.clear();
  record.ttl = record.initial_ttl = record.hold_until = kNever;
  record.on_lost = nullptr;
  if (record.losses != nullptr) record.losses.reset();
  if (record.runtime != nullptr) record.runtime.reset();
  record.value.clear();
  record.metadata.clear();
  record.timer.store(nullptr, std::memory_order_relaxed);
}

}  // namespace

Record *take_blank_record() {
  RecordCache &mine = cache;
  if (mine.first == nullptr) return new Record;
  --mine.count;
  return std::exchange(mine.first, mine.first->next_free);
}

void give_back_record(Record *record) {
  RecordCache &mine = cache;
  if (mine.gone || mine.count == kKeptPerThread) {
    delete record;
    return;
  }
  if (mine.first == nullptr) emptier.is_armed = true;
  clear(*record);
  record->next_free = mine.first;
  mine.first = record;
  ++mine.count;
}

}  // namespace liblock
