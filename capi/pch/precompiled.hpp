// SPDX-License-Identifier: MIT
// What every file of the C API includes, for builds with precompiled headers (-Db_pch=true).
#include "../boundary.hpp"
