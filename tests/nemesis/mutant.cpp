// SPDX-License-Identifier: MIT
// Before main: the client has the fault on purpose that LIBLOCK_MUTANT names (tests/sim/mutation.cpp), or ends.
#include <cstdio>
#include <cstdlib>

#include "sim/mutation.hpp"

namespace {

bool switch_on_by_name() {
  const char *name = std::getenv("LIBLOCK_MUTANT");
  for (const unit::Mutant &mutant : unit::all_mutants()) {
    if (name != nullptr && mutant.name == name) {
      unit::switch_on(&mutant);
      return true;
    }
  }
  std::fprintf(stderr, "LIBLOCK_MUTANT names no mutant\n");
  std::exit(2);
}

// Behind the table of mutants, which is of another file that the linker is given first.
[[maybe_unused]] const bool is_on = switch_on_by_name();

}  // namespace
