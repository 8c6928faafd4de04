// SPDX-License-Identifier: MIT
// Memory of what lives as long as one request, for the next one. A request on servers is made of a dozen small objects
// of whoever runs the loop: that thread keeps the blocks of those that have ended, within a bound, for those to come,
// so that a request which looks like earlier ones takes nothing from the allocator.
// Invariants: a block is as large as the next multiple of 32 bytes, and may be given back by another thread than took
// it. A thread keeps no more of a size than it took and was not given back by itself, so that what others took does not
// pile up where it ends; and 512 KiB of a size at most, until the thread ends. Any thread, without a lock: a fork in
// the middle of it leaves nothing behind that a child would wait for. Where AddressSanitizer watches nothing is kept,
// so that it sees what is used after its end.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace liblock {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kKeepsSpareMemory = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kKeepsSpareMemory = false;
#else
inline constexpr bool kKeepsSpareMemory = true;
#endif
#else
inline constexpr bool kKeepsSpareMemory = true;
#endif

// Throws std::bad_alloc.
void *take_spare(size_t size);
// What take_spare() gave for that size.
void give_back_spare(void *memory, size_t size) noexcept;

// For objects that are made one by one: their `new` and `delete`.
class OfSpareMemory {
 public:
  static void *operator new(size_t size) { return take_spare(size); }
  static void *operator new(size_t size, std::align_val_t) = delete;
  static void operator delete(void *memory, size_t size) noexcept { give_back_spare(memory, size); }
};

template <typename T>
struct SpareAllocator {
  using value_type = T;

  SpareAllocator() = default;
  template <typename Other>
  SpareAllocator(const SpareAllocator<Other> &) {
  }  // NOLINT(google-explicit-constructor): what allocators are

  T *allocate(size_t count) {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    return static_cast<T *>(take_spare(count * sizeof(T)));
  }
  void deallocate(T *memory, size_t count) noexcept { give_back_spare(memory, count * sizeof(T)); }
  friend bool operator==(const SpareAllocator &, const SpareAllocator &) { return true; }
};

template <typename T>
using SpareVector = std::vector<T, SpareAllocator<T>>;
using SpareText = std::basic_string<char, std::char_traits<char>, SpareAllocator<char>>;

template <typename T, typename... Arguments>
std::shared_ptr<T> make_shared_of_spare(Arguments &&...arguments) {
  return std::allocate_shared<T>(SpareAllocator<T>(), std::forward<Arguments>(arguments)...);
}

}  // namespace liblock
