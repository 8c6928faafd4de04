// SPDX-License-Identifier: MIT
// The conversions of Redis for RESP2. A type of RESP3 that a script asks for is answered with an error of the
// shim's own, so that nobody relies on it unnoticed.
#include "convert.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "errors.hpp"
#include "lua_api.hpp"
#include "text.hpp"

namespace liblock_test::lua_shim {

namespace {

std::string_view string_at(lua_State *lua, int index) {
  size_t size = 0;
  const char *text = lua_tolstring(lua, index, &size);
  return {text, size};
}

void push_text(lua_State *lua, std::string_view text) { lua_pushlstring(lua, text.data(), text.size()); }

// Pushes the table's field, unless it is not of this type.
bool push_field(lua_State *lua, const char *name, int type) {
  lua_pushstring(lua, name);
  lua_rawget(lua, -2);
  if (lua_type(lua, -1) == type) return true;
  lua_pop(lua, 1);
  return false;
}

// As the conversion of the machine does it, which C++ leaves open for what does not fit.
int64_t truncated(double number) {
  if (!(number >= -0x1p63 && number < 0x1p63)) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(number);
}

std::string written(double number) {
  constexpr double kExact = 1e15;
  if (std::fabs(number) < kExact && number == std::trunc(number) && !(number == 0 && std::signbit(number))) {
    std::array<char, 24> digits{};
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), static_cast<int64_t>(number)).ptr;
    return {digits.data(), end};
  }
  return format_double(number);
}

Reply reply_from_array(lua_State *lua) {
  Reply reply = Reply::array();
  for (int i = 1;; ++i) {
    lua_rawgeti(lua, -1, i);
    if (lua_isnil(lua, -1)) break;
    reply.items.push_back(reply_from_lua(lua));
    lua_pop(lua, 1);
  }
  lua_pop(lua, 1);
  return reply;
}

Reply reply_from_table(lua_State *lua) {
  Reply reply;
  if (push_field(lua, "err", LUA_TSTRING)) {
    reply = Reply::error(string_at(lua, -1));
  } else if (push_field(lua, "ok", LUA_TSTRING)) {
    reply = Reply::status(one_line(string_at(lua, -1)));
  } else if (push_field(lua, "double", LUA_TNUMBER)) {
    reply = Reply::string(format_double(lua_tonumber(lua, -1)));
  } else if (push_field(lua, "map", LUA_TTABLE) || push_field(lua, "set", LUA_TTABLE) ||
             push_field(lua, "big_number", LUA_TSTRING) || push_field(lua, "verbatim_string", LUA_TTABLE)) {
    reply = Reply::error("ERR lua_shim: types of RESP3 are not supported");
  } else {
    return reply_from_array(lua);
  }
  lua_pop(lua, 1);
  return reply;
}

struct TextReader {
  std::string_view pieces[2];
  size_t next = 0;
};

const char *read_piece(lua_State *, void *data, size_t *size) {
  auto *reader = static_cast<TextReader *>(data);
  *size = 0;
  while (reader->next < 2 && *size == 0) *size = reader->pieces[reader->next++].size();
  return *size == 0 ? nullptr : reader->pieces[reader->next - 1].data();
}

}  // namespace

void push_error(lua_State *lua, std::string_view message, bool of_command) {
  lua_createtable(lua, 0, 4);
  push_text(lua, message);
  lua_setfield(lua, -2, "err");
  if (!of_command) return;
  lua_pushboolean(lua, 1);
  lua_setfield(lua, -2, "ignore_error_stats_update");
}

void push_strings(lua_State *lua, std::span<const std::string_view> strings) {
  lua_createtable(lua, static_cast<int>(strings.size()), 0);
  int i = 0;
  for (const std::string_view text : strings) {
    push_text(lua, text);
    lua_rawseti(lua, -2, ++i);
  }
}

void push_reply(lua_State *lua, const Reply &reply) {
  if (lua_checkstack(lua, 4) == 0) std::abort();  // a command's reply is a few arrays deep
  switch (reply.kind) {
    case Reply::Kind::Nil:
      lua_pushboolean(lua, 0);
      return;
    case Reply::Kind::Integer:
      lua_pushnumber(lua, static_cast<lua_Number>(reply.integer));
      return;
    case Reply::Kind::String:
      push_text(lua, reply.text);
      return;
    case Reply::Kind::Error:
      push_error(lua, reply.text);
      return;
    case Reply::Kind::Status:
      lua_createtable(lua, 0, 1);
      push_text(lua, reply.text);
      lua_setfield(lua, -2, "ok");
      return;
    case Reply::Kind::Array:
      break;
  }
  lua_createtable(lua, static_cast<int>(reply.items.size()), 0);
  int i = 0;
  for (const Reply &item : reply.items) {
    push_reply(lua, item);
    lua_rawseti(lua, -2, ++i);
  }
}

Reply reply_from_lua(lua_State *lua) {
  if (lua_checkstack(lua, 4) == 0) return Reply::error("ERR reached lua stack limit");
  switch (lua_type(lua, -1)) {
    case LUA_TSTRING:
      return Reply::string(string_at(lua, -1));
    case LUA_TNUMBER:
      return Reply::of(truncated(lua_tonumber(lua, -1)));
    case LUA_TBOOLEAN:
      return lua_toboolean(lua, -1) != 0 ? Reply::of(1) : Reply::nil();
    case LUA_TTABLE:
      return reply_from_table(lua);
    default:
      return Reply::nil();
  }
}

bool read_arguments(lua_State *lua, std::vector<std::string_view> &argv) {
  const int count = lua_gettop(lua);
  argv.reserve(static_cast<size_t>(count));
  for (int i = 1; i <= count; ++i) {
    if (lua_type(lua, i) == LUA_TNUMBER) {
      push_text(lua, written(lua_tonumber(lua, i)));
      lua_replace(lua, i);
    } else if (lua_type(lua, i) != LUA_TSTRING) {
      return false;
    }
    argv.push_back(string_at(lua, i));
  }
  return true;
}

ErrorDescription read_error(lua_State *lua) {
  ErrorDescription error;
  if (!lua_istable(lua, -1)) {  // the handler itself failed
    error.message =
        lua_isstring(lua, -1) != 0 ? "ERR " + std::string(string_at(lua, -1)) : "ERR unknown error";
    return error;
  }
  if (push_field(lua, "err", LUA_TSTRING)) {
    error.message = string_at(lua, -1);
    lua_pop(lua, 1);
  } else {
    error.message = "ERR lua_shim: a table without err was raised, which is the end of a server of Redis 7.0";
  }
  if (push_field(lua, "source", LUA_TSTRING)) {
    error.source = string_at(lua, -1);
    lua_pop(lua, 1);
  }
  if (push_field(lua, "line", LUA_TNUMBER)) {
    error.line = std::to_string(truncated(lua_tonumber(lua, -1)));
    lua_pop(lua, 1);
  }
  return error;
}

int describe_error(lua_State *lua) {
  lua_settop(lua, 1);
  if (!lua_istable(lua, 1)) {
    lua_createtable(lua, 0, 3);
    lua_pushliteral(lua, "ERR ");
    if (lua_isstring(lua, 1) != 0) {
      lua_pushvalue(lua, 1);
    } else if (lua_isboolean(lua, 1)) {
      lua_pushstring(lua, lua_toboolean(lua, 1) != 0 ? "true" : "false");
    } else {
      lua_pushstring(lua, luaL_typename(lua, 1));
    }
    lua_concat(lua, 2);
    lua_setfield(lua, 2, "err");
    lua_replace(lua, 1);
  }
  // Where it was raised: in the function that called the handler, or in its caller when that is one in C.
  lua_Debug place;
  for (int level = 1; level <= 2 && lua_getstack(lua, level, &place) != 0; ++level) {
    lua_getinfo(lua, "Sl", &place);
    lua_pushstring(lua, "source");
    lua_pushstring(lua, place.source);
    lua_rawset(lua, 1);
    lua_pushstring(lua, "line");
    lua_pushinteger(lua, place.currentline);
    lua_rawset(lua, 1);
    if (*place.what != 'C') break;
  }
  return 1;
}

bool load_text(lua_State *lua, std::string_view text, std::string_view chunk_name) {
  // A blank in front keeps the mark of a compiled chunk from being the first byte.
  TextReader reader{{text.starts_with('\x1b') ? " " : "", text}};
  const std::string name(chunk_name);
  return lua_load(lua, read_piece, &reader, name.c_str()) == 0;
}

}  // namespace liblock_test::lua_shim
