// SPDX-License-Identifier: MIT
// What a script can see, and nothing else.
#pragma once

struct lua_State;

namespace liblock_test::lua_shim {

class Machine;

// Fills a new Lua. Returns the registry's reference to the table behind the globals, where KEYS and ARGV go.
int install_sandbox(lua_State *lua, Machine &machine);

}  // namespace liblock_test::lua_shim
