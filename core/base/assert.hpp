// SPDX-License-Identifier: MIT
// Assertions of our own invariants. They stay on in release builds: a lock library that goes on with a broken
// invariant hands one lock to two holders. A caller's mistake is never asserted; it gets a status.
#pragma once

namespace liblock {

[[noreturn]] void assertion_failed(const char *expression, const char *file, int line);

}  // namespace liblock

#define LIBLOCK_ASSERT(expression)                                                                   \
  (__builtin_expect(!(expression), 0) ? ::liblock::assertion_failed(#expression, __FILE__, __LINE__) \
                                      : (void)0)
