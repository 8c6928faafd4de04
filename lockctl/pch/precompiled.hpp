// SPDX-License-Identifier: MIT
// What nearly every file of lockctl includes, for builds with precompiled headers (-Db_pch=true).
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "../commands.hpp"
#include "../context.hpp"
#include "../exit_code.hpp"
#include "../text.hpp"
