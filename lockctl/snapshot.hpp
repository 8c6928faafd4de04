// SPDX-License-Identifier: MIT
// All keys as they are at one moment (each as it was when it was listed), and what changes from one to the next.
// A key that went through several hands in between shows as one change: what is told is true, and not everything.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "context.hpp"

namespace lockctl {

struct KeyState {
  bool is_held = false, is_foreign = false;
  uint64_t token = 0, waiters = 0;
  int64_t since_us = 0, remaining_ms = -1;
  std::string holder;
};
using Snapshot = std::map<std::string, KeyState>;

KeyState state_of(const liblock_info *info);
// What is held or waited for; a Failure where the server does not answer.
Snapshot take_snapshot(liblock_context *context);

// The same hold: by the token, or for foreign clients, who have none, by being held at all.
bool is_same_hold(const KeyState &a, const KeyState &b);

struct Changes {
  uint64_t granted = 0, ended = 0;  // holds that are there now and were not, and the other way round
};
// Told of each key that is not as it was; a key that is not there is one that nobody holds or waits for.
template <typename Told>
Changes compare(const Snapshot &before, const Snapshot &after, Told told) {
  Changes changes;
  const KeyState none;
  const auto look = [&](const std::string &key, const KeyState &old, const KeyState &now) {
    const bool same = old.is_held == now.is_held && is_same_hold(old, now);
    if (!same) {
      changes.granted += now.is_held;
      changes.ended += old.is_held;
    }
    if (!same || old.waiters != now.waiters) told(key, old, now);
  };
  for (const auto &[key, now] : after) {
    const auto old = before.find(key);
    look(key, old == before.end() ? none : old->second, now);
  }
  for (const auto &[key, old] : before) {
    if (!after.contains(key)) look(key, old, none);
  }
  return changes;
}

}  // namespace lockctl
