// SPDX-License-Identifier: MIT
// What the driver can be asked to do. Each mode runs to its end, fills in what it found, and ends the program where a
// call of the library fails.
#pragma once

#include "figures.hpp"
#include "settings.hpp"

namespace liblock_bench {

void run_closed(const Settings &settings, Figures &figures);
void run_open(const Settings &settings, Figures &figures);
void run_threads(const Settings &settings, Figures &figures);
void run_acquires(const Settings &settings, Figures &figures);
void run_hand_over(const Settings &settings, Figures &figures);
void run_leases(const Settings &settings, Figures &figures);
void run_found(const Settings &settings, Figures &figures);

}  // namespace liblock_bench
