// SPDX-License-Identifier: MIT
// Writes a reply down for a person; bytes that do not print are escaped.
#include "reply.hpp"

#include <array>
#include <cstdio>

namespace liblock_test::lua_shim {

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c < ' ' || c > '~') {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\x%02x",
                    static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += code.data();
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

}  // namespace

Reply Reply::error(std::string_view value) {
  const size_t end = value.find_last_not_of("\r\n");
  return {Kind::Error, 0, one_line(value.substr(0, end == std::string_view::npos ? 0 : end + 1)), {}};
}

std::string one_line(std::string_view text) {
  std::string out(text);
  for (char &c : out) {
    if (c == '\r' || c == '\n') c = ' ';
  }
  return out;
}

std::string Reply::to_text() const {
  switch (kind) {
    case Kind::Nil:
      return "nil";
    case Kind::Integer:
      return std::to_string(integer);
    case Kind::String:
      return quoted(text);
    case Kind::Status:
      return "+" + text;
    case Kind::Error:
      return "-" + text;
    case Kind::Array:
      break;
  }
  std::string out = "[";
  for (const Reply &item : items) {
    if (out.size() > 1) out += ", ";
    out += item.to_text();
  }
  out += "]";
  return out;
}

}  // namespace liblock_test::lua_shim
