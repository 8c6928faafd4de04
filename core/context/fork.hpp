// SPDX-License-Identifier: MIT
// What fork() leaves in the child: contexts that answer FORKED, no descriptor of ours, and a clean start for
// whoever opens a context there. Noticed by pthread_atfork, so that no call has to ask for its process.
#pragma once

#include <mutex>

namespace liblock {

class Context;

// Installs the handlers, once per process.
void watch_forks();
void register_context(Context *context);
void unregister_context(Context *context);
// As long as it lives no fork() goes on: for what the child finds in a context, which must be whole there. Nothing of
// the library is locked behind it.
std::unique_lock<std::mutex> hold_forks();

}  // namespace liblock
