// SPDX-License-Identifier: MIT
// Whatever a server sends: the reader takes it or refuses it, and holds no more than its limits say. The first byte
// chooses the limits, the second how the rest is cut; what is read must not depend on the cuts.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/assert.hpp"
#include "quorum/node_record.hpp"
#include "redis/reply.hpp"

using namespace liblock;

namespace {

struct Sum {
  size_t replies = 0, elements = 0, text = 0, depth = 0;
  std::string shape;
};

void add(const Reply &reply, size_t depth, Sum &sum) {
  ++sum.elements;
  sum.text += reply.text.size();
  sum.depth = std::max(sum.depth, depth);
  sum.shape += std::to_string(static_cast<int>(reply.kind)) + ":" + std::to_string(reply.integer) + ":";
  sum.shape += reply.text;
  for (const Reply &element : reply.elements) add(element, depth + 1, sum);
  LIBLOCK_ASSERT(reply.at(reply.elements.size()).is(Reply::Kind::Nil));
}

// As part of a script's answer about a key: whatever stands there, numbers stay within what they may be.
void use(const Reply &reply) {
  LIBLOCK_ASSERT(reply.count() <= Reply::kCountMost);
  const int64_t now_us = reply.at(0).is_time() ? reply.at(0).integer : 1'700'000'000'000'000;
  const quorum::KeySeen seen = quorum::read_key_seen(reply, now_us);
  LIBLOCK_ASSERT(seen.waiting <= Reply::kCountMost && seen.record.since_us >= 0 && seen.record.standing >= 0);
  for (const auto &[id, waiter] : seen.waiters)
    LIBLOCK_ASSERT(waiter.since_us >= 0 && waiter.waited_ms >= 0 && waiter.waited_ms <= now_us / 1'000);
  for (const Reply &element : reply.elements) use(element);
}

// All that can be read of bytes that come in pieces of `piece`; stops at what is refused.
std::string read(Bytes bytes, const ReplyLimits &limits, size_t piece) {
  ReplyReader reader;
  reader.allow(limits);
  std::string shape;
  while (!bytes.empty()) {
    const std::vector<char> next(bytes.begin(), bytes.begin() + std::min(piece, bytes.size()));  // gone behind it
    bytes.remove_prefix(next.size());
    if (!reader.feed({next.data(), next.size()})) break;
    while (const Reply *reply = reader.next()) {
      Sum sum;
      add(*reply, 0, sum);
      use(*reply);
      LIBLOCK_ASSERT(sum.elements <= limits.elements && sum.text <= limits.reply_bytes &&
                     sum.depth <= limits.depth);
      shape += sum.shape + "\n";
    }
    if (reader.is_broken()) break;
  }
  LIBLOCK_ASSERT(!reader.is_broken() || (!reader.error().empty() && !reader.feed("+OK\r\n")));
  return shape;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  constexpr ReplyLimits kLimits[] = {{}, {16, 4, 2}, {1'024, 64, 3}, {1 << 20, 4'096, 6}};
  const ReplyLimits &limits = kLimits[data[0] % 4];
  const Bytes bytes(reinterpret_cast<const char *>(data) + 2, size - 2);
  const std::string in_pieces = read(bytes, limits, 1 + data[1] % 16);
  const std::string whole = read(bytes, limits, 512);
  // Bytes that are refused may be refused before what stands in front of them was asked for.
  const size_t shorter = std::min(in_pieces.size(), whole.size());
  LIBLOCK_ASSERT(in_pieces.compare(0, shorter, whole, 0, shorter) == 0);
  return 0;
}
