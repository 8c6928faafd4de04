// SPDX-License-Identifier: MIT
// A text that may be too long for where it goes: what does not fit is left out behind a whole word, and seen to be.
// Pure.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

namespace liblock {

// Writes it and a NUL; returns how many bytes it is there. size: of the room, 8 at least.
inline size_t write_cut(std::string_view text, char *room, size_t size) {
  constexpr std::string_view kMore = " …";
  const bool fits = text.size() < size;
  const size_t most = size - 1 - kMore.size();
  size_t kept = fits ? text.size() : text.substr(0, most + 1).find_last_of(' ');
  if (kept == std::string_view::npos) {
    kept = most;
    while (kept > 0 && (static_cast<unsigned char>(text[kept]) & 0xc0) == 0x80) --kept;  // not within a character
  }
  std::memcpy(room, text.data(), kept);
  if (!fits) std::memcpy(room + kept, kMore.data(), kMore.size());
  const size_t written = fits ? kept : kept + kMore.size();
  room[written] = '\0';
  return written;
}

}  // namespace liblock
