// SPDX-License-Identifier: MIT
// What is done with a lock that is held.
#include "refusals.hpp"

using namespace liblock;
using namespace liblock::capi;

namespace {

Status view(liblock_context *context, liblock_lock lock, HoldView &seen) {
  if (const Status status = usable(context); status != Status::OK) return status;
  seen = context->rep->engine().view(lock);
  return seen.status;
}

Nanos left_of(liblock_context *context, const HoldView &seen) {
  return context->rep->engine().clock().left_until(seen.deadline);
}

void describe(liblock_context *context, const HoldView &seen, Outcome &outcome) {
  outcome.grant.token = seen.token;
  outcome.grant.hold_count = seen.hold_count;
  outcome.grant.remaining = left_of(context, seen);
}

// Waits for the server's answer, and tells of it how the release was confirmed.
[[gnu::noinline]] liblock_status release_on_server(Context &context, liblock_lock lock,
                                                   liblock_result *result) {
  Outcome confirmed;
  const liblock_status status = guarded([&] {
    WaitedAsk ask(Ask::What::Release);
    ask.lock = lock;
    Outcome outcome;
    const Status ended = context.ask(ask, false, outcome);
    confirmed.message = std::move(outcome.message);
    confirmed.grant.votes = outcome.grant.votes;
    confirmed.grant.nodes = outcome.grant.nodes;
    return ended;
  });
  confirmed.status = static_cast<Status>(status);
  return finish(result, confirmed);
}

[[gnu::noinline]] liblock_status tell_failure(const liblock_context *context, liblock_result *result,
                                              liblock_status status) {
  return guarded_result(result, [&](Outcome &outcome) {
    return context == nullptr ? usable(context, outcome) : static_cast<Status>(status);
  });
}

}  // namespace

// What only a server, a failure or a result asks for stands apart, so that the shortest release makes none of it.
liblock_status liblock_release(liblock_context *context, liblock_lock lock, liblock_result *result) {
  if (!result_is_usable(result)) return LIBLOCK_INVALID_ARGUMENT;
  liblock_status status = raw(usable(context));
  if (status == LIBLOCK_OK) {
    if (context->rep->options().kind.has_server) return release_on_server(*context->rep, lock, result);
    status = guarded([&] { return context->rep->release(lock); });
  }
  if (result == nullptr) return status;
  if (status != LIBLOCK_OK) return tell_failure(context, result, status);
  fill_numbers(result, Status::OK, Grant(), 0);
  return LIBLOCK_OK;
}

liblock_status liblock_release_keys(liblock_context *context, liblock_owner *owner, const liblock_bytes *keys,
                                    size_t count, liblock_result *result) {
  return guarded_result(result, [&](Outcome &outcome) {
    if (const Status status = usable(context, outcome); status != Status::OK) return status;
    std::vector<Bytes> all;
    if (const char *why = wrong_count(keys, count)) return refused(outcome, why);
    if (read_keys(keys, count, all) != Status::OK) return refused(outcome, "a key has not 1 to 512 bytes");
    WaitedAsk ask(Ask::What::ReleaseKeys);
    ask.owner = owner_in(context, owner);
    if (ask.owner == nullptr)
      return refused(outcome, "owner is NULL, or of another context; LIBLOCK_OWNER_THREAD is the thread's own");
    ask.keys.assign(all.begin(), all.end());
    return context->rep->ask(ask, false, outcome);
  });
}

liblock_status liblock_extend(liblock_context *context, liblock_lock lock, int64_t ttl_ms, int32_t flags,
                              liblock_result *result) {
  return guarded_result(result, [&](Outcome &outcome) {
    if (const Status status = usable(context, outcome); status != Status::OK) return status;
    WaitedAsk ask(Ask::What::Extend);
    ask.lock = lock;
    if (const Status status = fill_extend(*context->rep, ttl_ms, flags, ask); status != Status::OK) {
      const ContextOptions &known = context->rep->options();
      const bool is_ttl =
          ttl_ms != LIBLOCK_DEFAULT && ttl_is_valid(ttl_ms, known) && ttl_is_supported(ttl_ms, known);
      outcome.message = is_ttl ? kWrongExtend : explain_ttl(ttl_ms, context->rep->options());
      return status;
    }
    const Status status = context->rep->ask(ask, false, outcome);
    if (status == Status::OK) describe(context, ask.view, outcome);
    return status;
  });
}

liblock_status liblock_update(liblock_context *context, liblock_lock lock, const void *value,
                              size_t value_size, liblock_result *result) {
  return guarded_result(result, [&](Outcome &outcome) {
    if (const Status status = usable(context, outcome); status != Status::OK) return status;
    if (const char *why = wrong_value(value, value_size)) return refused(outcome, why);
    WaitedAsk ask(Ask::What::Update);
    ask.lock = lock;
    ask.text = bytes(value, value_size);
    return context->rep->ask(ask, false, outcome);
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
    if (const Status status = usable(context); status != Status::OK) return status;
    WaitedAsk ask(Ask::What::Verify);
    ask.lock = lock;
    const Status status = context->rep->ask(ask, false, outcome);
    if (status == Status::OK) describe(context, ask.view, outcome);
    return status;
  });
}

liblock_status liblock_export(liblock_context *context, liblock_lock lock, void *buffer, size_t size,
                              size_t *needed) {
  if (needed == nullptr || (buffer == nullptr && size != 0)) return LIBLOCK_INVALID_ARGUMENT;
  *needed = 0;
  return guarded([&] {
    if (const Status status = usable(context); status != Status::OK) return status;
    WaitedAsk ask(Ask::What::Export);
    ask.lock = lock;
    ask.number = size;
    Outcome outcome;
    const Status status = context->rep->ask(ask, false, outcome);
    *needed = ask.count;
    if (status == Status::OK) std::memcpy(buffer, ask.text.data(), ask.text.size());
    explicit_bzero(ask.text.data(), ask.text.size());
    return status;
  });
}

liblock_status liblock_adopt(liblock_context *context, const void *exported, size_t size,
                             const liblock_acquire_options *options, liblock_lock *lock,
                             liblock_result *result) {
  if (lock != nullptr) *lock = 0;
  return guarded_result(result, [&](Outcome &outcome) {
    if (const Status status = usable(context, outcome); status != Status::OK) return status;
    if (const char *why = wrong_place(lock)) return refused(outcome, why);
    if (exported == nullptr || size == 0 || size > kExportMax)
      return refused(outcome, "that is nothing which liblock_export writes");
    outcome = context->rep->adopt(bytes(exported, size), options);
    *lock = outcome.grant.handle;
    return outcome.status;
  });
}

liblock_status liblock_wait_lost(liblock_context *context, liblock_lock lock, int64_t wait_ms,
                                 liblock_result *result) {
  return guarded_result(result, [&](Outcome &outcome) {
    Nanos wait;
    if (context == nullptr) return refused(outcome, kNoContext);
    if (!read_wait(wait_ms, wait)) return refused(outcome, kWrongWait);
    WaitedAsk ask(Ask::What::WaitLost);
    ask.lock = lock;
    ask.wait = wait;
    const Status status = context->rep->ask(ask, wait != 0, outcome);
    if (status == Status::TIMEOUT) outcome.message = "the lock is still held";
    return status;
  });
}
