// SPDX-License-Identifier: MIT
// The one rule by which public structs grow. A caller built against an older header passes a smaller struct,
// whose missing fields take their defaults; one built against a newer header passes a larger one, which must
// end in zeros: what we do not know must not be asked for.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/status.hpp"

namespace liblock {

inline bool is_zero(const char *from, size_t size) {
  return size == 0 || (*from == 0 && std::memcmp(from, from + 1, size - 1) == 0);
}

// known must hold the defaults; receives what the caller's struct has of it.
template <typename Struct>
Status read_struct(const Struct *given, Struct &known) {
  if (given->struct_size < sizeof(size_t)) return Status::INVALID_ARGUMENT;
  const auto *bytes = reinterpret_cast<const char *>(given);
  // Whole members only: a size in the middle of a pointer is no struct that a header ever had.
  const size_t size = std::min(given->struct_size, sizeof(Struct)) / alignof(Struct) * alignof(Struct);
  if (given->struct_size > sizeof(Struct)) {
    if (given->struct_size > 65'536) return Status::INVALID_ARGUMENT;  // not a size: an uninitialised field
    if (!is_zero(bytes + sizeof(Struct), given->struct_size - sizeof(Struct))) return Status::UNSUPPORTED;
  }
  std::memcpy(static_cast<void *>(&known), bytes, size);
  known.struct_size = sizeof(Struct);
  return Status::OK;
}

// An init function: defaults into as much of a struct as the caller's header knows of it, zeros behind.
template <typename Struct>
void init_struct(Struct *given, size_t struct_size, const Struct &defaults) {
  if (given == nullptr || struct_size < sizeof(size_t)) return;
  std::memcpy(static_cast<void *>(given), &defaults, std::min(struct_size, sizeof(Struct)));
  if (struct_size > sizeof(Struct)) {
    std::memset(reinterpret_cast<char *>(given) + sizeof(Struct), 0, struct_size - sizeof(Struct));
  }
  given->struct_size = struct_size;
}

}  // namespace liblock
