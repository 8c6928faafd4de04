// SPDX-License-Identifier: MIT
// Texts from outside that are taken apart: urls, records that anybody may have written to a lock key, errors of
// servers. Whatever they are, the answer is a status, what is shown is printable and bounded, and no message has any
// part of a url that cannot be used.
#include <cstdint>

#include "base/assert.hpp"
#include "quorum/configuration.hpp"
#include "quorum/node_record.hpp"
#include "redis/address.hpp"
#include "redis/queue_entry.hpp"
#include "redis/server_error.hpp"
#include "remote/keyspace.hpp"

using namespace liblock;

namespace {

// The second url has a password in front of whatever comes.
void read_url(Bytes text) {
  const std::string secret = "S3cretPassword";
  for (const char *scheme : {"redis://", "rediss://", "unix://"}) {
    for (const std::string &url :
         {scheme + std::string(text), scheme + (":" + secret + "@") + std::string(text)}) {
      ServerAddress address;
      std::string message;
      const Status status = read_server_url(url, address, message);
      LIBLOCK_ASSERT((status == Status::OK) == message.empty());
      LIBLOCK_ASSERT(status == Status::OK || status == Status::INVALID_ARGUMENT);
      LIBLOCK_ASSERT(message.find(secret) == std::string::npos);
      const bool is_host =
          address.target.host.find(secret) != std::string::npos || !address.target.path.empty();
      LIBLOCK_ASSERT(is_host || address.redacted().find(secret) == std::string::npos);
    }
  }
}

void read_record(Bytes text) {
  ServerRecord record;
  if (!parse_record(text, record)) return;
  LIBLOCK_ASSERT(text.substr(0, 4) == "ll1|" && record.id.size() == kAttemptIdSize);
  LIBLOCK_ASSERT(record.value.size() <= text.size() && record.owner.size() <= text.size());
  LIBLOCK_ASSERT(record.since_us >= 0 && record.ttl_ms >= -1);
}

// What it takes it writes so that it is taken again, and is the same.
void read_node(Bytes text) {
  quorum::NodeRecord record, again;
  if (quorum::parse_node_record(text, record)) {
    LIBLOCK_ASSERT(record.since_us >= 0 && record.lease_ms >= 0 && record.standing >= 0);
    LIBLOCK_ASSERT(quorum::parse_node_record(quorum::text_of(record), again) && again.token == record.token);
  }
  quorum::Configuration configuration, same;
  if (quorum::Configuration::parse(text, configuration))
    LIBLOCK_ASSERT(quorum::Configuration::parse(configuration.to_text(), same) && same == configuration);
  quorum::Configuration::Identity identity;
  static_cast<void>(quorum::Configuration::parse_who(text, identity));
}

void read_queue(Bytes text) {
  WaiterInfo waiter;
  if (parse_queue_entry(text, 1'700'000'000'000'000, waiter))
    LIBLOCK_ASSERT(waiter.since_us > 0 && waiter.waited_ms >= 0 && waiter.owner.size() <= text.size());
  Bytes lock_key;
  if (Keyspace::lock_key_of(text, lock_key))
    LIBLOCK_ASSERT(Keyspace::side_key(static_cast<Keyspace::Side>(text[4]), lock_key) == text);
}

void show(Bytes text) {
  for (const std::string &out : {shown(text), explained(text)}) {
    LIBLOCK_ASSERT(out.size() <= 512);
    for (const char c : out) LIBLOCK_ASSERT(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  }
  const std::string escaped = escape_field(text);
  LIBLOCK_ASSERT(escaped.find('|') == std::string::npos && escaped.size() <= 3 * text.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const Bytes text(reinterpret_cast<const char *>(data), size);
  read_url(text);
  read_record(text);
  read_node(text);
  read_queue(text);
  show(text);
  return 0;
}
