// SPDX-License-Identifier: MIT
// Makes a quorum of servers that have never been one: all of them answer, none has ever voted. Where they
// have marks of a quorum that was made before, who held a lock of it may hold it still, however empty they are. Loop
// thread.
#pragma once

#include <string>

#include "remote/ending.hpp"

namespace liblock::quorum {

class Instance;

// Empty: as far as is known nobody can hold a lock of these servers, since none of them has ever voted and there was no
// quorum of them before. Else why they are none that are new.
std::string why_not_new(const Instance &instance);

// by_force: also where they have voted; whoever asks for that knows that nobody holds a lock.
void found(Instance &instance, bool by_force, AskDone done);

}  // namespace liblock::quorum
