// SPDX-License-Identifier: MIT
// Taking a snapshot: one listing, read to its end.
#include "snapshot.hpp"

#include "text.hpp"

namespace lockctl {

KeyState state_of(const liblock_info *info) {
  KeyState state;
  state.is_held = liblock_info_is_held(info) == 1;
  state.is_foreign = is_foreign(info);
  state.token = liblock_info_token(info);
  state.waiters = liblock_info_waiter_count(info);
  state.since_us = liblock_info_since_us(info);
  state.remaining_ms = liblock_info_remaining_ms(info);
  state.holder = state.is_foreign ? "(another library)" : printable(holder_of(info));
  return state;
}

Snapshot take_snapshot(liblock_context *context) {
  Snapshot snapshot;
  liblock_result result = LIBLOCK_RESULT_INIT;
  const auto add = [](const liblock_info *info, void *into) -> int32_t {
    (*static_cast<Snapshot *>(into))[key_of(info)] = state_of(info);
    return 0;
  };
  expect(liblock_list_each(context, LIBLOCK_LIST_KEYS, nullptr, add, &snapshot, nullptr, &result), result);
  return snapshot;
}

bool is_same_hold(const KeyState &a, const KeyState &b) {
  return a.is_held == b.is_held && a.token == b.token && a.is_foreign == b.is_foreign;
}

}  // namespace lockctl
