// SPDX-License-Identifier: MIT
// The commands, one file each. Every one returns its exit code, or throws a Failure.
#pragma once

#include "arguments.hpp"

namespace lockctl {

int run(const Arguments &arguments);          // run.cpp
int ls(const Arguments &arguments);           // ls.cpp
int info(const Arguments &arguments);         // info.cpp
int queue(const Arguments &arguments);        // info.cpp
int watch(const Arguments &arguments);        // watch.cpp
int release(const Arguments &arguments);      // release.cpp
int clear(const Arguments &arguments);        // clear.cpp
int dead(const Arguments &arguments);         // dead.cpp
int quorum_init(const Arguments &arguments);  // quorum.cpp
int quorum_status(const Arguments &arguments);
int quorum_wait(const Arguments &arguments);
int quorum_set_nodes(const Arguments &arguments);
int ping(const Arguments &arguments);        // ping.cpp
int top(const Arguments &arguments);         // top.cpp
int bench(const Arguments &arguments);       // bench.cpp
int completion(const Arguments &arguments);  // completion.cpp

}  // namespace lockctl
