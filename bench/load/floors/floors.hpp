// SPDX-License-Identifier: MIT
// The floors that can be asked for. None of them knows liblock: they are what is left of a lock when everything but the
// talk with the server is taken away.
#pragma once

#include "../figures.hpp"
#include "../settings.hpp"

namespace liblock_bench {

void run_replay(const Settings &settings, Figures &figures);
void run_replay_once(const Settings &settings, Figures &figures);
void run_sync(const Settings &settings, Figures &figures);
void run_asynchronous(const Settings &settings, Figures &figures);
void run_publish(const Settings &settings, Figures &figures);

}  // namespace liblock_bench
