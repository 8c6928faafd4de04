// SPDX-License-Identifier: MIT
// Faults on purpose: a test build of the core has one of them switched on by name, and the tests must notice. In every
// other build LIBLOCK_MUTANT is the constant false and LIBLOCK_MUTATED the script itself: nothing of it is compiled.
#pragma once

#ifdef LIBLOCK_MUTANTS

namespace liblock {
struct Script;
namespace mutant {
bool is_on(const char *name);  // of the test program
const Script &mutated(const Script &script);
}  // namespace mutant
}  // namespace liblock

#define LIBLOCK_MUTANT(name) (::liblock::mutant::is_on(#name))
#define LIBLOCK_MUTATED(script) (::liblock::mutant::mutated(script))

#else

#define LIBLOCK_MUTANT(name) false
#define LIBLOCK_MUTATED(script) (script)

#endif
