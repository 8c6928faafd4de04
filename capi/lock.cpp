// SPDX-License-Identifier: MIT
// What is done with a lock that is held.
#include "boundary.hpp"

using namespace liblock;
using namespace liblock::capi;

namespace {

Status view(liblock_context *context, liblock_lock lock, HoldView &seen) {
  if (const Status status = usable(context); status != Status::OK) return status;
  seen = context->rep->engine().view(lock);
  return seen.status;
}

Nanos left_of(liblock_context *context, const HoldView &seen) {
  if (seen.deadline == kNever) return kNever;
  const Clock &clock = context->rep->engine().clock();
  return std::max<Nanos>(0, seen.deadline - clock.coarse() - clock.resolution());
}

void describe(liblock_context *context, const HoldView &seen, Outcome &outcome) {
  outcome.grant.token = seen.token;
  outcome.grant.hold_count = seen.hold_count;
  outcome.grant.remaining = left_of(context, seen);
}

// The owner's core object when it belongs to this context, else null.
std::shared_ptr<Owner> owner_in(liblock_context *context, liblock_owner *owner) {
  if (owner == LIBLOCK_OWNER_THREAD) return context->rep->thread_owner();
  return owner != nullptr && owner->context == context->rep ? owner->rep : nullptr;
}

}  // namespace

liblock_status liblock_release(liblock_context *context, liblock_lock lock, liblock_result *result) {
  if (!result_is_usable(result)) return LIBLOCK_INVALID_ARGUMENT;
  const liblock_status status = guarded([&] {
    const Status open = usable(context);
    return open != Status::OK ? open : context->rep->engine().release(lock);
  });
  if (result != nullptr) {
    Outcome outcome;
    outcome.status = static_cast<Status>(status);
    fill_result(result, outcome);
  }
  return status;
}

liblock_status liblock_release_keys(liblock_context *context, liblock_owner *owner, const liblock_bytes *keys,
                                    size_t count, liblock_result *result) {
  return guarded_result(result, [&](Outcome &) {
    if (const Status status = usable(context); status != Status::OK) return status;
    std::vector<Bytes> all;
    if (const Status status = read_keys(keys, count, all); status != Status::OK) return status;
    const std::shared_ptr<Owner> holder = owner_in(context, owner);
    return holder == nullptr ? Status::INVALID_ARGUMENT : context->rep->engine().release_keys(*holder, all);
  });
}

liblock_status liblock_extend(liblock_context *context, liblock_lock lock, int64_t ttl_ms, int32_t flags,
                              liblock_result *result) {
  return guarded_result(result, [&](Outcome &outcome) {
    if (const Status status = usable(context); status != Status::OK) return status;
    const bool known = flags == LIBLOCK_EXTEND_SET || flags == LIBLOCK_EXTEND_ADD;
    if (!known || ttl_ms == LIBLOCK_DEFAULT ||
        !ttl_is_valid(ttl_ms, context->rep->options().table.max_ttl_ms)) {
      outcome.message =
          "ttl_ms must be 1 to max_ttl_ms, TTL_AUTO or TTL_NONE; flags EXTEND_SET or EXTEND_ADD";
      return Status::INVALID_ARGUMENT;
    }
    HoldView after;
    const Status status =
        context->rep->engine().extend(lock, ttl_of(ttl_ms), flags == LIBLOCK_EXTEND_ADD, after);
    if (status == Status::OK) describe(context, after, outcome);
    return status;
  });
}

liblock_status liblock_update(liblock_context *context, liblock_lock lock, const void *value,
                              size_t value_size, liblock_result *result) {
  return guarded_result(result, [&](Outcome &) {
    if (const Status status = usable(context); status != Status::OK) return status;
    if (value_size > kValueMax || (value == nullptr && value_size != 0)) return Status::INVALID_ARGUMENT;
    return context->rep->engine().update(lock, bytes(value, value_size));
  });
}

liblock_status liblock_is_held(liblock_context *context, liblock_lock lock) {
  HoldView seen;
  return guarded([&] { return view(context, lock, seen); });
}

liblock_status liblock_remaining_ms(liblock_context *context, liblock_lock lock, int64_t *remaining_ms) {
  if (remaining_ms == nullptr) return LIBLOCK_INVALID_ARGUMENT;
  *remaining_ms = 0;
  HoldView seen;
  const liblock_status status = guarded([&] { return view(context, lock, seen); });
  if (status != LIBLOCK_OK) return status;
  const Nanos left = left_of(context, seen);
  *remaining_ms = left == kNever ? -1 : ms_from_nanos(left);
  return status;
}

liblock_status liblock_fencing_token(liblock_context *context, liblock_lock lock, uint64_t *token) {
  if (token == nullptr) return LIBLOCK_INVALID_ARGUMENT;
  HoldView seen;
  const liblock_status status = guarded([&] { return view(context, lock, seen); });
  *token = status == LIBLOCK_OK ? seen.token : 0;
  return status;
}

liblock_status liblock_hold_count(liblock_context *context, liblock_lock lock, uint32_t *count) {
  if (count == nullptr) return LIBLOCK_INVALID_ARGUMENT;
  HoldView seen;
  const liblock_status status = guarded([&] { return view(context, lock, seen); });
  *count = status == LIBLOCK_OK ? seen.hold_count : 0;
  return status;
}

liblock_status liblock_verify(liblock_context *context, liblock_lock lock, liblock_result *result) {
  return guarded_result(result, [&](Outcome &outcome) {
    HoldView seen;
    const Status status = view(context, lock, seen);
    if (status == Status::OK) describe(context, seen, outcome);
    return status;
  });
}

liblock_status liblock_wait_lost(liblock_context *context, liblock_lock lock, int64_t wait_ms,
                                 liblock_result *result) {
  return guarded_result(result, [&](Outcome &outcome) {
    Nanos wait;
    if (context == nullptr || !read_wait(wait_ms, wait)) return Status::INVALID_ARGUMENT;
    return context->rep->wait(outcome, wait, [&] { return context->rep->engine().wait_lost(lock, wait); });
  });
}
