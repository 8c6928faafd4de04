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

void append_line(std::string &text, char mark, int64_t number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  text += mark;
  text.append(digits, end);
  text += "\r\n";
}

void append(std::string &text, const lua_shim::Reply &reply) {
  using Kind = lua_shim::Reply::Kind;
  switch (reply.kind) {
    case Kind::Nil:
      text += "$-1\r\n";
      return;
    case Kind::Integer:
      return append_line(text, ':', reply.integer);
    case Kind::String:
      append_line(text, '$', static_cast<int64_t>(reply.text.size()));
      break;
    case Kind::Status:
      text += '+';
      break;
    case Kind::Error:
      text += '-';
      break;
    case Kind::Array:
      append_line(text, '*', static_cast<int64_t>(reply.items.size()));
      for (const lua_shim::Reply &item : reply.items) append(text, item);
      return;
  }
  text += reply.text;
  text += "\r\n";
}

}  // namespace

std::optional<Words> take_request(std::string &bytes) {
  size_t at = 0, count = 0;
  if (!take_count(bytes, at, '*', count)) return std::nullopt;
  Words words;
  words.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    size_t size = 0;
    if (!take_count(bytes, at, '$', size) || bytes.size() < at + size + 2) return std::nullopt;
    words.emplace_back(bytes, at, size);
    at += size + 2;
  }
  if (at == bytes.size()) {
    bytes.clear();
  } else {
    bytes.erase(0, at);
  }
  return words;
}

std::string encode(const lua_shim::Reply &reply) {
  std::string text;
  append(text, reply);
  return text;
}

}  // namespace liblock_test::sim
