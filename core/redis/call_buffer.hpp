// SPDX-License-Identifier: MIT
// The bytes of one script call while it is under way. As many calls are under way at once as there are requests, and
// memory of this size from the allocator costs more, for each of them, than to write into it: it is spare memory. A
// buffer may end on another thread than it began.
#pragma once

#include <cstddef>
#include <string_view>

namespace liblock {

class CallBuffer {
 public:
  CallBuffer() = default;
  ~CallBuffer();
  CallBuffer(const CallBuffer &) = delete;
  CallBuffer &operator=(const CallBuffer &) = delete;

  // Forgets what was written, and keeps the memory.
  void clear() { used_ = 0; }
  // Where so many bytes can be written, which wrote() then counts. Throws std::bad_alloc.
  char *room(size_t size) {
    if (size_ - used_ < size) grow(size);
    return data_ + used_;
  }
  void wrote(size_t size) { used_ += size; }
  std::string_view written() const { return {data_, used_}; }

 private:
  void grow(size_t size);

  char *data_ = nullptr;
  size_t size_ = 0;
  size_t used_ = 0;
};

}  // namespace liblock
