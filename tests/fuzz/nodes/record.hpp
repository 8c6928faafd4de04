// SPDX-License-Identifier: MIT
// What lies on a node beside its mark, as a value: so that what a call has changed can be seen.
#pragma once

#include <array>
#include <cctype>
#include <cstdint>
#include <string>
#include <vector>

#include "base/assert.hpp"
#include "lua_shim/server.hpp"

namespace nodes {

using liblock_test::lua_shim::Reply;
using liblock_test::lua_shim::Server;
using Words = std::vector<std::string>;

constexpr size_t kKeys = 2;

inline Words split(const std::string &text, char at) {
  Words parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}
inline bool consists_of(const std::string &text, const char *letters) {
  return !text.empty() && text.find_first_not_of(letters) == std::string::npos;
}
inline bool is_number(const std::string &text) { return text.size() < 19 && consists_of(text, "0123456789"); }

// A record as core/quorum/scripts/record.lua has it; of what is no record of ours all is empty.
struct Record {
  std::string id, instance, state;
  uint64_t token = 0, version = 0;

  static Record of(const std::string &text) {
    const Words fields = split(text, '|');
    if (fields.size() < 8 || fields[0] != "ll1" || !is_number(fields[3]) || !fields[6].starts_with("@")) return {};
    const Words more = split(fields[6].substr(1), ',');
    if (more.size() < 6 || more.size() > 7 || !consists_of(fields[1], kHex) || !consists_of(fields[2], kHex)) return {};
    for (const size_t each : {0u, 1u, 3u, 4u, 5u}) {
      if (!is_number(more[each])) return {};
    }
    if (more[2].empty() || !std::isalpha(static_cast<unsigned char>(more[2][0]))) return {};
    if (more[2].size() > 1 && !is_number(more[2].substr(1))) return {};
    if (more.size() == 7 && !is_number(more[6])) return {};
    return {fields[1], fields[5], more[2], std::stoull(fields[3]), std::stoull(more[3])};
  }
  static constexpr const char *kHex = "0123456789abcdefABCDEF";
};

// Of one key.
struct Shown {
  std::string lock;  // "?" where it is no string
  int64_t left_ms = 0;
  Words metadata, line, alive;
  std::string claim, promise;

  Record record() const { return Record::of(lock); }
  bool is_held_by(const std::string &id) const { return lock.starts_with("ll1|" + id + "|"); }
  // But for how long it lives, and those who are dead and have left.
  bool is_as(const Shown &other) const {
    return lock == other.lock && metadata == other.metadata && claim == other.claim && promise == other.promise;
  }
};
using Sight = std::array<Shown, kKeys>;

inline const char *lock_name(size_t key) { return key == 0 ? "liblock:a" : "liblock:b"; }
inline std::string name_of(size_t key, char side) {
  return std::string("ll1:") + side + ":{" + lock_name(key) + "}";
}

inline Words texts_of(const Reply &reply) {
  Words texts;
  for (const Reply &item : reply.items) texts.push_back(item.text);
  return texts;
}

inline Shown look(Server &server, size_t key) {
  Shown shown;
  const Reply lock = server.command({"GET", lock_name(key)});
  shown.lock = lock.is_error() ? "?" : lock.text;
  shown.left_ms = server.command({"PTTL", lock_name(key)}).integer;
  shown.metadata = texts_of(server.command({"HGETALL", name_of(key, 'm')}));
  shown.line = texts_of(server.command({"ZRANGE", name_of(key, 'k'), "0", "-1", "WITHSCORES"}));
  shown.alive = texts_of(server.command({"HGETALL", name_of(key, 'a')}));
  shown.claim = server.command({"GET", name_of(key, 'c')}).text;
  shown.promise = server.command({"GET", name_of(key, 'p')}).text;
  return shown;
}

}  // namespace nodes
