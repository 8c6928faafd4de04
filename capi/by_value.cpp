// SPDX-License-Identifier: MIT
// Changes of a lock by its key and the value that it carries.
#include "boundary.hpp"

using namespace liblock;
using namespace liblock::capi;

namespace {

bool value_is_valid(const void *value, size_t size) {
  return size <= kValueMax && (value != nullptr || size == 0);
}

// fill(Ask &) adds what is wanted, or says what is wrong with it.
template <typename Fill>
liblock_status change(liblock_context *context, Ask::What what, liblock_bytes key, liblock_bytes expected,
                      liblock_result *result, Fill &&fill) {
  return guarded_result(result, [&](Outcome &outcome) {
    if (const Status status = usable(context); status != Status::OK) return status;
    if (!key_is_valid(key.data, key.size) || !value_is_valid(expected.data, expected.size))
      return Status::INVALID_ARGUMENT;
    WaitedAsk ask(what);
    ask.keys.emplace_back(bytes(key.data, key.size));
    ask.text = bytes(expected.data, expected.size);
    if (const Status status = fill(ask); status != Status::OK) return status;
    const Status status = context->rep->ask(ask, false, outcome);
    if (status == Status::OK && what == Ask::What::ExtendKey && ask.view.deadline != kNever)
      outcome.grant.remaining = std::max<Nanos>(0, ask.view.deadline - context->rep->engine().clock().now());
    return status;
  });
}

}  // namespace

liblock_status liblock_release_key(liblock_context *context, const void *key, size_t key_size,
                                   const void *expected, size_t expected_size, liblock_result *result) {
  return change(context, Ask::What::ReleaseKey, {key, key_size}, {expected, expected_size}, result,
                [](Ask &) { return Status::OK; });
}
liblock_status liblock_extend_key(liblock_context *context, const void *key, size_t key_size,
                                  const void *expected, size_t expected_size, int64_t ttl_ms, int32_t flags,
                                  liblock_result *result) {
  return change(context, Ask::What::ExtendKey, {key, key_size}, {expected, expected_size}, result,
                [&](Ask &ask) {
                  const bool known = flags == LIBLOCK_EXTEND_SET || flags == LIBLOCK_EXTEND_ADD;
                  const bool fine = known && ttl_ms != LIBLOCK_DEFAULT && ttl_ms != LIBLOCK_TTL_AUTO &&
                                    ttl_is_valid(ttl_ms, context->rep->options());
                  ask.ttl = ttl_of(ttl_ms);
                  ask.flag = flags == LIBLOCK_EXTEND_ADD;
                  if (!fine) return Status::INVALID_ARGUMENT;
                  return ttl_is_supported(ttl_ms, context->rep->options()) ? Status::OK : Status::UNSUPPORTED;
                });
}
liblock_status liblock_update_key(liblock_context *context, const void *key, size_t key_size,
                                  const void *expected, size_t expected_size, const void *value,
                                  size_t value_size, liblock_result *result) {
  return change(context, Ask::What::UpdateKey, {key, key_size}, {expected, expected_size}, result,
                [&](Ask &ask) {
                  if (!value_is_valid(value, value_size)) return Status::INVALID_ARGUMENT;
                  ask.value = bytes(value, value_size);
                  return Status::OK;
                });
}
