// SPDX-License-Identifier: MIT
// The border between C and the core: the one place where exceptions stop, where results are filled in, and
// where a context is asked whether it may be used at all. Shims check pointers and sizes, then call one
// function of the core.
#pragma once

#include <algorithm>
#include <cstring>
#include <new>
#include <system_error>

#include "base/lack.hpp"
#include "context/context.hpp"
#include "context/counts.hpp"
#include "context/struct_size.hpp"

namespace liblock::capi {

constexpr size_t kKeyMax = 512;
constexpr size_t kKeysMax = 1'024;
constexpr size_t kValueMax = 4'096;
constexpr size_t kExportMax = 1'048'576;

inline liblock_status raw(Status status) { return static_cast<liblock_status>(status); }

// Runs body, which returns a Status, and turns what it throws into one.
template <typename Body>
liblock_status guarded(Body &&body) noexcept {
  try {
    return raw(body());
  } catch (const std::bad_alloc &) {
    return LIBLOCK_NO_MEMORY;
  } catch (...) {
    return LIBLOCK_INTERNAL;
  }
}

// The same, where the outcome says what the machine did not give.
template <typename Body>
liblock_status guarded_with_lack(Outcome &outcome, Body &&body) noexcept {
  return guarded([&] {
    try {
      return body();
    } catch (const std::system_error &lack) {
      outcome.message = explain(lack);
      throw;
    }
  });
}

inline bool result_is_usable(const liblock_result *result) {
  return result == nullptr ||
         (result->struct_size >= sizeof(liblock_result) && result->struct_size <= 65'536);
}

// All of a result but text and info. Here, so that the shortest path writes a few constants and makes no Outcome.
inline void fill_numbers(liblock_result *result, Status status, const Grant &grant, Nanos waited) {
  result->status = raw(status);
  result->token = grant.token;
  result->waited_ms = waited / kMillisecond;
  result->remaining_ms = grant.remaining == kNever ? -1 : ms_from_nanos(grant.remaining);
  tell_counts(*result, status == Status::OK, grant);
  result->reserved = 0;
  result->info = nullptr;
  result->message[0] = '\0';
}
// Fills in a result, which takes the info over; message: cause and cure, else the status' own text.
void fill_result(liblock_result *result, Outcome &outcome);
inline liblock_status finish(liblock_result *result, Outcome &outcome) {
  if (result != nullptr) fill_result(result, outcome);
  return raw(outcome.status);
}

// The same for calls whose result carries no more than a status. body(Outcome &) may add to the outcome.
template <typename Body>
liblock_status guarded_result(liblock_result *result, Body &&body) noexcept {
  if (!result_is_usable(result)) return LIBLOCK_INVALID_ARGUMENT;
  Outcome outcome;
  const liblock_status status = guarded_with_lack(outcome, [&] { return outcome.status = body(outcome); });
  outcome.status = static_cast<Status>(status);
  return finish(result, outcome);
}

inline bool key_is_valid(const void *key, size_t size) {
  return key != nullptr && size >= 1 && size <= kKeyMax;
}
inline Bytes bytes(const void *data, size_t size) { return {static_cast<const char *>(data), size}; }

// The context behind the handle, when it is open.
inline Status usable(const liblock_context *context) {
  return context == nullptr ? Status::INVALID_ARGUMENT : context->rep->state();
}

// The owner's core object when it belongs to this context, else null.
inline std::shared_ptr<Owner> owner_in(liblock_context *context, liblock_owner *owner) {
  if (owner == LIBLOCK_OWNER_THREAD) return context->rep->thread_owner();
  return owner != nullptr && owner->context == context->rep ? owner->rep : nullptr;
}

// What liblock_extend means in this context.
inline Status fill_extend(const Context &context, int64_t ttl_ms, int32_t flags, Ask &ask) {
  const bool known = flags == LIBLOCK_EXTEND_SET || flags == LIBLOCK_EXTEND_ADD;
  if (!known || ttl_ms == LIBLOCK_DEFAULT || !ttl_is_valid(ttl_ms, context.options()))
    return Status::INVALID_ARGUMENT;
  const ContextKind &kind = context.options().kind;
  const bool is_auto = ttl_ms == LIBLOCK_TTL_AUTO && kind.ttl_auto_ms != 0;
  if (!ttl_is_supported(ttl_ms, context.options())) return Status::UNSUPPORTED;
  ask.what = Ask::What::Extend;
  ask.ttl = is_auto ? nanos_from_ms(std::min(kind.ttl_auto_ms, context.options().table.max_ttl_ms))
                    : ttl_of(ttl_ms);
  ask.number = is_auto;
  ask.flag = flags == LIBLOCK_EXTEND_ADD;
  return Status::OK;
}

// Checked copies of a caller's array of keys.
inline Status read_keys(const liblock_bytes *keys, size_t count, std::vector<Bytes> &out) {
  if (keys == nullptr || count == 0 || count > kKeysMax) return Status::INVALID_ARGUMENT;
  out.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    if (!key_is_valid(keys[i].data, keys[i].size)) return Status::INVALID_ARGUMENT;
    out.push_back(bytes(keys[i].data, keys[i].size));
  }
  return Status::OK;
}

// As snprintf: what fits, a NUL, and the size needed.
inline Status copy_text(Bytes text, char *buffer, size_t size, size_t *needed) {
  if (buffer == nullptr && size != 0) return Status::INVALID_ARGUMENT;
  if (needed != nullptr) *needed = text.size();
  if (size == 0) return Status::OK;
  const size_t copied = std::min(text.size(), size - 1);
  std::memcpy(buffer, text.data(), copied);
  buffer[copied] = '\0';
  return Status::OK;
}

// kNever for -1; false for what is neither that nor a duration.
inline bool read_wait(int64_t wait_ms, Nanos &wait) {
  wait = wait_ms == -1 ? kNever : nanos_from_ms(wait_ms);
  return wait_ms >= -1;
}

}  // namespace liblock::capi
