// SPDX-License-Identifier: MIT
// Option structs with whatever numbers and texts, for each kind of context, and lists of servers. What is taken is
// within its range and can be used; what is refused is refused with one printable line in which no password is.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/assert.hpp"
#include "context/options.hpp"
#include "quorum/node_list.hpp"

using namespace liblock;

namespace {

const std::string kSecret = "S3cretPassword";

// Values out of a stream of bytes, which ends in zeros.
class Source {
 public:
  explicit Source(Bytes bytes) : rest_(bytes) {}
  uint8_t byte() {
    if (rest_.empty()) return 0;
    const char first = rest_.front();
    rest_.remove_prefix(1);
    return static_cast<uint8_t>(first);
  }
  // The default mostly, else near a bound, or anything.
  int64_t number(int64_t usual) {
    constexpr int64_t kBounds[] = {0,        1, -1, 2, 20, 100, 256, 600'000, 16'777'216, LIBLOCK_DEFAULT,
                                   INT64_MAX};
    const uint8_t how = byte();
    if (how < 128) return usual;
    // As unsigned ones, which come round behind the last.
    if (how < 224)
      return static_cast<int64_t>(static_cast<uint64_t>(kBounds[how % std::size(kBounds)]) + how % 3 - 1);
    uint64_t raw = 0;
    for (int i = 0; i < 8; ++i) raw = raw << 8 | byte();
    return static_cast<int64_t>(raw);
  }
  template <typename Number>
  void change(Number &field) {
    field = static_cast<Number>(number(field));
  }
  // Up to 15 bytes and a NUL, or none.
  const char *text(std::string &room) {
    const uint8_t size = byte();
    if (size < 64) return nullptr;
    for (int i = size % 16; i > 0; --i) room.push_back(static_cast<char>(byte()));
    return room.c_str();
  }
  Bytes rest() const { return rest_; }

 private:
  Bytes rest_;
};

void must_say_why(Status status, const std::string &message) {
  LIBLOCK_ASSERT((status == Status::OK) == message.empty());
  LIBLOCK_ASSERT(status == Status::OK || status == Status::INVALID_ARGUMENT || status == Status::UNSUPPORTED);
  LIBLOCK_ASSERT(message.find(kSecret) == std::string::npos && message.size() < 4'096);
  for (const char c : message) LIBLOCK_ASSERT(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
}

liblock_acquire_options acquire_options(Source &source) {
  liblock_acquire_options o = kAcquireDefaults;
  for (int64_t *field : {&o.ttl_ms, &o.wait_ms, &o.retries, &o.retry_interval_ms, &o.retry_jitter_ms,
                         &o.backoff_step_ms, &o.backoff_cap_ms, &o.age_step_ms, &o.queue_ttl_ms,
                         &o.max_hold_ms, &o.min_remaining_ms, &o.replicas_timeout_ms})
    source.change(*field);
  for (int32_t *field :
       {&o.backoff, &o.backoff_base, &o.order, &o.priority, &o.mode, &o.on_conflict, &o.on_deadlock, &o.renew,
        &o.replicas, &o.instrument, &o.busy_info, &o.reserved, &o.votes, &o.on_nodes_mismatch})
    source.change(*field);
  return o;
}

void read_acquire(Source &source, const ContextOptions &context) {
  const liblock_acquire_options o = acquire_options(source);
  const Status status = check_acquire_options(o, context);
  if (status != Status::OK) return must_say_why(status, explain_acquire_options(o, context));
  const AcquireParams params = acquire_params(o, context);
  LIBLOCK_ASSERT(params.ttl > 0 && params.wait >= 0 && params.retry.retries_max >= -1);
  LIBLOCK_ASSERT(params.ttl == kNever || params.ttl <= nanos_from_ms(context.table.max_ttl_ms));
}

void read_context(Source &source) {
  const ContextKind kinds[] = {kLocalKind, kServerKind, kQuorumKind};
  const ContextKind &kind = kinds[source.byte() % 3];
  liblock_context_options o = default_context_options();
  for (int64_t *field : {&o.cleanup_interval_ms, &o.cleanup_batch_size, &o.max_ttl_ms, &o.deadlock_detection,
                         &o.deadlock_delay_ms, &o.locks_max, &o.waiters_max, &o.requests_max,
                         &o.connect_timeout_ms, &o.command_timeout_ms, &o.alive_ms, &o.foreign_gap_ms,
                         &o.zombie_interval_ms, &o.clock_step_ms, &o.front_ms})
    source.change(*field);
  for (int32_t *field :
       {&o.on_close, &o.reserved, &o.tls_insecure, &o.reserved2, &o.votes, &o.restart_policy})
    source.change(*field);
  source.change(o.struct_size);
  o.struct_size = std::min(o.struct_size, sizeof o);  // so much there must be
  std::string user, name, file, host, prefix;
  o.username = source.text(user);
  o.password = source.byte() % 2 == 0 ? kSecret.c_str() : nullptr;
  o.client_name = source.text(name);
  o.tls_ca_file = source.text(file);
  o.tls_server_name = source.text(host);
  o.prefix = source.text(prefix);
  o.prefix_size = o.prefix != nullptr ? prefix.size() : 0;
  ContextOptions read;
  std::string message;
  const Status status = read_context_options(&o, kind, read, message);
  must_say_why(status, message);
  if (status != Status::OK) return;
  LIBLOCK_ASSERT(read.requests_max >= 0 && read.table.locks_max >= 1 && read.table.waiters_max >= 0);
  LIBLOCK_ASSERT(read.server.connect_timeout_ms >= 1 && read.server.alive_ms >= 30);
  for (int i = 0; i < 4; ++i) read_acquire(source, read);
}

void read_servers(Bytes text) {
  const std::string with_secret = "redis://:" + kSecret + "@" + std::string(text);
  for (const Bytes list : {text, Bytes(with_secret)}) {
    const std::vector<Bytes> servers = split_servers(list);
    std::string message;
    must_say_why(check_nodes(servers, {}, message), message);
    std::string name, why;
    LIBLOCK_ASSERT(read_node_name(list, name, why) == why.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Source source(Bytes(reinterpret_cast<const char *>(data), size));
  read_servers(source.rest());
  read_context(source);
  return 0;
}
