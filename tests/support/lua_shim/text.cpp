// SPDX-License-Identifier: MIT
// Numbers and patterns as the server understands them; each rule was compared with a real server.
#include "text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace liblock_test::lua_shim {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Consumes a bracket expression after its '['. A bracket that is not closed ends with the pattern.
bool match_bracket(std::string_view &pattern, char c) {
  bool negated = false;
  bool found = false;
  if (!pattern.empty() && pattern.front() == '^') {
    negated = true;
    pattern.remove_prefix(1);
  }
  while (!pattern.empty() && pattern.front() != ']') {
    if (pattern.front() == '\\' && pattern.size() >= 2) {
      pattern.remove_prefix(1);
      found |= pattern.front() == c;
    } else if (pattern.size() >= 3 && pattern[1] == '-') {
      const auto [low, high] = std::minmax(pattern[0], pattern[2]);
      found |= c >= low && c <= high;
      pattern.remove_prefix(2);
    } else {
      found |= pattern.front() == c;
    }
    pattern.remove_prefix(1);
  }
  if (!pattern.empty()) pattern.remove_prefix(1);
  return found != negated;
}

}  // namespace

bool parse_int(std::string_view text, int64_t &value) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || (digits.front() == '0' && text.size() > 1)) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse_double(std::string_view text, double &value) {
  if (text.empty() || std::isspace(static_cast<unsigned char>(text.front())) != 0) return false;
  const std::string copy(text);
  char *end = nullptr;
  errno = 0;
  value = std::strtod(copy.c_str(), &end);
  const bool out_of_range = errno == ERANGE && (std::isinf(value) || value == 0);
  return end == copy.c_str() + copy.size() && !out_of_range && !std::isnan(value);
}

bool parse_bound(std::string_view text, double &value) {
  const std::string copy(text);
  char *end = nullptr;
  value = std::strtod(copy.c_str(), &end);
  return *end == '\0' && !std::isnan(value);
}

std::string format_double(double value) {
  std::array<char, 40> digits{};
  const int size = std::snprintf(digits.data(), digits.size(), "%.17g", value);
  return {digits.data(), static_cast<size_t>(size)};
}

bool same_name(std::string_view text, std::string_view name) {
  return text.size() == name.size() &&
         std::equal(text.begin(), text.end(), name.begin(), [](char a, char b) { return lower(a) == b; });
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char &c : out) c = lower(c);
  return out;
}

bool matches(std::string_view pattern, std::string_view text) {
  while (!pattern.empty()) {
    const char head = pattern.front();
    if (head == '*') {
      pattern.remove_prefix(1);
      if (pattern.empty()) return true;
      for (size_t skipped = 0; skipped <= text.size(); ++skipped) {
        if (matches(pattern, text.substr(skipped))) return true;
      }
      return false;
    }
    if (text.empty()) return false;
    const char c = text.front();
    text.remove_prefix(1);
    pattern.remove_prefix(1);
    if (head == '?') continue;
    if (head == '[') {
      if (!match_bracket(pattern, c)) return false;
      continue;
    }
    char literal = head;
    if (head == '\\' && !pattern.empty()) {
      literal = pattern.front();
      pattern.remove_prefix(1);
    }
    if (literal != c) return false;
  }
  return text.empty();
}

}  // namespace liblock_test::lua_shim
