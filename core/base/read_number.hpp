// SPDX-License-Identifier: MIT
// A decimal number that is all of a text: what stands behind it, or is too large for it, makes it none.
#pragma once

#include <charconv>
#include <string_view>

namespace liblock {

// False: `number` is as it was.
template <typename Number>
bool read_number(std::string_view text, Number &number) {
  const char *end = text.data() + text.size();
  Number read{};
  const auto [stop, error] = std::from_chars(text.data(), end, read);
  if (error != std::errc() || stop != end) return false;
  number = read;
  return true;
}

}  // namespace liblock
