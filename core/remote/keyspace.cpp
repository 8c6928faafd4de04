// SPDX-License-Identifier: MIT
// See keyspace.hpp.
#include "remote/keyspace.hpp"

#include <algorithm>
#include <cstdio>

#include "base/read_number.hpp"

namespace liblock {

namespace {

constexpr Bytes kRecordHead = "ll1|";

int digit_of(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

// "@SINCE,TTL|", where it is there, or "@SINCE,TTL,STANDING|".
void take_since(Bytes &rest, ServerRecord &record) {
  Bytes after = rest, field;
  if (rest.empty() || rest.front() != '@' || !next_field(after, field)) return;
  const size_t comma = field.find(','), second = comma == Bytes::npos ? comma : field.find(',', comma + 1);
  const size_t ttl_size = second == Bytes::npos ? second : second - comma - 1;
  int64_t since_us = 0, ttl_ms = 0, standing = 0;
  if (comma == Bytes::npos || !read_number(field.substr(1, comma - 1), since_us) ||
      !read_number(field.substr(comma + 1, ttl_size), ttl_ms) || since_us <= 0 || ttl_ms < 0 ||
      (second != Bytes::npos && !read_number(field.substr(second + 1), standing)))
    return;
  record.since_us = since_us;
  record.ttl_ms = ttl_ms == 0 ? -1 : ttl_ms;
  rest = after;
}

}  // namespace

bool next_field(Bytes &rest, Bytes &field) {
  const size_t bar = rest.find('|');
  if (bar == Bytes::npos) return false;
  field = rest.substr(0, bar);
  rest.remove_prefix(bar + 1);
  return true;
}

std::string unescape_field(Bytes text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit_of(text[i + 1]) >= 0 && digit_of(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(digit_of(text[i + 1]) * 16 + digit_of(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

bool Keyspace::key_of(Bytes lock_key, Bytes &key) const {
  if (lock_key.substr(0, prefix_.size()) != prefix_ || lock_key.substr(0, kReserved.size()) == kReserved)
    return false;
  key = lock_key.substr(prefix_.size());
  return !key.empty();
}

bool Keyspace::is_reserved(Bytes key) const {
  const std::string start =
      prefix_.substr(0, kReserved.size()) + std::string(key.substr(0, kReserved.size()));
  return Bytes(start).substr(0, kReserved.size()) == kReserved;
}

std::string Keyspace::side_key(Side side, Bytes lock_key) {
  const auto head = side_key_head(side);
  std::string name;
  name.reserve(head.size() + lock_key.size() + kSideKeyTail.size());
  name.append(head.data(), head.size());
  name += lock_key;
  name += kSideKeyTail;
  return name;
}

bool Keyspace::lock_key_of(Bytes side_key, Bytes &lock_key) {
  constexpr size_t kHead = kReserved.size() + 3;  // the side, and ":{"
  if (side_key.size() <= kHead + 1 || side_key.substr(0, kReserved.size()) != kReserved ||
      side_key.substr(kHead - 2, 2) != ":{" || side_key.back() != '}')
    return false;
  lock_key = side_key.substr(kHead, side_key.size() - kHead - 1);
  return true;
}

bool parse_record(Bytes text, ServerRecord &record) {
  if (text.substr(0, kRecordHead.size()) != kRecordHead) return false;
  Bytes rest = text.substr(kRecordHead.size()), change, token, owner;
  if (!next_field(rest, record.id) || !next_field(rest, change) || !next_field(rest, token) ||
      !next_field(rest, owner) || !next_field(rest, record.instance) || !read_number(token, record.token))
    return false;
  record.owner = unescape_field(owner);
  take_since(rest, record);
  record.value = rest;
  return record.id.size() == kAttemptIdSize && change.size() == 8;
}

std::string change_text(uint32_t change) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", change);
  return text;
}

std::string escape_field(Bytes text) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto is_escaped = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '|' || c == '%';
  };
  if (std::none_of(text.begin(), text.end(), is_escaped)) return std::string(text);
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_escaped(c)) {
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      out.push_back(c);
    }
  }
  return out;
}

}  // namespace liblock
