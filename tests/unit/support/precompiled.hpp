// SPDX-License-Identifier: MIT
// What nearly every unit test without a simulated world includes, for builds with precompiled headers (-Db_pch=true).
// A test includes what it uses all the same: builds without them are made at night.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "manual.hpp"
#include "unit.hpp"
