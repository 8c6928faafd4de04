// SPDX-License-Identifier: MIT
// See resp.hpp.
#include "resp.hpp"

#include <charconv>

#include "base/assert.hpp"

namespace liblock_test::sim {

namespace {

// The number of a line that begins with `mark`; false: the line is not there whole.
bool take_count(const std::string &bytes, size_t &at, char mark, size_t &count) {
  const size_t end = bytes.find("\r\n", at);
  if (end == std::string::npos) return false;
  LIBLOCK_ASSERT(bytes[at] == mark);
  const auto read = std::from_chars(bytes.data() + at + 1, bytes.data() + end, count);
  LIBLOCK_ASSERT(read.ec == std::errc() && read.ptr == bytes.data() + end);
  at = end + 2;
  return true;
}

}  // namespace

std::optional<Words> take_request(std::string &bytes) {
  size_t at = 0, count = 0;
  if (!take_count(bytes, at, '*', count)) return std::nullopt;
  Words words;
  for (size_t i = 0; i < count; ++i) {
    size_t size = 0;
    if (!take_count(bytes, at, '$', size) || bytes.size() < at + size + 2) return std::nullopt;
    words.push_back(bytes.substr(at, size));
    at += size + 2;
  }
  bytes.erase(0, at);
  return words;
}

std::string encode(const lua_shim::Reply &reply) {
  using Kind = lua_shim::Reply::Kind;
  switch (reply.kind) {
    case Kind::Nil:
      return "$-1\r\n";
    case Kind::Integer:
      return ":" + std::to_string(reply.integer) + "\r\n";
    case Kind::String:
      return "$" + std::to_string(reply.text.size()) + "\r\n" + reply.text + "\r\n";
    case Kind::Status:
      return "+" + reply.text + "\r\n";
    case Kind::Error:
      return "-" + reply.text + "\r\n";
    case Kind::Array:
      break;
  }
  std::string text = "*" + std::to_string(reply.items.size()) + "\r\n";
  for (const lua_shim::Reply &item : reply.items) text += encode(item);
  return text;
}

}  // namespace liblock_test::sim
