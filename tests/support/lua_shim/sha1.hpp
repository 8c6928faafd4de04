// SPDX-License-Identifier: MIT
// SHA-1, by which Redis names scripts.
#pragma once

#include <string>
#include <string_view>

namespace liblock_test::lua_shim {

// 40 lower-case hexadecimal digits.
std::string sha1_hex(std::string_view text);

}  // namespace liblock_test::lua_shim
