// SPDX-License-Identifier: MIT
// What a server answers, as a value: the five kinds of RESP2 and nil. An array that is nil and a string that is
// nil are one kind here, as they are for the clients that the library uses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace liblock_test::lua_shim {

struct Reply {
  enum class Kind : uint8_t { Nil, Integer, String, Status, Error, Array };

  Kind kind = Kind::Nil;
  int64_t integer = 0;
  std::string text;  // of a string, a status ("OK") or an error ("ERR …", without the leading '-')
  std::vector<Reply> items;

  static Reply nil() { return {}; }
  static Reply of(int64_t value) { return {Kind::Integer, value, {}, {}}; }
  static Reply string(std::string_view value) { return {Kind::String, 0, std::string(value), {}}; }
  static Reply status(std::string_view value) { return {Kind::Status, 0, std::string(value), {}}; }
  // An error is one line, whatever of a command's words it repeats.
  static Reply error(std::string_view value);
  static Reply array(std::vector<Reply> values = {}) { return {Kind::Array, 0, {}, std::move(values)}; }
  static Reply ok() { return status("OK"); }

  bool is_nil() const { return kind == Kind::Nil; }
  bool is_error() const { return kind == Kind::Error; }
  bool is_ok() const { return kind == Kind::Status && text == "OK"; }
  bool is(int64_t value) const { return kind == Kind::Integer && integer == value; }
  bool is(std::string_view value) const { return kind == Kind::String && text == value; }
  // An error of this code, such as "NOSCRIPT".
  bool is_error(std::string_view code) const {
    return is_error() && text.starts_with(code) && (text.size() == code.size() || text[code.size()] == ' ');
  }
  bool operator==(const Reply &other) const = default;

  // On one line: nil, 5, "a string", +OK, -ERR an error, [an, array].
  std::string to_text() const;
};

// With blanks for line breaks, as a status or an error must be.
std::string one_line(std::string_view text);

}  // namespace liblock_test::lua_shim
