// SPDX-License-Identifier: MIT
// Bytes and times as text: what is decoded here is decoded strictly (no overlong forms, no surrogates), since only then
// what is called printable is.
#include "text.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <cwchar>

#include "exit_code.hpp"

namespace lockctl {
namespace {

constexpr char kHex[] = "0123456789abcdef";

// Bytes of the UTF-8 character that the text begins with, and the character; 0 where it begins with none.
size_t decode(std::string_view text, char32_t &out) {
  const auto at = [&](size_t n) { return static_cast<unsigned char>(text[n]); };
  const unsigned char first = at(0);
  const size_t size = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (size == 0 || size > text.size() || first > 0xf4) return 0;
  out = size == 1 ? first : first & (0x7f >> size);
  for (size_t n = 1; n < size; n++) {
    if ((at(n) & 0xc0) != 0x80) return 0;
    out = out << 6 | (at(n) & 0x3f);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_valid = out >= kLeast[size] && out <= 0x10ffff && (out < 0xd800 || out > 0xdfff);
  return is_valid ? size : 0;
}

// Control characters of both tables, line and paragraph separators, and what turns the direction of writing.
bool moves_the_cursor(char32_t character) {
  return character < 0x20 || (character >= 0x7f && character < 0xa0) ||
         (character >= 0x200b && character <= 0x200f) || (character >= 0x2028 && character <= 0x202e) ||
         (character >= 0x2066 && character <= 0x2069) || character == 0xfeff;
}

void append_escaped(std::string &out, std::string_view raw) {
  for (const char byte : raw) {
    const auto value = static_cast<unsigned char>(byte);
    out += {'\\', 'x', kHex[value >> 4], kHex[value & 15]};
  }
}

size_t width_of(char32_t character) {
  const int width = wcwidth(static_cast<wchar_t>(character));
  return width < 0 ? 1 : static_cast<size_t>(width);
}

}  // namespace

std::string_view bytes(const void *data, size_t size) {
  return data != nullptr ? std::string_view(static_cast<const char *>(data), size) : std::string_view();
}

bool is_utf8(std::string_view text) {
  char32_t character = 0;
  while (!text.empty()) {
    const size_t size = decode(text, character);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string out;
  char32_t character = 0;
  while (!text.empty()) {
    const size_t size = decode(text, character);
    const std::string_view raw = text.substr(0, size == 0 ? 1 : size);
    if (raw == "\\") {
      out += "\\\\";
    } else if (size == 0 || moves_the_cursor(character)) {
      append_escaped(out, raw);
    } else {
      out += raw;
    }
    text.remove_prefix(raw.size());
  }
  return out;
}

std::string hexadecimal(std::string_view text) {
  std::string out;
  for (const char byte : text) {
    const auto value = static_cast<unsigned char>(byte);
    out += {kHex[value >> 4], kHex[value & 15]};
  }
  return out;
}

std::string quoted(std::string text) {
  for (size_t at = text.find('\''); at != std::string::npos; at = text.find('\'', at + 4)) {
    text.replace(at, 1, "'\\''");
  }
  return "'" + text + "'";
}

size_t columns_of(std::string_view text) {
  size_t columns = 0;
  char32_t character = 0;
  while (!text.empty()) {
    const size_t size = decode(text, character);
    columns += size == 0 ? 1 : width_of(character);
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return columns;
}

std::string clipped(std::string_view text, size_t columns) {
  size_t used = 0, end = 0;
  char32_t character = 0;
  while (end < text.size()) {
    const size_t size = decode(text.substr(end), character);
    const size_t width = size == 0 ? 1 : width_of(character);
    if (used + width > columns) break;
    used += width;
    end += size == 0 ? 1 : size;
  }
  return std::string(text.substr(0, end));
}

std::string for_people(int64_t milliseconds) {
  if (milliseconds < 0) return "-";
  const auto number = [](int64_t value) { return std::to_string(value); };
  const auto two = [&](int64_t value) { return (value < 10 ? "0" : "") + number(value); };
  const int64_t seconds = milliseconds / 1000;
  if (milliseconds < 1000) return number(milliseconds) + "ms";
  if (seconds < 60) return number(seconds) + "." + number(milliseconds / 100 % 10) + "s";
  if (seconds < 3600) return number(seconds / 60) + "m" + two(seconds % 60) + "s";
  if (seconds < 86400) return number(seconds / 3600) + "h" + two(seconds / 60 % 60) + "m";
  return number(seconds / 86400) + "d" + two(seconds / 3600 % 24) + "h";
}

std::string time_of_day(int64_t microseconds) {
  if (microseconds <= 0) return "-";
  const auto seconds = static_cast<time_t>(microseconds / 1000000);
  struct tm parts = {};
  std::array<char, 32> text = {};
  localtime_r(&seconds, &parts);
  strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return text.data();
}

std::string with_commas(uint64_t number) {
  std::string out = std::to_string(number);
  for (size_t at = out.size(); at > 3;) {
    at -= 3;
    out.insert(at, 1, ',');
  }
  return out;
}

int64_t parse_duration_ms(const std::string &option, const std::string &text) {
  double amount = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const double scale = unit == "ms"  ? 1
                       : unit == "s" ? 1000
                       : unit == "m" ? 60000
                       : unit == "h" ? 3600000
                       : unit == "d" ? 86400000
                                     : 0;
  if (error == std::errc() && amount == 0 && (unit.empty() || scale > 0)) return 0;
  const double milliseconds = amount * scale;
  if (error != std::errc() || !(milliseconds >= 1) || milliseconds > 1e15) {
    throw Failure(kUsage, option + ": '" + printable(text) +
                              "' is no duration; give a number with its unit, such as 500ms, 30s, 5m or 2h");
  }
  return static_cast<int64_t>(milliseconds);
}

}  // namespace lockctl
