// SPDX-License-Identifier: MIT
// What nearly every file of the shim includes, for builds with precompiled headers (-Db_pch=true).
#include <algorithm>
#include <array>
#include <cstdlib>

#include "../internals.hpp"
