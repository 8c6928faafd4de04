// SPDX-License-Identifier: MIT
// From public option structs to what the engines take: sizes, defaults, ranges. A failing check names the
// field, what it was and what it may be. Pure.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "engine/acquire_params.hpp"
#include "engine/instruments.hpp"
#include "local/table_options.hpp"

namespace liblock {

liblock_context_options default_context_options();
constexpr liblock_acquire_options default_acquire_options() {
  liblock_acquire_options o{};
  o.struct_size = sizeof o;
  o.ttl_ms = o.wait_ms = o.retries = o.retry_interval_ms = o.retry_jitter_ms = o.backoff_step_ms =
      o.backoff_cap_ms = o.age_step_ms = o.queue_ttl_ms = o.max_hold_ms = o.min_remaining_ms =
          o.replicas_timeout_ms = LIBLOCK_DEFAULT;
  o.backoff_base = 2;
  return o;
}
inline constexpr liblock_acquire_options kAcquireDefaults = default_acquire_options();

constexpr liblock_instrument_options default_instrument_options() {
  liblock_instrument_options o{};
  o.struct_size = sizeof o;
  o.events_percent = o.log_percent = 100;
  o.events_max = LIBLOCK_DEFAULT;
  return o;
}
// nullptr: all defaults.
Status read_instrument_options(const liblock_instrument_options *given, InstrumentOptions &options);

// What the same option means in different kinds of contexts.
struct ContextKind {
  bool has_server = false;
  int64_t ttl_least_ms = 1;
  int64_t ttl_auto_ms = 0;  // 0: TTL_AUTO is no expiry; else so long, and renewed
  int64_t retry_interval_ms = 10;
  int64_t retry_jitter_percent = 100;  // of the interval
  bool is_quorum = false;
};
inline constexpr ContextKind kLocalKind;
inline constexpr ContextKind kServerKind{true, 20, 30'000, 1'000, 20};
inline constexpr ContextKind kQuorumKind{true, 20, 30'000, 1'000, 20, true};

// Of contexts with servers.
struct ServerOptions {
  std::string username;
  std::string password;  // wiped by whoever takes it over
  std::string client_name = "liblock";
  int64_t connect_timeout_ms = 1'000;
  int64_t command_timeout_ms = 1'000;
  int64_t alive_ms = 3'000;
  int64_t foreign_gap_ms = 100;         // -1: never
  int64_t zombie_interval_ms = 10'000;  // -1: no sign of life
  int64_t front_ms = 0;                 // -1: there is no front
  std::string tls_ca_file, tls_ca_path, tls_certificate_file, tls_key_file, tls_server_name;
  bool tls_verify = true;
};

// Of contexts over a quorum. The texts are the caller's, for as long as the call that opens.
struct NodeOptions {
  std::vector<Bytes> servers;  // empty: the url has them
  std::vector<Bytes> observers;
  int32_t votes = 0;
  int32_t restart_policy = LIBLOCK_RESTART_QUARANTINE;
  int64_t clock_step_ms = 500;
  int64_t max_ttl_ms =
      60'000;  // for a quorum that is made; what it has counts, so that the table's is the most ever
};

struct ContextOptions {
  ContextKind kind;
  TableOptions table;
  ServerOptions server;
  NodeOptions nodes;
  void *uv_loop = nullptr;
  liblock_open_callback on_open = nullptr;
  void *on_open_user_data = nullptr;
  int64_t requests_max = 1'000'000;
  bool leave_on_close = false;
};

// message: cause and cure when the status is not OK.
Status read_context_options(const liblock_context_options *given, const ContextKind &kind,
                            ContextOptions &options, std::string &message);

// Whether everything behind ttl_ms, wait_ms and retries is as the defaults have it: what nearly every acquire
// passes, with or without an owner, recognised by comparing words instead of checking twenty ranges.
inline bool differs_in_waiting_only(const liblock_acquire_options &o,
                                    const liblock_acquire_options &defaults) {
  constexpr size_t kFrom = offsetof(liblock_acquire_options, retry_interval_ms);
  constexpr size_t kEnd = sizeof(liblock_acquire_options);
  constexpr size_t kRest = (kEnd - kFrom) % sizeof(uint64_t);  // none where pointers have 64 bits
  const auto *a = reinterpret_cast<const char *>(&o);
  const auto *b = reinterpret_cast<const char *>(&defaults);
  uint64_t difference = 0;
  for (size_t at = kFrom; at < kEnd - kRest; at += sizeof(uint64_t)) {
    uint64_t x, y;
    std::memcpy(&x, a + at, sizeof x);
    std::memcpy(&y, b + at, sizeof y);
    difference |= x ^ y;
  }
  if constexpr (kRest != 0) {
    if (std::memcmp(a + kEnd - kRest, b + kEnd - kRest, kRest) != 0) return false;
  }
  return difference == 0;
}

inline bool waiting_is_valid(const liblock_acquire_options &o) {
  return (o.wait_ms >= -1 || o.wait_ms == LIBLOCK_DEFAULT) &&
         (o.retries >= -1 || o.retries == LIBLOCK_DEFAULT);
}
// Whether it is of the kind that this context can serve.
inline bool ttl_is_supported(int64_t ttl_ms, const ContextOptions &context) {
  return ttl_ms != LIBLOCK_TTL_NONE || !context.kind.is_quorum;
}
// OK when every field is in its range. Cheap: done by every acquire.
Status check_acquire_options(const liblock_acquire_options &o, const ContextOptions &context);
// Why that is no ttl_ms here.
std::string explain_ttl(int64_t ttl_ms, const ContextOptions &context);
// Why check_acquire_options said no.
std::string explain_acquire_options(const liblock_acquire_options &o, const ContextOptions &context);
// Of checked options. Owner, completions and nodes are the context's business.
AcquireParams acquire_params(const liblock_acquire_options &o, const ContextOptions &context);
// kNever: no expiry.
inline Nanos ttl_of(int64_t ttl_ms) { return ttl_ms > 0 ? nanos_from_ms(ttl_ms) : kNever; }
inline bool ttl_is_valid(int64_t ttl_ms, const ContextOptions &context) {
  return ttl_ms > 0 ? ttl_ms >= context.kind.ttl_least_ms && ttl_ms <= context.table.max_ttl_ms
                    : ttl_ms == LIBLOCK_TTL_AUTO || ttl_ms == LIBLOCK_TTL_NONE || ttl_ms == LIBLOCK_DEFAULT;
}

}  // namespace liblock
