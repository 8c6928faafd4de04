// SPDX-License-Identifier: MIT
// Redis's Lua has tables that cannot be written; stock Lua has not. So a script sees empty tables that stand for
// the true ones: reading goes through, writing is an error, also by rawset and setmetatable. (Walking one with
// pairs finds nothing, and table.insert into one is not noticed; no sensible script does either.)
//
// Of the libraries, cjson, cmsgpack, struct, bit and os are left out: a script that uses one fails loudly.
#include "sandbox.hpp"

#include "lua_api.hpp"
#include "machine.hpp"
#include "redis_api.hpp"

namespace liblock_test::lua_shim {

namespace {

constexpr const char *kModified = "Attempt to modify a readonly table";

constexpr const char *kBase[] = {
    "_VERSION", "assert",   "collectgarbage", "error",    "gcinfo", "getmetatable",
    "ipairs",   "next",     "pairs",          "rawequal", "rawget", "select",
    "tonumber", "tostring", "type",           "unpack",   "xpcall",
};
constexpr const char *kModules[] = {"coroutine", "math", "string", "table"};

Machine &machine_of(lua_State *lua) {
  return *static_cast<Machine *>(lua_touserdata(lua, lua_upvalueindex(1)));
}

int refuse_write(lua_State *lua) { return luaL_error(lua, "%s", kModified); }

int refuse_unknown(lua_State *lua) {
  return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'", lua_tostring(lua, 2));
}

// The original function is the second upvalue; it asks for none itself.
int call_original(lua_State *lua) { return lua_tocfunction(lua, lua_upvalueindex(2))(lua); }

// rawset and setmetatable.
int write_unless_protected(lua_State *lua) {
  if (lua_istable(lua, 1) && machine_of(lua).is_protected(lua, 1)) {
    lua_pushstring(lua, kModified);
    return lua_error(lua);
  }
  return call_original(lua);
}

// Puts a blank before the mark of a compiled chunk, so that it is read as text.
void blank_mark(lua_State *lua, int index) {
  size_t size = 0;
  const char *text = lua_tolstring(lua, index, &size);
  if (size == 0 || text[0] != '\x1b') return;
  lua_pushliteral(lua, " ");
  lua_pushvalue(lua, index);
  lua_concat(lua, 2);
  lua_replace(lua, index);
}

int load_string(lua_State *lua) {
  if (lua_type(lua, 1) == LUA_TSTRING) {
    lua_settop(lua, 2);
    if (lua_isnil(lua, 2)) {  // a chunk is named by its text
      lua_pushvalue(lua, 1);
      lua_replace(lua, 2);
    }
    blank_mark(lua, 1);
  }
  return call_original(lua);
}

// Upvalues: a script's own reader, and whether a piece has come already.
int read_text(lua_State *lua) {
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_call(lua, 0, 1);
  if (lua_type(lua, -1) == LUA_TSTRING && lua_objlen(lua, -1) > 0 &&
      lua_toboolean(lua, lua_upvalueindex(2)) == 0) {
    lua_pushboolean(lua, 1);
    lua_replace(lua, lua_upvalueindex(2));
    blank_mark(lua, lua_gettop(lua));
  }
  return 1;
}

int load_pieces(lua_State *lua) {
  if (lua_isfunction(lua, 1)) {
    lua_pushvalue(lua, 1);
    lua_pushboolean(lua, 0);
    lua_pushcclosure(lua, read_text, 2);
    lua_replace(lua, 1);
  }
  return call_original(lua);
}

// As Lua's, but an error with a text of its own comes as that text.
int protected_call(lua_State *lua) {
  luaL_checkany(lua, 1);
  lua_pushboolean(lua, 1);
  lua_insert(lua, 1);
  if (lua_pcall(lua, lua_gettop(lua) - 2, LUA_MULTRET, 0) == 0) return lua_gettop(lua);
  lua_settop(lua, 2);
  if (lua_istable(lua, 2)) {
    lua_getfield(lua, 2, "err");
    if (lua_isstring(lua, -1) != 0) lua_replace(lua, 2);
    lua_settop(lua, 2);
  }
  lua_pushboolean(lua, 0);
  lua_replace(lua, 1);
  return 2;
}

// Replaces the table on top by an empty one that reads from it and refuses writes.
void protect_top(lua_State *lua, Machine &machine) {
  lua_newtable(lua);  // the true table, the proxy
  machine.protect(lua, lua_gettop(lua));
  lua_newtable(lua);
  lua_pushvalue(lua, -3);
  lua_setfield(lua, -2, "__index");
  lua_pushcfunction(lua, refuse_write);
  lua_setfield(lua, -2, "__newindex");
  lua_newtable(lua);  // what getmetatable shows
  machine.protect(lua, lua_gettop(lua));
  lua_newtable(lua);
  lua_pushcfunction(lua, refuse_write);
  lua_setfield(lua, -2, "__newindex");
  lua_setmetatable(lua, -2);
  lua_setfield(lua, -2, "__metatable");
  lua_setmetatable(lua, -2);
  lua_remove(lua, -2);
}

// Sets `name` of the table on top to our function, which may call the original one.
void wrap(lua_State *lua, Machine &machine, const char *name, lua_CFunction function) {
  lua_pushlightuserdata(lua, &machine);
  lua_getglobal(lua, name);
  lua_pushcclosure(lua, function, 2);
  lua_setfield(lua, -2, name);
}

void open_libraries(lua_State *lua) {
  constexpr luaL_Reg kOpened[] = {
      {"", luaopen_base}, {"table", luaopen_table}, {"string", luaopen_string}, {"math", luaopen_math}};
  for (const luaL_Reg &library : kOpened) {
    lua_pushcfunction(lua, library.func);
    lua_pushstring(lua, library.name);
    lua_call(lua, 1, 0);
  }
}

}  // namespace

int install_sandbox(lua_State *lua, Machine &machine) {
  open_libraries(lua);
  lua_newtable(lua);  // what stands behind the globals
  for (const char *name : kBase) {
    lua_getglobal(lua, name);
    lua_setfield(lua, -2, name);
  }
  wrap(lua, machine, "rawset", write_unless_protected);
  wrap(lua, machine, "setmetatable", write_unless_protected);
  wrap(lua, machine, "loadstring", load_string);
  wrap(lua, machine, "load", load_pieces);
  lua_pushcfunction(lua, protected_call);
  lua_setfield(lua, -2, "pcall");

  lua_getglobal(lua, "math");
  add_random(lua, machine);
  lua_pop(lua, 1);
  for (const char *name : kModules) {
    lua_getglobal(lua, name);
    protect_top(lua, machine);
    lua_setfield(lua, -2, name);
  }
  push_redis_module(lua, machine);
  protect_top(lua, machine);
  lua_setfield(lua, -2, "redis");

  lua_newtable(lua);
  lua_pushcfunction(lua, refuse_unknown);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);

  lua_pushvalue(lua, -1);
  const int globals = luaL_ref(lua, LUA_REGISTRYINDEX);
  lua_pushvalue(lua, -1);
  protect_top(lua, machine);
  lua_pushvalue(lua, -1);
  lua_setfield(lua, -3, "_G");
  lua_replace(lua, LUA_GLOBALSINDEX);
  lua_pop(lua, 1);
  return globals;
}

}  // namespace liblock_test::lua_shim
