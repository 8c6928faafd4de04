// SPDX-License-Identifier: MIT
// The functions with which a script talks to its server.
#pragma once

struct lua_State;

namespace liblock_test::lua_shim {

class Machine;

// Leaves the table `redis` on the stack.
void push_redis_module(lua_State *lua, Machine &machine);
// Replaces random and randomseed of the table on top: a server's numbers are the same on every machine.
void add_random(lua_State *lua, Machine &machine);

}  // namespace liblock_test::lua_shim
