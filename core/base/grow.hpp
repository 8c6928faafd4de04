// SPDX-License-Identifier: MIT
// Room in a vector before it is needed, so that a later push_back cannot fail. Grows by doubling, where
// reserve() alone would copy everything for each single element more.
#pragma once

#include <algorithm>
#include <vector>

namespace liblock {

// Throws std::bad_alloc.
template <typename T>
void make_room(std::vector<T> &vector, size_t size) {
  if (vector.capacity() < size) vector.reserve(std::max({size, vector.capacity() * 2, size_t{16}}));
}

}  // namespace liblock
