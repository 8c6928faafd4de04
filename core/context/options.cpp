// SPDX-License-Identifier: MIT
// See options.hpp. Every range stands once, in a table, from which both the check and its explanation follow.
#include "context/options.hpp"

#include <algorithm>
#include <cstring>

#include "context/struct_size.hpp"

namespace liblock {

namespace {

struct Range {
  const char *name;
  int64_t value;
  int64_t least;
  int64_t most;
  bool has_default;      // LIBLOCK_DEFAULT is allowed
  bool has_off = false;  // -1 is allowed

  bool holds() const {
    return (value >= least && value <= most) || (has_default && value == LIBLOCK_DEFAULT) ||
           (has_off && value == -1);
  }
  std::string text() const {
    return std::string(name) + " is " + std::to_string(value) + "; use " + std::to_string(least) + " to " +
           (most == INT64_MAX ? "INT64_MAX" : std::to_string(most)) + (has_off ? ", -1 for off" : "") +
           (has_default ? ", or LIBLOCK_DEFAULT" : "");
  }
};

int64_t or_default(int64_t value, int64_t fallback) { return value == LIBLOCK_DEFAULT ? fallback : value; }

constexpr int64_t kSizeMax = 4'096;
constexpr int64_t kMetadataMax = 64;
constexpr char kNoTtlNone[] =
    "ttl_ms: over a quorum every lease ends; use LIBLOCK_TTL_AUTO, which lives as long as the process holds "
    "it";
constexpr int64_t kNodesMax = 15;
constexpr int64_t kServerTtlMaxMs = 86'400'000;
constexpr int64_t kServerDeadlockDelayMs = 100;
constexpr int64_t kNodeTimeoutMs = 200;

template <typename Visit>
void visit_ranges(const liblock_acquire_options &o, Visit visit) {
  visit({"wait_ms", o.wait_ms, -1, INT64_MAX, true});
  visit({"retries", o.retries, -1, INT64_MAX, true});
  visit({"retry_interval_ms", o.retry_interval_ms, 0, INT64_MAX, true});
  visit({"retry_jitter_ms", o.retry_jitter_ms, 0, INT64_MAX, true});
  visit({"backoff", o.backoff, 0, 2, false});
  visit({"backoff_base", o.backoff_base, 2, 1'000, false});
  visit({"backoff_step_ms", o.backoff_step_ms, 0, INT64_MAX, true});
  visit({"backoff_cap_ms", o.backoff_cap_ms, 0, INT64_MAX, true});
  visit({"order", o.order, 0, 3, false});
  visit({"priority", o.priority, -1'000'000, 1'000'000, false});
  visit({"age_step_ms", o.age_step_ms, 1, 86'400'000, true});
  visit({"on_conflict", o.on_conflict, 0, 3, false});
  visit({"on_deadlock", o.on_deadlock, 0, 2, false});
  visit({"renew", o.renew, 0, 1, false});
  visit({"min_remaining_ms", o.min_remaining_ms, 0, INT64_MAX, true});
  visit({"value_size", static_cast<int64_t>(o.value_size), 0, kSizeMax, false});
  visit({"replicas", o.replicas, 0, 64, false});
  visit({"replicas_timeout_ms", o.replicas_timeout_ms, 1, 60'000, true});
  visit({"instrument", o.instrument, 0, 7, false});
  visit({"busy_info", o.busy_info, 0, 1, false});
  visit({"reserved", o.reserved, 0, 0, false});
  visit({"votes", o.votes, -1, kNodesMax, false});
  visit({"on_nodes_mismatch", o.on_nodes_mismatch, 0, 3, false});
  visit({"metadata_count", static_cast<int64_t>(o.metadata_count), 0, kMetadataMax, false});
}

// What an info tells of every lock: metadata of the same name could be taken for it.
constexpr std::string_view kReservedNames[] = {
    "key",      "lock_key",       "owner",        "instance", "host",       "token", "since",
    "since_us", "initial_ttl_ms", "remaining_ms", "count",    "hold_count", "value"};
bool is_reserved(const liblock_bytes &name) {
  const std::string_view text(static_cast<const char *>(name.data), name.size);
  return std::find(std::begin(kReservedNames), std::end(kReservedNames), text) != std::end(kReservedNames);
}

// Of so many nodes; nullptr when there may be so few or so many.
const char *problem_of_votes(int64_t votes, size_t nodes) {
  if (votes <= 0) return nullptr;
  if (static_cast<size_t>(votes) > nodes)
    return "votes is more than there are nodes; use more than half of node_count, or LIBLOCK_VOTES_ALL";
  return static_cast<size_t>(votes) * 2 > nodes
             ? nullptr
             : "votes is not more than half of the nodes: two could hold the lock";
}

// nullptr when these texts are there, and not too many.
const char *problem_of_list(const char *const *list, size_t count) {
  if ((list == nullptr) != (count == 0)) return "a list of servers, observers or nodes is NULL, or empty";
  if (count > static_cast<size_t>(kNodesMax)) return "a list of servers, observers or nodes has more than 15";
  for (size_t i = 0; i < count; ++i) {
    if (list[i] == nullptr) return "a server, observer or node is NULL";
  }
  return nullptr;
}

bool is_off_or_positive(int64_t value) { return value == LIBLOCK_DEFAULT || value == -1 || value > 0; }

// What does not fit into a table of ranges; nullptr when all is well.
const char *contradiction_of(const liblock_acquire_options &o, const ContextOptions &context) {
  if (!is_off_or_positive(o.queue_ttl_ms)) return "queue_ttl_ms must be 1 or more, or -1 for never";
  if (!is_off_or_positive(o.max_hold_ms)) return "max_hold_ms must be 1 or more, or -1 for none";
  if (o.max_hold_ms > 0 && o.max_hold_ms < context.kind.ttl_least_ms)
    return "max_hold_ms is less than the shortest lease here (20 on servers)";
  if (o.renew == 1 && o.ttl_ms <= 0)
    return context.kind.has_server ? "renew needs a ttl_ms of 20 or more; LIBLOCK_TTL_AUTO is renewed as it is"
                                   : "renew needs a ttl_ms of 1 or more: there is no lease to renew otherwise";
  if (o.ttl_ms > 0 && o.min_remaining_ms > o.ttl_ms)
    return "min_remaining_ms is more than ttl_ms: no grant could pass";
  if (const char *problem = problem_of_list(o.nodes, o.node_count); problem != nullptr) return problem;
  // How many nodes there are without a list of them, only the engine knows.
  if (o.nodes != nullptr || !context.kind.is_quorum) {
    const size_t count = o.nodes != nullptr ? o.node_count : 1;
    if (const char *problem = problem_of_votes(o.votes, count); problem != nullptr) return problem;
  }
  if (o.value == nullptr && o.value_size != 0) return "value is NULL but value_size is not 0";
  if (o.metadata == nullptr && o.metadata_count != 0) return "metadata is NULL but metadata_count is not 0";
  size_t size = 0;
  for (size_t i = 0; i < o.metadata_count; ++i) {
    const liblock_metadata &m = o.metadata[i];
    if (m.name.data == nullptr || m.name.size == 0) return "a metadata name is empty";
    if (is_reserved(m.name))
      return "a metadata name is reserved; not key, lock_key, owner, instance, host, token, since, since_us, "
             "initial_ttl_ms, remaining_ms, count, hold_count or value";
    if (m.value.data == nullptr && m.value.size != 0) return "a metadata value is NULL but its size is not 0";
    if (m.name.size > kSizeMax || m.value.size > kSizeMax)
      return "metadata is larger than 4,096 bytes in all";
    size += m.name.size + m.value.size;
  }
  return size > kSizeMax ? "metadata is larger than 4,096 bytes in all" : nullptr;
}

}  // namespace

liblock_context_options default_context_options() {
  liblock_context_options o{};
  o.struct_size = sizeof o;
  o.cleanup_interval_ms = o.cleanup_batch_size = o.max_ttl_ms = o.deadlock_detection = o.deadlock_delay_ms =
      o.locks_max = o.waiters_max = o.requests_max = o.connect_timeout_ms = o.command_timeout_ms =
          o.alive_ms = o.foreign_gap_ms = o.zombie_interval_ms = o.clock_step_ms = o.front_ms =
              LIBLOCK_DEFAULT;
  return o;
}

namespace {

std::string text_of(const char *text) { return text == nullptr ? std::string() : std::string(text); }

// What fits no table of ranges; nullptr when all is well.
const char *contradiction_of(const liblock_context_options &o, const ContextKind &kind) {
  const bool names_server = o.username != nullptr || o.password != nullptr || o.client_name != nullptr ||
                            o.tls_ca_file != nullptr || o.tls_ca_path != nullptr ||
                            o.tls_certificate_file != nullptr || o.tls_key_file != nullptr ||
                            o.tls_server_name != nullptr || o.tls_insecure != 0;
  if (names_server && !kind.has_server)
    return "username, password, client_name and tls_… are for contexts with a server";
  if ((o.tls_certificate_file == nullptr) != (o.tls_key_file == nullptr))
    return "tls_certificate_file and tls_key_file go together";
  if (o.client_name != nullptr && std::strcspn(o.client_name, " \r\n\t") != std::strlen(o.client_name))
    return "client_name must have no spaces or line ends";
  if (!kind.is_quorum && (o.servers != nullptr || o.observers != nullptr))
    return "servers stand instead of a url, which is NULL then; observers are for them and for quorum: urls";
  if (const char *problem = problem_of_list(o.servers, o.server_count); problem != nullptr) return problem;
  if (const char *problem = problem_of_list(o.observers, o.observer_count); problem != nullptr)
    return problem;
  return kind.is_quorum ? nullptr : problem_of_votes(o.votes, 1);
}

void read_node_options(const liblock_context_options &o, NodeOptions &nodes) {
  nodes.servers.assign(o.servers, o.servers + o.server_count);
  nodes.observers.assign(o.observers, o.observers + o.observer_count);
  nodes.votes = o.votes;
  nodes.restart_policy = o.restart_policy;
  nodes.clock_step_ms = or_default(o.clock_step_ms, nodes.clock_step_ms);
  nodes.max_ttl_ms = or_default(o.max_ttl_ms, nodes.max_ttl_ms);
}

void read_server_options(const liblock_context_options &o, ServerOptions &server) {
  server.username = text_of(o.username);
  server.password = text_of(o.password);
  if (o.client_name != nullptr) server.client_name = o.client_name;
  server.connect_timeout_ms = or_default(o.connect_timeout_ms, server.connect_timeout_ms);
  server.command_timeout_ms = or_default(o.command_timeout_ms, server.command_timeout_ms);
  server.alive_ms = or_default(o.alive_ms, server.alive_ms);
  server.foreign_gap_ms = or_default(o.foreign_gap_ms, server.foreign_gap_ms);
  server.zombie_interval_ms = or_default(o.zombie_interval_ms, server.zombie_interval_ms);
  server.front_ms = or_default(o.front_ms, server.front_ms);
  server.tls_ca_file = text_of(o.tls_ca_file);
  server.tls_ca_path = text_of(o.tls_ca_path);
  server.tls_certificate_file = text_of(o.tls_certificate_file);
  server.tls_key_file = text_of(o.tls_key_file);
  server.tls_server_name = text_of(o.tls_server_name);
  server.tls_verify = o.tls_insecure == 0;
}

}  // namespace

Status read_context_options(const liblock_context_options *given, const ContextKind &kind,
                            ContextOptions &options, std::string &message) {
  liblock_context_options o = default_context_options();
  if (given != nullptr) {
    const Status status = read_struct(given, o);
    if (status != Status::OK) {
      message = status == Status::UNSUPPORTED
                    ? "options come from a newer header and ask for something unknown"
                    : "options.struct_size is not set; use liblock_context_options_init";
      return status;
    }
  }
  const Range ranges[] = {
      {"prefix_size", static_cast<int64_t>(o.prefix_size), 0, 256, false},
      {"cleanup_interval_ms", o.cleanup_interval_ms, 1, INT64_MAX, true, true},
      {"cleanup_batch_size", o.cleanup_batch_size, 1, 65'536, true},
      {"max_ttl_ms", o.max_ttl_ms, kind.ttl_least_ms, kind.has_server ? kServerTtlMaxMs : INT64_MAX, true},
      {"deadlock_detection", o.deadlock_detection, 0, 1, true},
      {"deadlock_delay_ms", o.deadlock_delay_ms, 0, INT64_MAX, true},
      {"locks_max", o.locks_max, 1, 67'108'864, true},
      {"waiters_max", o.waiters_max, 0, 16'777'216, true},
      {"requests_max", o.requests_max, 0, 16'777'216, true},
      {"on_close", o.on_close, 0, 1, false},
      {"reserved", o.reserved, 0, 0, false},
      {"connect_timeout_ms", o.connect_timeout_ms, 1, 600'000, true},
      {"command_timeout_ms", o.command_timeout_ms, 1, 600'000, true},
      {"alive_ms", o.alive_ms, 30, 600'000, true},
      {"tls_insecure", o.tls_insecure, 0, 1, false},
      {"reserved2", o.reserved2, 0, 0, false},
      {"foreign_gap_ms", o.foreign_gap_ms, -1, 600'000, true},
      {"zombie_interval_ms", o.zombie_interval_ms, 100, 3'600'000, true, true},
      {"clock_step_ms", o.clock_step_ms, 1, 600'000, true},
      {"votes", o.votes, -1, kNodesMax, false},
      {"restart_policy", o.restart_policy, 0, 1, false},
      {"front_ms", o.front_ms, 0, 600'000, true, true},
  };
  for (const Range &range : ranges) {
    if (range.holds()) continue;
    message = range.text();
    return Status::INVALID_ARGUMENT;
  }
  if (const char *contradiction = contradiction_of(o, kind); contradiction != nullptr) {
    message = contradiction;
    return Status::INVALID_ARGUMENT;
  }
  options.kind = kind;
  if (kind.is_quorum) options.server.command_timeout_ms = kNodeTimeoutMs;
  read_server_options(o, options.server);
  read_node_options(o, options.nodes);
  TableOptions &t = options.table;
  if (kind.has_server) {
    t.prefix = "liblock:";
    t.max_ttl_ms = kServerTtlMaxMs;
    t.deadlock_delay_ms = kServerDeadlockDelayMs;
  }
  if (o.prefix != nullptr) t.prefix.assign(static_cast<const char *>(o.prefix), o.prefix_size);
  t.cleanup_interval_ms = or_default(o.cleanup_interval_ms, t.cleanup_interval_ms);
  t.cleanup_batch_size = or_default(o.cleanup_batch_size, t.cleanup_batch_size);
  t.max_ttl_ms = or_default(o.max_ttl_ms, t.max_ttl_ms);
  t.deadlock_detection = or_default(o.deadlock_detection, 1) == 1;
  t.deadlock_delay_ms = or_default(o.deadlock_delay_ms, t.deadlock_delay_ms);
  t.locks_max = or_default(o.locks_max, t.locks_max);
  t.waiters_max = or_default(o.waiters_max, t.waiters_max);
  options.requests_max = or_default(o.requests_max, options.requests_max);
  options.uv_loop = o.uv_loop;
  options.on_open = o.on_open;
  options.on_open_user_data = o.on_open_user_data;
  options.leave_on_close = o.on_close == LIBLOCK_ON_CLOSE_LEAVE;
  return Status::OK;
}

Status read_instrument_options(const liblock_instrument_options *given, InstrumentOptions &options) {
  liblock_instrument_options o = default_instrument_options();
  if (given != nullptr) {
    if (const Status status = read_struct(given, o); status != Status::OK) return status;
  }
  const Range ranges[] = {
      {"events_percent", o.events_percent, 0, 100, false}, {"log_percent", o.log_percent, 0, 100, false},
      {"events_max", o.events_max, 1, 1'048'576, true},    {"log_attempts", o.log_attempts, 0, 1, false},
      {"histograms", o.histograms, 0, 1, false},
  };
  for (const Range &range : ranges) {
    if (!range.holds()) return Status::INVALID_ARGUMENT;
  }
  options.events_percent = o.events_percent;
  options.log_percent = o.log_percent;
  options.events_sampler = o.events_sampler;
  options.events_sampler_user_data = o.events_sampler_user_data;
  options.log_sampler = o.log_sampler;
  options.log_sampler_user_data = o.log_sampler_user_data;
  options.events_max = static_cast<size_t>(or_default(o.events_max, EventQueue::kMaxUsual));
  options.log_attempts = o.log_attempts == 1;
  options.histograms = o.histograms == 1;
  return Status::OK;
}

namespace {

// What is asked for that this kind of context cannot do, and what to use instead; nullptr: it can do all.
const char *unsupported_in(const liblock_acquire_options &o, const ContextOptions &context) {
  const ContextKind &kind = context.kind;
  if (o.mode != LIBLOCK_MODE_EXCLUSIVE) return "mode is not EXCLUSIVE; shared locks are not in this version";
  if (o.replicas > 0 && !kind.has_server) return "replicas: a local context has none; leave it 0";
  if (!kind.is_quorum)
    return o.nodes != nullptr ? "nodes are those of a quorum, and here is none; leave it NULL" : nullptr;
  if (o.replicas > 0)
    return "replicas: a quorum has none to wait for; ask for more votes, or LIBLOCK_VOTES_ALL";
  if (o.order == LIBLOCK_ORDER_LIFO || o.order == LIBLOCK_ORDER_PRIORITY)
    return "order: a quorum knows FIFO, as well as its nodes agree, and ANY; LIFO and PRIORITY need one "
           "server";
  if (!ttl_is_supported(o.ttl_ms, context)) return kNoTtlNone;
  return nullptr;
}

}  // namespace

Status check_acquire_options(const liblock_acquire_options &o, const ContextOptions &context) {
  if (differs_in_waiting_only(o, kAcquireDefaults) && ttl_is_valid(o.ttl_ms, context) &&
      ttl_is_supported(o.ttl_ms, context) && waiting_is_valid(o))
    return Status::OK;
  if (unsupported_in(o, context) != nullptr) return Status::UNSUPPORTED;
  bool fine = ttl_is_valid(o.ttl_ms, context);
  visit_ranges(o, [&fine](const Range &range) { fine = fine && range.holds(); });
  return fine && contradiction_of(o, context) == nullptr ? Status::OK : Status::INVALID_ARGUMENT;
}

std::string explain_ttl(int64_t ttl_ms, const ContextOptions &context) {
  if (!ttl_is_supported(ttl_ms, context)) return kNoTtlNone;
  const std::string is = "ttl_ms is " + std::to_string(ttl_ms) + "; use " + std::to_string(context.kind.ttl_least_ms) +
                         " to max_ttl_ms (" + std::to_string(context.table.max_ttl_ms);
  if (context.kind.is_quorum) return is + " here, and no more than the quorum's), or LIBLOCK_TTL_AUTO";
  return is + "), LIBLOCK_TTL_AUTO or LIBLOCK_TTL_NONE";
}

std::string explain_acquire_options(const liblock_acquire_options &o, const ContextOptions &context) {
  if (const char *unsupported = unsupported_in(o, context); unsupported != nullptr) return unsupported;
  if (!ttl_is_valid(o.ttl_ms, context)) return explain_ttl(o.ttl_ms, context);
  std::string message;
  visit_ranges(o, [&message](const Range &range) {
    if (message.empty() && !range.holds()) message = range.text();
  });
  if (message.empty()) {
    if (const char *contradiction = contradiction_of(o, context); contradiction != nullptr)
      message = contradiction;
  }
  return message;
}

AcquireParams acquire_params(const liblock_acquire_options &o, const ContextOptions &context) {
  AcquireParams p;
  p.ttl = ttl_of(o.ttl_ms);
  const ContextKind &kind = context.kind;
  const bool is_auto = o.ttl_ms == LIBLOCK_TTL_AUTO || o.ttl_ms == LIBLOCK_DEFAULT;
  if (is_auto && kind.ttl_auto_ms != 0) {
    p.ttl = nanos_from_ms(std::min(kind.ttl_auto_ms, context.table.max_ttl_ms));
    p.ttl_is_auto = p.renew = true;
  }
  p.wait = o.wait_ms < 0 ? kNever : nanos_from_ms(o.wait_ms);
  RetryPolicy &r = p.retry;
  r.retries_max = or_default(o.retries, -1);
  r.interval_ms = or_default(o.retry_interval_ms, kind.retry_interval_ms);
  const int64_t usual_jitter =
      r.interval_ms > INT64_MAX / 100 ? r.interval_ms : r.interval_ms * kind.retry_jitter_percent / 100;
  r.jitter_ms = or_default(o.retry_jitter_ms, usual_jitter);
  r.step_ms = or_default(o.backoff_step_ms, r.interval_ms);
  r.cap_ms = or_default(o.backoff_cap_ms, r.cap_ms);
  r.base = o.backoff_base;
  r.backoff = static_cast<RetryPolicy::Backoff>(o.backoff);
  r.callback = o.backoff_callback;
  r.user_data = o.backoff_user_data;
  p.order = o.order;
  p.priority = o.priority;
  p.age_step = nanos_from_ms(or_default(o.age_step_ms, 1'000));
  p.queue_ttl = o.queue_ttl_ms > 0 ? nanos_from_ms(o.queue_ttl_ms) : kNever;
  p.on_conflict = o.on_conflict;
  p.on_deadlock = o.on_deadlock;
  p.renew = p.renew || o.renew == 1;
  p.max_hold = o.max_hold_ms > 0 ? nanos_from_ms(o.max_hold_ms) : kNever;
  p.min_remaining = nanos_from_ms(or_default(o.min_remaining_ms, 0));
  p.replicas = o.replicas;
  p.votes = o.votes;
  p.on_nodes_mismatch = o.on_nodes_mismatch;
  p.replicas_timeout = nanos_from_ms(or_default(o.replicas_timeout_ms, 1'000));
  p.value = Bytes(static_cast<const char *>(o.value), o.value_size);
  p.metadata = {o.metadata, o.metadata_count};
  p.on_lost = o.on_lost;
  p.on_lost_user_data = o.on_lost_user_data;
  p.event_tag = o.event_tag;
  p.on_queued = o.on_queued;
  p.on_queued_user_data = o.on_queued_user_data;
  p.busy_info = o.busy_info == 1;
  p.instrument = o.instrument;
  return p;
}

}  // namespace liblock
