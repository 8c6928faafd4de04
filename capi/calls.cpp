// SPDX-License-Identifier: MIT
// The _async twins of the calls that may talk to a server.
#include "async.hpp"

using namespace liblock;
using namespace liblock::capi;

namespace {

struct Waiter {
  liblock_completions *completions;
  liblock_callback callback;
  void *user_data;
  liblock_request *request;
};

Status fill_wait(Ask::What what, int64_t wait_ms, Ask &ask) {
  ask.what = what;
  return read_wait(wait_ms, ask.wait) ? Status::OK : Status::INVALID_ARGUMENT;
}

liblock_status wait_for_key(liblock_context *context, const void *key, size_t key_size, int64_t wait_ms,
                            const Waiter &end, Ask::What what) {
  return start(context, end.completions, end.callback, end.user_data, end.request, [&](Ask &ask) {
    if (!key_is_valid(key, key_size)) return Status::INVALID_ARGUMENT;
    ask.keys.emplace_back(bytes(key, key_size));
    return fill_wait(what, wait_ms, ask);
  });
}

}  // namespace

liblock_status liblock_release_async(liblock_context *context, liblock_lock lock,
                                     liblock_completions *completions, liblock_callback callback,
                                     void *user_data, liblock_request *request) {
  return start(context, completions, callback, user_data, request, [&](Ask &ask) {
    ask.what = Ask::What::Release;
    ask.lock = lock;
    return Status::OK;
  });
}

liblock_status liblock_release_keys_async(liblock_context *context, liblock_owner *owner,
                                          const liblock_bytes *keys, size_t count,
                                          liblock_completions *completions, liblock_callback callback,
                                          void *user_data, liblock_request *request) {
  return start(context, completions, callback, user_data, request, [&](Ask &ask) {
    std::vector<Bytes> all;
    if (const Status status = read_keys(keys, count, all); status != Status::OK) return status;
    ask.what = Ask::What::ReleaseKeys;
    ask.owner = owner_in(context, owner);
    ask.keys.assign(all.begin(), all.end());
    return ask.owner != nullptr ? Status::OK : Status::INVALID_ARGUMENT;
  });
}

liblock_status liblock_extend_async(liblock_context *context, liblock_lock lock, int64_t ttl_ms,
                                    int32_t flags, liblock_completions *completions,
                                    liblock_callback callback, void *user_data, liblock_request *request) {
  return start(context, completions, callback, user_data, request, [&](Ask &ask) {
    ask.lock = lock;
    return fill_extend(*context->rep, ttl_ms, flags, ask);
  });
}

liblock_status liblock_update_async(liblock_context *context, liblock_lock lock, const void *value,
                                    size_t value_size, liblock_completions *completions,
                                    liblock_callback callback, void *user_data, liblock_request *request) {
  return start(context, completions, callback, user_data, request, [&](Ask &ask) {
    if (value_size > kValueMax || (value == nullptr && value_size != 0)) return Status::INVALID_ARGUMENT;
    ask.what = Ask::What::Update;
    ask.lock = lock;
    ask.text = bytes(value, value_size);
    return Status::OK;
  });
}

liblock_status liblock_verify_async(liblock_context *context, liblock_lock lock,
                                    liblock_completions *completions, liblock_callback callback,
                                    void *user_data, liblock_request *request) {
  return start(context, completions, callback, user_data, request, [&](Ask &ask) {
    ask.what = Ask::What::Verify;
    ask.lock = lock;
    return Status::OK;
  });
}

liblock_status liblock_ping_async(liblock_context *context, liblock_completions *completions,
                                  liblock_callback callback, void *user_data, liblock_request *request) {
  return start(context, completions, callback, user_data, request, [](Ask &) { return Status::OK; });
}

liblock_status liblock_inspect_async(liblock_context *context, const void *key, size_t key_size,
                                     liblock_completions *completions, liblock_callback callback,
                                     void *user_data, liblock_request *request) {
  return start(context, completions, callback, user_data, request, [&](Ask &ask) {
    if (!key_is_valid(key, key_size)) return Status::INVALID_ARGUMENT;
    ask.what = Ask::What::Inspect;
    ask.keys.emplace_back(bytes(key, key_size));
    return Status::OK;
  });
}

liblock_status liblock_force_release_async(liblock_context *context, const void *key, size_t key_size,
                                           int32_t flags, liblock_completions *completions,
                                           liblock_callback callback, void *user_data,
                                           liblock_request *request) {
  return start(context, completions, callback, user_data, request, [&](Ask &ask) {
    if (!key_is_valid(key, key_size) || (flags & ~LIBLOCK_DROP_QUEUE) != 0) return Status::INVALID_ARGUMENT;
    ask.what = Ask::What::ForceRelease;
    ask.keys.emplace_back(bytes(key, key_size));
    ask.flag = (flags & LIBLOCK_DROP_QUEUE) != 0;
    return Status::OK;
  });
}

liblock_status liblock_wait_lost_async(liblock_context *context, liblock_lock lock, int64_t wait_ms,
                                       liblock_completions *completions, liblock_callback callback,
                                       void *user_data, liblock_request *request) {
  return start(context, completions, callback, user_data, request, [&](Ask &ask) {
    ask.lock = lock;
    return fill_wait(Ask::What::WaitLost, wait_ms, ask);
  });
}

liblock_status liblock_wait_held_async(liblock_context *context, const void *key, size_t key_size,
                                       int64_t wait_ms, liblock_completions *completions,
                                       liblock_callback callback, void *user_data, liblock_request *request) {
  return wait_for_key(context, key, key_size, wait_ms, {completions, callback, user_data, request},
                      Ask::What::WaitHeld);
}

liblock_status liblock_wait_released_async(liblock_context *context, const void *key, size_t key_size,
                                           int64_t wait_ms, liblock_completions *completions,
                                           liblock_callback callback, void *user_data,
                                           liblock_request *request) {
  return wait_for_key(context, key, key_size, wait_ms, {completions, callback, user_data, request},
                      Ask::What::WaitReleased);
}
