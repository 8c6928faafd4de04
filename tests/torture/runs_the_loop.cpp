// SPDX-License-Identifier: MIT
// A thread that waits for a call may run the library's loop meanwhile: what it lacks then is not the call's.
#include "runtime/runtime.hpp"

extern "C" int torture_runs_the_loop();  // as in torture.h, whose words are C's
extern "C" int torture_runs_the_loop() { return liblock::NoBlockingScope::active() ? 1 : 0; }
