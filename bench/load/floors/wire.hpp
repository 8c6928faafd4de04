// SPDX-License-Identifier: MIT
// A blocking socket to a server, by its url. Everything that goes wrong on it ends the program.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace liblock_bench {

class Wire {
 public:
  explicit Wire(
      const std::string &url);  // redis://host:port/db, unix:///path?db=n; the database is not chosen: 0
  ~Wire();
  Wire(const Wire &) = delete;
  Wire &operator=(const Wire &) = delete;

  void write(std::string_view bytes);
  // Reads until so many bytes have come, or until `size` is reached in one piece and there is more: that is an error.
  void read_exactly(size_t size);
  // What the last read_exactly has read.
  std::string_view last() const { return {read_.data(), size_}; }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
  std::string read_;
  size_t size_ = 0;
};

}  // namespace liblock_bench
