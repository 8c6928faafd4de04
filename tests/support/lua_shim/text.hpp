// SPDX-License-Identifier: MIT
// How Redis reads and writes numbers, compares names, and matches patterns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace liblock_test::lua_shim {

// Decimal, canonical: no blank, no '+', no leading zero, no "-0".
bool parse_int(std::string_view text, int64_t &value);

// As strtod reads the whole text, infinities and hexadecimals included; no leading blank, no NaN.
bool parse_double(std::string_view text, double &value);

// The looser reading of one end of a score range, without its '('; the empty text is 0.
bool parse_bound(std::string_view text, double &value);

// 17 significant digits, as RESP2 replies and numbers in a script's arguments are written.
std::string format_double(double value);

// The name `lower` is written in lower case.
bool same_name(std::string_view text, std::string_view lower);

std::string lower_case(std::string_view text);

// The glob of KEYS and SCAN: * ? [a-c] [^a] and \ before a literal.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace liblock_test::lua_shim
