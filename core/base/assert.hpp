// SPDX-License-Identifier: MIT
// Assertions of our own invariants. They stay on in release builds: a lock library that goes on with a broken
// invariant hands one lock to two holders. A caller's mistake is never asserted; it gets a status.
#pragma once

#include <new>

namespace liblock {

[[noreturn]] void assertion_failed(const char *expression, const char *file, int line);

// What an own thread does cannot be left half done, and there is nobody to whom it could be refused: where it has no
// memory left the process ends, and what it holds on servers ends with its leases.
[[noreturn]] void no_memory_left();

template <typename Act>
void or_end_without_memory(Act act) {
  try {
    act();
  } catch (const std::bad_alloc &) {
    no_memory_left();
  }
}

}  // namespace liblock

#define LIBLOCK_ASSERT(expression)                                                                   \
  (__builtin_expect(!(expression), 0) ? ::liblock::assertion_failed(#expression, __FILE__, __LINE__) \
                                      : (void)0)
