// SPDX-License-Identifier: MIT
// What nearly every unit test in a simulated world includes, for builds with precompiled headers (-Db_pch=true). A test
// includes what it uses all the same: builds without them are made at night.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "process.hpp"
#include "quorum/instance.hpp"
#include "redis/instance.hpp"
