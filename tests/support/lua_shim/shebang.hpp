// SPDX-License-Identifier: MIT
// The first line with which a script may declare itself: "#!lua flags=no-writes,allow-oom".
#pragma once

#include <string>
#include <string_view>

#include "interpreter.hpp"

namespace liblock_test::lua_shim {

struct Shebang {
  ScriptFlags flags;
  size_t size = 0;      // bytes before the line break, which stays so that lines keep their numbers
  std::string problem;  // empty when there is none
};

Shebang parse_shebang(std::string_view body);

}  // namespace liblock_test::lua_shim
