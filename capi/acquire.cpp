// SPDX-License-Identifier: MIT
// Acquires, blocking and asynchronous.
#include "refusals.hpp"

using namespace liblock;
using namespace liblock::capi;

namespace {

liblock_status acquire_keys(liblock_context *context, std::span<const Bytes> keys,
                            const liblock_acquire_options *options, bool try_once, liblock_lock *lock,
                            liblock_result *result) {
  Outcome outcome;
  const liblock_status status = guarded_with_lack(outcome, [&] {
    outcome = context->rep->acquire(keys, options, try_once);
    return outcome.status;
  });
  outcome.status = static_cast<Status>(status);
  *lock = outcome.grant.handle;
  return finish(result, outcome);
}

// Apart, so that the shortest acquire makes none of it, as the next four.
[[gnu::cold, gnu::noinline]] liblock_status refuse(liblock_result *result, const char *why) {
  return guarded_result(result, [&](Outcome &outcome) { return refused(outcome, why); });
}

[[gnu::cold, gnu::noinline]] const char *wrong_call(const liblock_context *context, const liblock_lock *lock) {
  if (context == nullptr) return kNoContext;
  return lock == nullptr ? "lock is NULL; its handle needs a place to go to" : nullptr;
}

[[gnu::cold, gnu::noinline]] liblock_status refuse_one(const liblock_context *context, const void *key,
                                                       size_t key_size, const liblock_lock *lock,
                                                       liblock_result *result) {
  const char *why = wrong_call(context, lock);
  return refuse(result, why != nullptr ? why : wrong_key(key, key_size));
}

[[gnu::cold, gnu::noinline]] liblock_status refuse_many(const liblock_context *context,
                                                        const liblock_bytes *keys, size_t count,
                                                        const liblock_lock *lock, liblock_result *result) {
  const char *why = wrong_call(context, lock);
  return refuse(result, why != nullptr ? why : wrong_count(keys, count));
}

[[gnu::cold, gnu::noinline]] liblock_status refuse_for_memory(liblock_result *result) {
  return guarded_result(result, [](Outcome &) { return Status::NO_MEMORY; });
}

void fill_fast(liblock_result *result, const FastGrant &granted, Nanos ttl) {
  Grant grant;
  grant.token = granted.token;
  grant.hold_count = 1;
  grant.remaining = ttl;
  fill_numbers(result, Status::OK, grant, 0);
}

[[gnu::always_inline]] inline liblock_status acquire_one(liblock_context *context, const void *key,
                                                         size_t key_size, const liblock_acquire_options *options,
                                                         bool try_once, liblock_lock *lock,
                                                         liblock_result *result) {
  if (lock != nullptr) *lock = 0;
  if (context == nullptr || lock == nullptr || !key_is_valid(key, key_size) || !result_is_usable(result)) {
    return refuse_one(context, key, key_size, lock, result);
  }
  const Bytes one = bytes(key, key_size);
  FastGrant granted;
  Nanos ttl;
  bool done = false;
  const liblock_status status = guarded([&] {
    done = context->rep->acquire_fast(one, options, try_once, granted, ttl);
    return Status::OK;
  });
  if (!done || status != LIBLOCK_OK) return acquire_keys(context, {&one, 1}, options, try_once, lock, result);
  *lock = granted.handle;
  if (result != nullptr) fill_fast(result, granted, ttl);
  return LIBLOCK_OK;
}

liblock_status submit_keys(liblock_context *context, std::span<const Bytes> keys,
                           const liblock_acquire_options *options, liblock_callback callback, void *user_data,
                           liblock_request *request) {
  return guarded([&] { return context->rep->submit(keys, options, callback, user_data, request); });
}

}  // namespace

void liblock_acquire_options_init(liblock_acquire_options *options, size_t struct_size) {
  init_struct(options, struct_size, default_acquire_options());
}

liblock_status liblock_acquire(liblock_context *context, const void *key, size_t key_size,
                               const liblock_acquire_options *options, liblock_lock *lock,
                               liblock_result *result) {
  return acquire_one(context, key, key_size, options, false, lock, result);
}

liblock_status liblock_try_acquire(liblock_context *context, const void *key, size_t key_size,
                                   const liblock_acquire_options *options, liblock_lock *lock,
                                   liblock_result *result) {
  return acquire_one(context, key, key_size, options, true, lock, result);
}

liblock_status liblock_acquire_many(liblock_context *context, const liblock_bytes *keys, size_t count,
                                    const liblock_acquire_options *options, liblock_lock *lock,
                                    liblock_result *result) {
  if (lock != nullptr) *lock = 0;
  if (context == nullptr || lock == nullptr || !result_is_usable(result) || keys == nullptr || count == 0 ||
      count > kKeysMax) {
    return refuse_many(context, keys, count, lock, result);
  }
  constexpr size_t kUsual = 8;
  Bytes usual[kUsual];
  std::unique_ptr<Bytes[]> more(count > kUsual ? new (std::nothrow) Bytes[count] : nullptr);
  Bytes *all = count > kUsual ? more.get() : usual;
  if (all == nullptr) return refuse_for_memory(result);
  for (size_t i = 0; i < count; ++i) {
    if (!key_is_valid(keys[i].data, keys[i].size))
      return refuse_one(context, keys[i].data, keys[i].size, lock, result);
    all[i] = bytes(keys[i].data, keys[i].size);
  }
  FastGrant granted;
  Nanos ttl;
  bool done = false;
  const liblock_status status = guarded([&] {
    done = context->rep->acquire_many_fast({all, count}, options, granted, ttl);
    return Status::OK;
  });
  if (!done || status != LIBLOCK_OK) return acquire_keys(context, {all, count}, options, false, lock, result);
  *lock = granted.handle;
  if (result != nullptr) fill_fast(result, granted, ttl);
  return LIBLOCK_OK;
}

liblock_status liblock_acquire_global(liblock_context *context, const liblock_acquire_options *options,
                                      liblock_lock *lock, liblock_result *result) {
  if (lock != nullptr) *lock = 0;
  if (!result_is_usable(result)) return LIBLOCK_INVALID_ARGUMENT;
  if (const char *why = wrong_call(context, lock)) return refuse(result, why);
  return acquire_keys(context, {}, options, false, lock, result);
}

liblock_status liblock_acquire_async(liblock_context *context, const void *key, size_t key_size,
                                     const liblock_acquire_options *options, liblock_callback callback,
                                     void *user_data, liblock_request *request) {
  if (request == nullptr) return LIBLOCK_INVALID_ARGUMENT;
  *request = 0;
  if (context == nullptr || !key_is_valid(key, key_size)) return LIBLOCK_INVALID_ARGUMENT;
  const Bytes one = bytes(key, key_size);
  return submit_keys(context, {&one, 1}, options, callback, user_data, request);
}

liblock_status liblock_acquire_many_async(liblock_context *context, const liblock_bytes *keys, size_t count,
                                          const liblock_acquire_options *options, liblock_callback callback,
                                          void *user_data, liblock_request *request) {
  if (request == nullptr) return LIBLOCK_INVALID_ARGUMENT;
  *request = 0;
  if (context == nullptr) return LIBLOCK_INVALID_ARGUMENT;
  return guarded([&] {
    std::vector<Bytes> all;
    if (const Status status = read_keys(keys, count, all); status != Status::OK) return status;
    return context->rep->submit(all, options, callback, user_data, request);
  });
}

liblock_status liblock_acquire_global_async(liblock_context *context, const liblock_acquire_options *options,
                                            liblock_callback callback, void *user_data,
                                            liblock_request *request) {
  if (request == nullptr) return LIBLOCK_INVALID_ARGUMENT;
  *request = 0;
  if (context == nullptr) return LIBLOCK_INVALID_ARGUMENT;
  return submit_keys(context, {}, options, callback, user_data, request);
}

liblock_status liblock_cancel(liblock_context *context, liblock_request request) {
  if (context == nullptr) return LIBLOCK_INVALID_ARGUMENT;
  return guarded([&] { return context->rep->cancel(request); });
}
