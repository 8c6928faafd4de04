// SPDX-License-Identifier: MIT
// See call_buffer.hpp.
#include "redis/call_buffer.hpp"

#include <algorithm>
#include <cstring>

#include "base/spare_memory.hpp"

namespace liblock {

namespace {

constexpr size_t kUsual = 1024;  // holds what an acquire of one key sends

}  // namespace

CallBuffer::~CallBuffer() { give_back_spare(data_, size_); }

void CallBuffer::grow(size_t size) {
  const size_t needed = used_ + size;
  const size_t larger = needed <= kUsual ? kUsual : std::max(2 * size_, needed);
  char *const data = static_cast<char *>(take_spare(larger));
  if (used_ > 0) std::memcpy(data, data_, used_);
  give_back_spare(data_, size_);
  data_ = data;
  size_ = larger;
}

}  // namespace liblock
