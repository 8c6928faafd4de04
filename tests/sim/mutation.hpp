// SPDX-License-Identifier: MIT
// Which fault on purpose the test build of the core has: one by name, in its code (core/base/mutant.hpp) or in the text
// of a script, where a line is replaced. A line that is not there any more aborts.
#pragma once

#include <string>
#include <vector>

namespace unit {

struct Mutant {
  std::string name;
  std::string what;
  // Why nothing can find it; empty: it must be found.
  std::string why_equivalent;
  // In scripts: which one ("*": all that have it), what is replaced, and by what.
  struct Change {
    const char *script, *from, *to;
  };
  std::vector<Change> changes;
};

const std::vector<Mutant> &all_mutants();
// From now on, in this process and those that it forks. nullptr: none. Scripts must not have been sent before.
void switch_on(const Mutant *mutant);

}  // namespace unit
