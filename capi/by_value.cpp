// SPDX-License-Identifier: MIT
// Changes of a lock by its key and the value that it carries.
#include "refusals.hpp"

using namespace liblock;
using namespace liblock::capi;

namespace {

// fill(Ask &, Outcome &) adds what is wanted, or says what is wrong with it.
template <typename Fill>
liblock_status change(liblock_context *context, Ask::What what, liblock_bytes key, liblock_bytes expected,
                      liblock_result *result, Fill &&fill) {
  return guarded_result(result, [&](Outcome &outcome) {
    if (const Status status = usable(context, outcome); status != Status::OK) return status;
    if (const char *why = wrong_key(key.data, key.size)) return refused(outcome, why);
    if (const char *why = wrong_value(expected.data, expected.size)) return refused(outcome, why);
    WaitedAsk ask(what);
    ask.keys.emplace_back(bytes(key.data, key.size));
    ask.text = bytes(expected.data, expected.size);
    if (const Status status = fill(ask, outcome); status != Status::OK) return status;
    const Status status = context->rep->ask(ask, false, outcome);
    if (status == Status::OK && what == Ask::What::ExtendKey && ask.view.deadline != kNever)
      outcome.grant.remaining = std::max<Nanos>(0, ask.view.deadline - context->rep->engine().clock().now());
    return status;
  });
}

Status check_extension(int64_t ttl_ms, int32_t flags, const ContextOptions &known, std::string &message) {
  if (flags != LIBLOCK_EXTEND_SET && flags != LIBLOCK_EXTEND_ADD)
    return refused(message, kWrongExtend);
  if (ttl_ms == LIBLOCK_DEFAULT || ttl_ms == LIBLOCK_TTL_AUTO)
    return refused(message, "ttl_ms must say a time: nothing renews what is known by its value alone");
  const bool is_valid = ttl_is_valid(ttl_ms, known);
  if (is_valid && ttl_is_supported(ttl_ms, known)) return Status::OK;
  message = explain_ttl(ttl_ms, known);
  return is_valid ? Status::UNSUPPORTED : Status::INVALID_ARGUMENT;
}

}  // namespace

liblock_status liblock_release_key(liblock_context *context, const void *key, size_t key_size,
                                   const void *expected, size_t expected_size, liblock_result *result) {
  return change(context, Ask::What::ReleaseKey, {key, key_size}, {expected, expected_size}, result,
                [](Ask &, Outcome &) { return Status::OK; });
}
liblock_status liblock_extend_key(liblock_context *context, const void *key, size_t key_size,
                                  const void *expected, size_t expected_size, int64_t ttl_ms, int32_t flags,
                                  liblock_result *result) {
  return change(context, Ask::What::ExtendKey, {key, key_size}, {expected, expected_size}, result,
                [&](Ask &ask, Outcome &outcome) {
                  ask.ttl = ttl_of(ttl_ms);
                  ask.flag = flags == LIBLOCK_EXTEND_ADD;
                  return check_extension(ttl_ms, flags, context->rep->options(), outcome.message);
                });
}
liblock_status liblock_update_key(liblock_context *context, const void *key, size_t key_size,
                                  const void *expected, size_t expected_size, const void *value,
                                  size_t value_size, liblock_result *result) {
  return change(context, Ask::What::UpdateKey, {key, key_size}, {expected, expected_size}, result,
                [&](Ask &ask, Outcome &outcome) {
                  if (const char *why = wrong_value(value, value_size)) return refused(outcome, why);
                  ask.value = bytes(value, value_size);
                  return Status::OK;
                });
}
