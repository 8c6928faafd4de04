// SPDX-License-Identifier: MIT
// Values from Lua to replies and back. Nothing here runs a script's code: tables are read and written raw.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reply.hpp"

struct lua_State;

namespace liblock_test::lua_shim {

// What a script gets for a reply: nil becomes false, a status {ok=…}, an error {err=…}.
void push_reply(lua_State *lua, const Reply &reply);
// An error as a table, as redis.pcall returns it; that of a command is marked as counted already.
void push_error(lua_State *lua, std::string_view message, bool of_command = false);
void push_strings(lua_State *lua, std::span<const std::string_view> strings);

// What the client gets for the value on top of the stack: numbers lose their fraction, true is 1, false is nil,
// an array ends at its first nil.
Reply reply_from_lua(lua_State *lua);

// The words of a command, all that is on the stack; numbers are written out in place. False when a word is
// neither string nor number.
bool read_arguments(lua_State *lua, std::vector<std::string_view> &argv);

struct ErrorDescription {
  std::string message;
  std::string source;  // empty when it is not known
  std::string line;
};

// The error that describe_error left on top of the stack.
ErrorDescription read_error(lua_State *lua);

// The handler of lua_pcall: makes a table of the error and writes down where it was raised.
int describe_error(lua_State *lua);

// Compiles text; a compiled chunk is text that does not parse. Leaves the function or the message.
bool load_text(lua_State *lua, std::string_view text, std::string_view chunk_name);

}  // namespace liblock_test::lua_shim
