// SPDX-License-Identifier: MIT
// What is over, or was never there: contexts that were closed, queues that come and go, nothing where something must
// be. Each call says so, and nothing else happens.
#pragma once

#include "later.hpp"
#include "ruling.hpp"

namespace calls {

// Of a context that was closed; where there is none, they are INVALID_ARGUMENT.
inline void refuses_all(Side &side, liblock_context *context, liblock_status expected) {
  liblock_owner *owner = nullptr;
  liblock_completions *queue = nullptr;
  liblock_cursor *cursor = nullptr;
  liblock_info *info = nullptr;
  liblock_lock lock = 7;
  liblock_request request = 7;
  int32_t answer = 0;
  uint64_t token = 0;
  const liblock_bytes keys[] = {{"a", 1}};
  liblock_stats stats;
  liblock_stats_init(&stats, sizeof stats);
  for (const liblock_status status :
       {liblock_acquire(context, "a", 1, nullptr, &lock, nullptr),
        liblock_try_acquire(context, "a", 1, nullptr, &lock, nullptr),
        liblock_acquire_many(context, keys, 1, nullptr, &lock, nullptr),
        liblock_acquire_global(context, nullptr, &lock, nullptr),
        liblock_acquire_async(context, "a", 1, nullptr, Stage::hear, &side, &request),
        liblock_ping_async(context, nullptr, Stage::hear, &side, &request),
        liblock_wait_held_async(context, "a", 1, -1, nullptr, Stage::hear, &side, &request),
        liblock_wait_held(context, "a", 1, -1, nullptr), liblock_wait_lost(context, kForged, -1, nullptr),
        liblock_cancel(context, kForged), liblock_release(context, kForged, nullptr),
        liblock_extend(context, kForged, 1'000, 0, nullptr), liblock_update(context, kForged, "v", 1, nullptr),
        liblock_is_held(context, kForged), liblock_fencing_token(context, kForged, &token),
        liblock_verify(context, kForged, nullptr), liblock_is_locked(context, "a", 1, &answer),
        liblock_release_key(context, "a", 1, nullptr, 0, nullptr), liblock_inspect(context, "a", 1, &info, nullptr),
        liblock_list_locks(context, nullptr, &cursor, nullptr), liblock_force_release(context, "a", 1, 0, nullptr),
        liblock_clear(context, nullptr, nullptr, nullptr), liblock_sweep(context, nullptr, nullptr),
        liblock_stats_get(context, &stats), liblock_set_events(context, 0, nullptr, nullptr),
        liblock_set_log(context, 0, nullptr, nullptr), liblock_ping(context, nullptr),
        liblock_owner_open(context, "c", 1, &owner, nullptr),
        liblock_completions_open(context, 1, &queue, nullptr)})
    is_one_of(status, {expected});
  LIBLOCK_ASSERT(lock == 0 && request == 0 && info == nullptr && cursor == nullptr && owner == nullptr);
  LIBLOCK_ASSERT(queue == nullptr);
}

// The context ends in the midst of all, and another one begins.
inline void reopen(Stage &s, uint8_t, uint8_t how) {
  Side &side = s.side();
  liblock_cursor *cursor = nullptr;
  liblock_info *info = nullptr;
  is_one_of(liblock_list_keys(side.context, nullptr, &cursor, nullptr), {LIBLOCK_OK});
  s.close(side, how);
  refuses_all(side, side.context, LIBLOCK_CLOSED);
  is_one_of(liblock_cursor_next(cursor, &info), {LIBLOCK_CLOSED});
  liblock_cursor_free(cursor);
  is_one_of(liblock_owner_close(side.owners[0]), {LIBLOCK_OK});
  s.free(side);
  s.open(side);
}

// A queue beside the usual one. What is read late, or never, is no lock that anybody holds by mistake.
inline void queue(Stage &s, uint8_t on, uint8_t how) {
  Side &side = s.side();
  if (side.extra == nullptr) {
    const size_t capacity = on % 8;
    is_one_of(liblock_completions_open(side.context, capacity, &side.extra, nullptr),
              {capacity == 0 ? LIBLOCK_INVALID_ARGUMENT : LIBLOCK_OK});
    return;
  }
  int32_t fd = -1;
  switch (how % 6) {
    case 0:
      s.drop_extra(side);
      return;
    case 1:
      is_one_of(liblock_completions_close(side.extra), {LIBLOCK_OK});
      return;
    case 2:
      is_one_of(liblock_completions_fd(side.extra, &fd), {LIBLOCK_OK});
      LIBLOCK_ASSERT(fd >= 0);
      return;
    default:
      s.read_extra();
  }
}

inline void give_nothing(Stage &s, uint8_t on, uint8_t how) {
  Side &side = s.side();
  liblock_context *context = side.context;
  liblock_lock lock = 7;
  liblock_request request = 7;
  liblock_owner *nobody = nullptr;
  liblock_result small = LIBLOCK_RESULT_INIT;
  small.struct_size = on % sizeof small;
  const auto refused = [](std::initializer_list<liblock_status> all) {
    for (const liblock_status status : all) is_one_of(status, {LIBLOCK_INVALID_ARGUMENT});
  };
  switch (how % 4) {
    case 0:
      return refuses_all(side, nullptr, LIBLOCK_INVALID_ARGUMENT);
    case 1:
      return refused({liblock_acquire(context, nullptr, on, nullptr, &lock, nullptr),
                      liblock_acquire(context, "a", 1, nullptr, nullptr, nullptr),
                      liblock_acquire_many(context, nullptr, on, nullptr, &lock, nullptr),
                      liblock_acquire_async(context, "a", 1, nullptr, nullptr, nullptr, &request),
                      liblock_acquire_async(context, "a", 1, nullptr, Stage::hear, &side, nullptr),
                      liblock_wait_lost_async(context, kForged, 0, side.queue, Stage::hear, &side, &request),
                      liblock_owner_open(context, nullptr, 1, &nobody, nullptr)});
    case 2:
      return refused({liblock_remaining_ms(context, kForged, nullptr), liblock_fencing_token(context, 0, nullptr),
                      liblock_hold_count(context, kForged, nullptr), liblock_is_locked(context, "a", 1, nullptr),
                      liblock_is_queued(context, nullptr, 1, nullptr),
                      liblock_inspect(context, "a", 1, nullptr, nullptr),
                      liblock_list_locks(context, nullptr, nullptr, nullptr), liblock_cursor_next(nullptr, nullptr),
                      liblock_cursor_report(nullptr, nullptr), liblock_stats_get(context, nullptr),
                      liblock_completions_fd(nullptr, nullptr), liblock_completions_next(nullptr, 0, nullptr),
                      liblock_completions_next(side.queue, 0, nullptr), liblock_close_async(nullptr, nullptr, nullptr),
                      liblock_owner_close(LIBLOCK_OWNER_THREAD)});
    default:
      read_no_info();
      liblock_result_init(&small, small.struct_size);
      refused({liblock_ping(context, &small), liblock_release(context, lock_of(s, on), &small),
               liblock_clear(context, nullptr, nullptr, &small)});
      is_one_of(liblock_close(nullptr), {LIBLOCK_OK});
      is_one_of(liblock_owner_close(nullptr), {LIBLOCK_OK});
      liblock_context_free(nullptr);
      liblock_completions_free(nullptr);
      liblock_cursor_free(nullptr);
      liblock_owner_free(nullptr);
  }
}

}  // namespace calls
