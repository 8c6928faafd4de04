// SPDX-License-Identifier: MIT
// Lua's own headers, which do not say that they are C.
#pragma once

extern "C" {
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
}
