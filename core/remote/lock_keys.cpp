// SPDX-License-Identifier: MIT
// See lock_keys.hpp.
#include "remote/lock_keys.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/spare_memory.hpp"

namespace liblock {

namespace {

constexpr size_t kEnd = sizeof(uint32_t);

}  // namespace

LockKeys::LockKeys(std::initializer_list<Bytes> keys) {
  for (const Bytes key : keys) add(key);
}

LockKeys::LockKeys(LockKeys &&other) noexcept { *this = std::move(other); }

LockKeys &LockKeys::operator=(const LockKeys &other) {
  if (this == &other) return *this;
  char *const outside = other.is_inside() ? nullptr : static_cast<char *>(take_spare(other.size_));
  let_go();
  outside_ = outside;
  size_ = other.size_;
  count_ = other.count_;
  count_max_ = other.count_max_;
  std::memcpy(memory(), other.memory(), count_max_ * kEnd + other.used());
  return *this;
}

LockKeys &LockKeys::operator=(LockKeys &&other) noexcept {
  if (this == &other) return *this;
  if (other.is_inside()) return *this = std::as_const(other);
  let_go();
  outside_ = std::exchange(other.outside_, nullptr);
  size_ = std::exchange(other.size_, kInside);
  count_ = std::exchange(other.count_, 0);
  count_max_ = std::exchange(other.count_max_, 1);
  return *this;
}

LockKeys::~LockKeys() { let_go(); }

void LockKeys::let_go() {
  if (!is_inside()) give_back_spare(outside_, size_);
}

uint32_t LockKeys::end_of(size_t i) const {
  uint32_t end;
  std::memcpy(&end, memory() + i * kEnd, kEnd);
  return end;
}

void LockKeys::reserve(size_t count, size_t bytes) {
  if (count <= count_max_ && count_max_ * kEnd + bytes <= size_) return;
  count = std::max<size_t>(count, count_max_);
  const size_t needed = count * kEnd + std::max(bytes, used());
  if (empty() && needed <= size_) {
    count_max_ = static_cast<uint32_t>(count);
    return;
  }
  LIBLOCK_ASSERT(needed <= UINT32_MAX);  // names are shorter than that, and few
  char *const larger = static_cast<char *>(take_spare(needed));
  std::memcpy(larger, memory(), count_ * kEnd);
  std::memcpy(larger + count * kEnd, texts(), used());
  let_go();
  outside_ = larger;
  size_ = static_cast<uint32_t>(needed);
  count_max_ = static_cast<uint32_t>(count);
}

void LockKeys::add(Bytes head, Bytes tail) {
  const size_t from = used(), to = from + head.size() + tail.size();
  const bool is_full = count_ == count_max_ || count_max_ * kEnd + to > size_;
  if (is_full && empty()) reserve(1, to);
  if (is_full && !empty()) reserve(std::max<size_t>(count_ + 1, 2 * count_), 2 * to);
  char *const texts = memory() + count_max_ * kEnd;
  std::copy(head.begin(), head.end(), texts + from);
  std::copy(tail.begin(), tail.end(), texts + from + head.size());
  const auto end = static_cast<uint32_t>(to);
  std::memcpy(memory() + count_ * kEnd, &end, kEnd);
  ++count_;
}

size_t LockKeys::find(Bytes key) const {
  size_t at = 0;
  while (at < count_ && (*this)[at] != key) ++at;
  return at;
}

bool LockKeys::operator==(const LockKeys &other) const {
  if (count_ != other.count_) return false;
  for (size_t i = 0; i < count_; ++i) {
    if ((*this)[i] != other[i]) return false;
  }
  return true;
}

std::vector<std::string> LockKeys::strings() const {
  std::vector<std::string> strings;
  strings.reserve(count_);
  for (const Bytes key : *this) strings.emplace_back(key);
  return strings;
}

}  // namespace liblock
