// SPDX-License-Identifier: MIT
// redis.call and its neighbours. Each function here is called by Lua: none raises while a C++ object lives.
#include "redis_api.hpp"

#include <cmath>
#include <string>

#include "convert.hpp"
#include "interpreter.hpp"
#include "lua_api.hpp"
#include "sha1.hpp"

namespace liblock_test::lua_shim {

namespace {

// Of the server whose script this is.
Interpreter &interpreter_of(lua_State *lua) {
  return *static_cast<Machine *>(lua_touserdata(lua, lua_upvalueindex(1)))->running;
}

int redis_call(lua_State *lua) { return interpreter_of(lua).call_command(lua) ? 1 : lua_error(lua); }

int redis_pcall(lua_State *lua) {
  interpreter_of(lua).call_command(lua);
  return 1;
}

int raise(lua_State *lua, const char *message) {
  push_error(lua, message);
  return lua_error(lua);
}

int redis_sha1hex(lua_State *lua) {
  if (lua_gettop(lua) != 1) return raise(lua, "ERR wrong number of arguments");
  size_t size = 0;
  const char *text = lua_tolstring(lua, 1, &size);
  lua_pushstring(lua, sha1_hex({text, text == nullptr ? 0 : size}).c_str());
  return 1;
}

bool is_one_string(lua_State *lua) {
  if (lua_gettop(lua) == 1 && lua_type(lua, 1) == LUA_TSTRING) return true;
  push_error(lua, "ERR wrong number or type of arguments");
  return false;
}

int redis_status_reply(lua_State *lua) {
  if (!is_one_string(lua)) return 1;
  lua_createtable(lua, 0, 1);
  lua_pushvalue(lua, 1);
  lua_setfield(lua, -2, "ok");
  return 1;
}

// The first word is the code; a single word is none.
std::string with_code(std::string text) {
  if (text.starts_with('-')) text.erase(0, 1);
  const bool has_code = text.find(' ') != std::string::npos;
  const size_t end = text.find_last_not_of("\r\n");
  text.resize(end == std::string::npos ? 0 : end + 1);
  return has_code ? text : "ERR " + text;
}

int redis_error_reply(lua_State *lua) {
  if (is_one_string(lua)) push_error(lua, with_code(lua_tostring(lua, 1)));
  return 1;
}

int redis_log(lua_State *lua) {
  if (lua_gettop(lua) < 2) return raise(lua, "ERR redis.log() requires two arguments or more.");
  if (lua_isnumber(lua, 1) == 0) return raise(lua, "ERR First argument must be a number (log level).");
  const double level = lua_tonumber(lua, 1);
  return level < 0 || level > 3 ? raise(lua, "ERR Invalid debug level.") : 0;
}

int redis_setresp(lua_State *lua) {
  if (lua_gettop(lua) != 1) return raise(lua, "ERR redis.setresp() requires one argument.");
  return lua_tonumber(lua, 1) == 2 ? 0 : raise(lua, "ERR lua_shim: only RESP2 is supported");
}

int redis_replicate_commands(lua_State *lua) {
  lua_pushboolean(lua, 1);
  return 1;
}

int redis_set_repl(lua_State *lua) {
  return lua_gettop(lua) == 1 ? 0 : raise(lua, "ERR redis.set_repl() requires two arguments.");
}

int math_random(lua_State *lua) {
  constexpr uint32_t kTop = 0x7fffffff;
  const double drawn = static_cast<double>(interpreter_of(lua).next_random() % kTop) / kTop;
  const int count = lua_gettop(lua);
  if (count > 2) return luaL_error(lua, "wrong number of arguments");
  if (count == 0) {
    lua_pushnumber(lua, drawn);
    return 1;
  }
  const int low = count == 1 ? 1 : luaL_checkint(lua, 1);
  const int high = luaL_checkint(lua, count);
  luaL_argcheck(lua, low <= high, count, "interval is empty");
  lua_pushnumber(lua, std::floor(drawn * (static_cast<double>(high) - low + 1)) + low);
  return 1;
}

int math_randomseed(lua_State *lua) {
  interpreter_of(lua).seed_random(luaL_checkint(lua, 1));
  return 0;
}

void add_function(lua_State *lua, Machine &machine, const char *name, lua_CFunction function) {
  lua_pushlightuserdata(lua, &machine);
  lua_pushcclosure(lua, function, 1);
  lua_setfield(lua, -2, name);
}

}  // namespace

void push_redis_module(lua_State *lua, Machine &machine) {
  constexpr luaL_Reg kFunctions[] = {
      {"call", redis_call},
      {"pcall", redis_pcall},
      {"sha1hex", redis_sha1hex},
      {"status_reply", redis_status_reply},
      {"error_reply", redis_error_reply},
      {"log", redis_log},
      {"setresp", redis_setresp},
      {"replicate_commands", redis_replicate_commands},
      {"set_repl", redis_set_repl},
  };
  struct Constant {
    const char *name;
    int value;
  };
  constexpr Constant kConstants[] = {
      {"LOG_DEBUG", 0},    {"LOG_VERBOSE", 1},
      {"LOG_NOTICE", 2},   {"LOG_WARNING", 3},
      {"REPL_ALL", 3},     {"REPL_AOF", 1},
      {"REPL_NONE", 0},    {"REPL_SLAVE", 2},
      {"REPL_REPLICA", 2}, {"REDIS_VERSION_NUM", 0x07000F},
  };
  lua_newtable(lua);
  for (const luaL_Reg &function : kFunctions) add_function(lua, machine, function.name, function.func);
  for (const Constant &constant : kConstants) {
    lua_pushinteger(lua, constant.value);
    lua_setfield(lua, -2, constant.name);
  }
  lua_pushliteral(lua, "7.0.15");
  lua_setfield(lua, -2, "REDIS_VERSION");
}

void add_random(lua_State *lua, Machine &machine) {
  add_function(lua, machine, "random", math_random);
  add_function(lua, machine, "randomseed", math_randomseed);
}

}  // namespace liblock_test::lua_shim
