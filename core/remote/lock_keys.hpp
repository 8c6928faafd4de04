// SPDX-License-Identifier: MIT
// Some lock keys in one piece of memory, which a copy copies at once. Those of an ordinary request, one key that is not
// very long, lie in the object itself: a request is built by its caller's thread and ends on the loop's, so that memory
// of either would never come back to where it is taken from.
// Layout: where each key ends, counted from the first one's beginning; then the keys, one behind the other. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/hash.hpp"

namespace liblock {

class LockKeys {
 public:
  LockKeys() = default;
  LockKeys(std::initializer_list<Bytes> keys);
  LockKeys(const LockKeys &other) { *this = other; }
  LockKeys(LockKeys &&other) noexcept;
  LockKeys &operator=(const LockKeys &other);
  LockKeys &operator=(LockKeys &&other) noexcept;
  ~LockKeys();

  // Room for so many, with so many bytes in all: what is added up to there is added without memory. Throws
  // std::bad_alloc, as what follows.
  void reserve(size_t count, size_t bytes);
  void add(Bytes key) { add({}, key); }
  // A key in two parts.
  void add(Bytes head, Bytes tail);

  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  // Valid until something is added, or the object goes.
  Bytes operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : end_of(i - 1);
    return {texts() + begin, end_of(i) - begin};
  }
  Bytes front() const { return (*this)[0]; }
  // Its index; size(): it is not among them.
  size_t find(Bytes key) const;
  bool contains(Bytes key) const { return find(key) != size(); }
  bool operator==(const LockKeys &other) const;

  class Iterator {
   public:
    Iterator(const LockKeys &keys, size_t at) : keys_(keys), at_(at) {}
    Bytes operator*() const { return keys_[at_]; }
    Iterator &operator++() {
      ++at_;
      return *this;
    }
    bool operator!=(const Iterator &other) const { return at_ != other.at_; }

   private:
    const LockKeys &keys_;
    size_t at_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, count_}; }

  std::vector<std::string> strings() const;

 private:
  static constexpr size_t kInside = 104;  // bytes

  bool is_inside() const { return outside_ == nullptr; }
  char *memory() { return is_inside() ? inside_ : outside_; }
  const char *memory() const { return is_inside() ? inside_ : outside_; }
  const char *texts() const { return memory() + count_max_ * sizeof(uint32_t); }
  uint32_t end_of(size_t i) const;
  size_t used() const { return count_ == 0 ? 0 : end_of(count_ - 1); }
  void let_go();

  uint32_t count_ = 0;
  uint32_t count_max_ = 1;
  uint32_t size_ = kInside;  // of the memory
  char *outside_ = nullptr;
  alignas(uint32_t) char inside_[kInside];
};

}  // namespace liblock
