// SPDX-License-Identifier: MIT
// See call_buffer.hpp. Spare buffers are linked through their first bytes. Buffers of any other size than the usual one
// are never spare.
#include "redis/call_buffer.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace liblock {

namespace {

constexpr size_t kUsual = 1024;  // holds what an acquire of one key sends
constexpr uint32_t kSpareMax = 256;

struct Spare {
  Spare *next;
};

// Nothing destroys it: calls of an exiting thread may end after it was emptied.
struct SpareBuffers {
  Spare *first = nullptr;
  uint32_t count = 0;
  bool gone = false;
};
static_assert(std::is_trivially_destructible_v<SpareBuffers>);

[[gnu::tls_model("initial-exec")]] constinit thread_local SpareBuffers spare_buffers;

struct Emptier {
  bool is_armed = false;
  ~Emptier() {
    SpareBuffers &mine = spare_buffers;
    while (mine.first != nullptr) ::operator delete(std::exchange(mine.first, mine.first->next));
    mine.gone = true;
  }
};
thread_local Emptier emptier;  // from its first use in a thread on, it runs at the thread's end

char *take_usual() {
  SpareBuffers &mine = spare_buffers;
  if (mine.first == nullptr) return static_cast<char *>(::operator new(kUsual));
  --mine.count;
  return reinterpret_cast<char *>(std::exchange(mine.first, mine.first->next));
}

void give_back(char *data, size_t size) {
  SpareBuffers &mine = spare_buffers;
  if (size != kUsual || mine.gone || mine.count == kSpareMax) return ::operator delete(data);
  if (mine.first == nullptr) emptier.is_armed = true;
  mine.first = new (data) Spare{mine.first};
  ++mine.count;
}

}  // namespace

CallBuffer::~CallBuffer() {
  if (data_ != nullptr) give_back(data_, size_);
}

void CallBuffer::grow(size_t size) {
  const size_t needed = used_ + size;
  const size_t larger = needed <= kUsual ? kUsual : std::max(2 * size_, needed);
  char *const data = larger == kUsual ? take_usual() : static_cast<char *>(::operator new(larger));
  if (used_ > 0) std::memcpy(data, data_, used_);
  if (data_ != nullptr) give_back(data_, size_);
  data_ = data;
  size_ = larger;
}

}  // namespace liblock
