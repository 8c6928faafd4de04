// SPDX-License-Identifier: MIT
// Locks are acquired, given back, changed and taken away, by handle, by owner, and by key and value.
#pragma once

#include "words.hpp"

namespace calls {

inline Grant wanted(Stage &s, const liblock_acquire_options &given, const Keys &keys, bool is_global) {
  return {s.side().context, 0, given.owner, {keys.begin(), keys.end()}, is_global};
}

// Of a blocking acquire.
inline void ended(Stage &s, liblock_status status, liblock_lock lock, Grant grant, const liblock_result &result) {
  is_one_of(status, {LIBLOCK_OK, LIBLOCK_BUSY, LIBLOCK_RETRIES_EXHAUSTED, LIBLOCK_ALREADY_HELD, LIBLOCK_LIMIT,
                     LIBLOCK_INVALID_ARGUMENT, LIBLOCK_UNSUPPORTED, LIBLOCK_TOO_LATE, LIBLOCK_DEADLOCK});
  LIBLOCK_ASSERT((status == LIBLOCK_OK) == (lock != 0));
  LIBLOCK_ASSERT(result.status == status && (status == LIBLOCK_OK) == (result.message[0] == '\0'));
  if (result.info != nullptr) read_info(result.info);
  liblock_info_free(result.info);
  if (status != LIBLOCK_OK) return;
  grant.lock = lock;
  s.grants.add(grant, result.token, false, (result.flags & LIBLOCK_RESULT_REENTERED) != 0);
}

inline void try_key(Stage &s, uint8_t on, uint8_t how) {
  const std::string name = key_of(on);
  const liblock_acquire_options given = options_of(s, how);
  liblock_lock lock = 1;
  liblock_result result = LIBLOCK_RESULT_INIT;
  const auto call = how % 2 == 0 ? liblock_try_acquire : liblock_acquire;
  const liblock_status status = call(s.side().context, name.data(), name.size(), &given, &lock, &result);
  ended(s, status, lock, wanted(s, given, {name}, false), result);
}

inline void try_keys(Stage &s, uint8_t on, uint8_t how) {
  const ThreeKeys names(on);
  const liblock_acquire_options given = options_of(s, how);
  liblock_lock lock = 1;
  liblock_result result = LIBLOCK_RESULT_INIT;
  const liblock_status status =
      liblock_acquire_many(s.side().context, names.keys, how % 4, &given, &lock, &result);
  ended(s, status, lock, wanted(s, given, names.first(how % 4), false), result);
}

inline void global(Stage &s, uint8_t, uint8_t how) {
  const liblock_acquire_options given = options_of(s, how);
  liblock_lock lock = 1;
  liblock_result result = LIBLOCK_RESULT_INIT;
  const liblock_status status = liblock_acquire_global(s.side().context, &given, &lock, &result);
  ended(s, status, lock, wanted(s, given, {}, true), result);
}

inline void release(Stage &s, uint8_t on, uint8_t how) {
  liblock_context *context = s.side().context;
  const liblock_lock which = lock_of(s, on);
  const bool was_held = liblock_is_held(context, which) == LIBLOCK_OK;
  const liblock_status status = liblock_release(context, which, nullptr);
  is_one_of(status, {LIBLOCK_OK, LIBLOCK_LOST, LIBLOCK_NOT_HELD, LIBLOCK_INVALID_HANDLE});
  LIBLOCK_ASSERT((status == LIBLOCK_OK) == was_held);
  if (how % 3 == 0)
    is_one_of(liblock_release(context, which, nullptr), {LIBLOCK_NOT_HELD, LIBLOCK_INVALID_HANDLE});
}

inline void release_keys(Stage &s, uint8_t on, uint8_t how) {
  const ThreeKeys names(on);
  const size_t count = how % 4;
  liblock_owner *owners[] = {s.side().owners[0], s.side().owners[1], LIBLOCK_OWNER_THREAD, s.other().owners[0]};
  liblock_owner *owner = owners[how / 4 % 4];
  const liblock_status status = liblock_release_keys(s.side().context, owner, names.keys, count, nullptr);
  is_one_of(status, {LIBLOCK_OK, LIBLOCK_NOT_HELD, LIBLOCK_LOST, LIBLOCK_INVALID_ARGUMENT});
  if (status == LIBLOCK_OK) s.give_back(owner, names.first(count));
}

inline void extend(Stage &s, uint8_t on, uint8_t how) {
  is_one_of(liblock_extend(s.side().context, lock_of(s, on), ttl_of(how), how % 3, nullptr),
            {LIBLOCK_OK, LIBLOCK_LOST, LIBLOCK_NOT_HELD, LIBLOCK_INVALID_HANDLE, LIBLOCK_INVALID_ARGUMENT,
             LIBLOCK_UNSUPPORTED});
}

inline void update(Stage &s, uint8_t on, uint8_t how) {
  const std::string value(how % 3 == 0 ? 4'097 : how, 'v');
  is_one_of(liblock_update(s.side().context, lock_of(s, on), value.data(), value.size(), nullptr),
            {LIBLOCK_OK, LIBLOCK_LOST, LIBLOCK_NOT_HELD, LIBLOCK_INVALID_HANDLE, LIBLOCK_INVALID_ARGUMENT});
}

// As whoever was told the value.
inline void by_value(Stage &s, uint8_t on, uint8_t how) {
  liblock_context *context = s.side().context;
  const std::string name = key_of(on), expected = how / 4 % 3 == 0 ? "" : how / 4 % 3 == 1 ? "value" : value_of(how);
  const std::string value = value_of(on);
  liblock_status status = LIBLOCK_OK;
  if (how % 4 == 0) {
    status = liblock_release_key(context, name.data(), name.size(), expected.data(), expected.size(), nullptr);
  } else if (how % 4 == 1) {
    status = liblock_extend_key(context, name.data(), name.size(), expected.data(), expected.size(), ttl_of(how),
                                on / 64 % 3, nullptr);
  } else {
    status = liblock_update_key(context, name.data(), name.size(), expected.data(), expected.size(), value.data(),
                                value.size(), nullptr);
  }
  is_one_of(status, {LIBLOCK_OK, LIBLOCK_NOT_HELD, LIBLOCK_NOT_OWNER, LIBLOCK_INVALID_ARGUMENT});
}

// A lock on its way to another process, which is this one; half of the bytes may have suffered.
inline void pass_on(Stage &s, uint8_t on, uint8_t how) {
  liblock_context *context = s.side().context;
  std::string exported(8'192, '\0');
  size_t needed = 0;
  const liblock_status status =
      liblock_export(context, lock_of(s, on), exported.data(), exported.size(), &needed);
  is_one_of(status, {LIBLOCK_UNSUPPORTED, LIBLOCK_LOST, LIBLOCK_NOT_HELD, LIBLOCK_INVALID_HANDLE});
  exported.resize(how);
  if (how % 2 == 1) exported[on % exported.size()] ^= static_cast<char>(how);
  liblock_lock adopted = 1;
  is_one_of(liblock_adopt(context, exported.data(), exported.size(), nullptr, &adopted, nullptr),
            {LIBLOCK_UNSUPPORTED, LIBLOCK_INVALID_ARGUMENT});
  LIBLOCK_ASSERT(adopted == 0);
}

}  // namespace calls
