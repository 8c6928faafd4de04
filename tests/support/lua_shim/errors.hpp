// SPDX-License-Identifier: MIT
// Errors that several commands share, in Redis's words.
#pragma once

#include <string>
#include <string_view>

#include "reply.hpp"

namespace liblock_test::lua_shim {

inline constexpr std::string_view kOutOfMemory = "OOM command not allowed when used memory > 'maxmemory'.";
inline constexpr std::string_view kReadOnly = "READONLY You can't write against a read only replica.";
inline constexpr std::string_view kLoadingData = "LOADING Redis is loading the dataset in memory";
inline constexpr std::string_view kUnknownScript = "NOSCRIPT No matching script. Please use EVAL.";

inline Reply wrong_type() {
  return Reply::error("WRONGTYPE Operation against a key holding the wrong kind of value");
}
inline Reply syntax_error() { return Reply::error("ERR syntax error"); }
inline Reply not_an_integer() { return Reply::error("ERR value is not an integer or out of range"); }
inline Reply not_a_float() { return Reply::error("ERR value is not a valid float"); }
inline Reply not_positive() { return Reply::error("ERR value is out of range, must be positive"); }
inline Reply would_overflow() { return Reply::error("ERR increment or decrement would overflow"); }
inline Reply wrong_count(std::string_view name) {
  return Reply::error("ERR wrong number of arguments for '" + std::string(name) + "' command");
}

}  // namespace liblock_test::lua_shim
