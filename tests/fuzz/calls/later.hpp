// SPDX-License-Identifier: MIT
// The same without waiting, and waits for others: whatever is accepted ends once (stage.hpp), and can be asked to end.
#pragma once

#include "locking.hpp"

namespace calls {

// Into the usual queue.
inline void ask(Stage &s, uint8_t on, uint8_t how) {
  const std::string name = key_of(on);
  liblock_acquire_options given = options_of(s, how);
  given.wait_ms = -1;
  given.completions = s.side().queue;
  liblock_request request = 1;
  const liblock_status status =
      liblock_acquire_async(s.side().context, name.data(), name.size(), &given, nullptr, nullptr, &request);
  is_one_of(status, {LIBLOCK_OK, LIBLOCK_LIMIT, LIBLOCK_INVALID_ARGUMENT, LIBLOCK_UNSUPPORTED});
  s.expect(status, request,
           {.kind = LIBLOCK_KIND_ACQUIRE, .queue = given.completions, .wanted = wanted(s, given, {name}, false)});
}

// Of several keys or of all, wherever the end is to go.
inline void ask_more(Stage &s, uint8_t on, uint8_t how) {
  const ThreeKeys names(on);
  Side &side = s.side();
  const Where where(side, on);
  const size_t count = how % 4;
  liblock_acquire_options given = options_of(s, how);
  given.wait_ms = on / 64 % 2 == 0 ? -1 : 0;
  given.completions = where.queue;
  liblock_request request = 1;
  const bool is_global = on / 32 % 2 == 1;
  const liblock_status status =
      is_global ? liblock_acquire_global_async(side.context, &given, where.callback, &side, &request)
                : liblock_acquire_many_async(side.context, names.keys, count, &given, where.callback, &side, &request);
  is_one_of(status, {LIBLOCK_OK, LIBLOCK_LIMIT, LIBLOCK_INVALID_ARGUMENT, LIBLOCK_UNSUPPORTED, LIBLOCK_CLOSED});
  Asked asked = where.asked(LIBLOCK_KIND_ACQUIRE);
  asked.wanted = wanted(s, given, is_global ? Keys() : names.first(count), is_global);
  s.expect(status, request, asked);
}

inline void cancel(Stage &s, uint8_t on, uint8_t) {
  is_one_of(liblock_cancel(s.side().context, s.request(on)), {LIBLOCK_OK, LIBLOCK_INVALID_HANDLE});
}

// For nothing, or for as long as it takes.
inline void watch(Stage &s, uint8_t on, uint8_t how) {
  Side &side = s.side();
  const std::string name = key_of(on);
  const liblock_lock lock = lock_of(s, on);
  const Where where(side, how);
  const int64_t wait_ms = how / 16 % 4 == 3 ? -2 : how / 16 % 4 == 0 ? 0 : -1;
  liblock_request request = 1;
  liblock_status status = LIBLOCK_OK;
  const auto to_end = [&](auto call, auto... what) {
    status = call(side.context, what..., wait_ms, where.queue, where.callback, &side, &request);
  };
  switch (how / 4 % 4) {
    case 0: to_end(liblock_wait_lost_async, lock); break;
    case 1: to_end(liblock_wait_held_async, name.data(), name.size()); break;
    case 2: to_end(liblock_wait_released_async, name.data(), name.size()); break;
    default: to_end(liblock_wait_held_on_async, name.data(), name.size(), how / 64 % 4 == 3 ? "n1" : nullptr);
  }
  is_one_of(status, {LIBLOCK_OK, LIBLOCK_LIMIT, LIBLOCK_INVALID_ARGUMENT, LIBLOCK_UNSUPPORTED, LIBLOCK_CLOSED});
  s.expect(status, request, where.asked(LIBLOCK_KIND_WATCH));
}

// What ends at once all the same.
inline void wait(Stage &s, uint8_t on, uint8_t how) {
  liblock_context *context = s.side().context;
  const std::string name = key_of(on);
  const int64_t wait_ms = how / 4 % 4 == 3 ? -2 : 0;
  liblock_info *info = nullptr;
  liblock_status status = LIBLOCK_OK;
  if (how % 4 == 0) status = liblock_wait_lost(context, lock_of(s, on), wait_ms, nullptr);
  if (how % 4 == 1) status = liblock_wait_held(context, name.data(), name.size(), wait_ms, nullptr);
  if (how % 4 == 2) status = liblock_wait_released(context, name.data(), name.size(), wait_ms, nullptr);
  if (how % 4 == 3) {
    const char *node = how / 16 % 4 == 3 ? "n1" : nullptr;
    status = liblock_wait_held_on(context, name.data(), name.size(), node, wait_ms, &info, nullptr);
  }
  is_one_of(status, {LIBLOCK_OK, LIBLOCK_TIMEOUT, LIBLOCK_NOT_HELD, LIBLOCK_LOST, LIBLOCK_INVALID_HANDLE,
                     LIBLOCK_INVALID_ARGUMENT, LIBLOCK_UNSUPPORTED});
  LIBLOCK_ASSERT(how % 4 == 0 ? status != LIBLOCK_OK : status != LIBLOCK_LOST);
  if (info != nullptr) read_info(info);
  liblock_info_free(info);
}

// What waits for nobody here, and would for a server elsewhere.
inline void call_later(Stage &s, uint8_t on, uint8_t how) {
  Side &side = s.side();
  const ThreeKeys names(on);
  const std::string &name = names.names[0];
  const std::string value = value_of(on);
  const liblock_lock lock = lock_of(s, on);
  const Where where(side, how);
  liblock_request request = 1;
  liblock_status status = LIBLOCK_OK;
  int32_t kind = LIBLOCK_KIND_RELEASE;
  const auto to_end = [&](int32_t which, auto call, auto... what) {
    kind = which;
    status = call(side.context, what..., where.queue, where.callback, &side, &request);
  };
  const size_t count = on % 4;
  liblock_owner *owner = how / 32 % 4 == 3 ? LIBLOCK_OWNER_THREAD : side.owners[how / 32 % 2];
  switch (how / 4 % 8) {
    case 0: to_end(LIBLOCK_KIND_RELEASE, liblock_release_async, lock); break;
    case 1:
      to_end(LIBLOCK_KIND_RELEASE, liblock_release_keys_async, owner, names.keys, count);
      if (status == LIBLOCK_OK) s.give_back(owner, names.first(count));
      break;
    case 2: to_end(LIBLOCK_KIND_EXTEND, liblock_extend_async, lock, ttl_of(on), how / 32 % 3); break;
    case 3: to_end(LIBLOCK_KIND_UPDATE, liblock_update_async, lock, value.data(), value.size()); break;
    case 4: to_end(LIBLOCK_KIND_VERIFY, liblock_verify_async, lock); break;
    case 5: to_end(LIBLOCK_KIND_PING, liblock_ping_async); break;
    case 6: to_end(LIBLOCK_KIND_INSPECT, liblock_inspect_async, name.data(), name.size()); break;
    default: to_end(LIBLOCK_KIND_FORCE_RELEASE, liblock_force_release_async, name.data(), name.size(), how / 32 % 3);
  }
  is_one_of(status, {LIBLOCK_OK, LIBLOCK_LIMIT, LIBLOCK_INVALID_ARGUMENT, LIBLOCK_UNSUPPORTED, LIBLOCK_CLOSED});
  s.expect(status, request, where.asked(kind));
}

}  // namespace calls
