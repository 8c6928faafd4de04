// SPDX-License-Identifier: MIT
// The end of a process whose lock table is no longer to be trusted: one line on standard error, then abort.
#include "base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace liblock {

void assertion_failed(const char *expression, const char *file, int line) {
  std::fprintf(stderr, "liblock: broken invariant: %s (%s:%d); aborting to protect what the locks guard\n",
               expression, file, line);
  std::abort();
}

void no_memory_left() {
  std::fputs(
      "liblock: no memory is left for a thread that keeps locks alive; aborting to protect what they guard\n",
      stderr);
  std::abort();
}

}  // namespace liblock
