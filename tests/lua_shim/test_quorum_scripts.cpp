// SPDX-License-Identifier: MIT
// The scripts of a quorum's nodes are told the same by the shim and by a real redis-server, as random traces have it.
// LIBLOCK_SEED draws others.
#include "pair.hpp"
#include "quorum_trace.hpp"

using namespace liblock_test;

namespace {

uint64_t seed() {
  const char *given = std::getenv("LIBLOCK_SEED");
  return given == nullptr ? 1 : std::strtoull(given, nullptr, 10);
}

// What is left of a lease may differ by the time between two calls.
bool is_ttl(int64_t number) { return number > kLeastTtlMs - kToleranceMs && number <= kLongestTtlMs; }

bool alike(const Reply &real, const Reply &ours) {
  if (real.kind == Reply::Kind::Integer && ours.kind == real.kind && is_ttl(real.integer) &&
      is_ttl(ours.integer))
    return std::abs(real.integer - ours.integer) < kToleranceMs;
  if (real.kind != Reply::Kind::Array || ours.kind != real.kind) return real == ours;
  return std::equal(real.items.begin(), real.items.end(), ours.items.begin(), ours.items.end(), alike);
}

class QuorumPair : public Pair {
 public:
  QuorumPair()
      : Pair([](const Words &words, const Reply &real, const Reply &ours) {
          return alike(real, ours) || agree(words, real, ours);
        }) {
    // Somebody listens for one of the two instances.
    redis().subscribe("ll1:i:i1");
    shim().on_publish = [](std::string_view channel, std::string_view) {
      return channel == "ll1:i:i1" ? 1 : 0;
    };
    shim().on_numsub = [](std::string_view channel) { return channel == "ll1:i:i1" ? 1 : 0; };
  }
  // Says how many answers were no errors.
  uint64_t run(QuorumTrace &trace, uint64_t steps) {
    uint64_t sound = 0;
    for (uint64_t i = 0; i < steps; ++i) {
      const Reply reply = both(trace.next());
      sound += reply.is_error() ? 0 : 1;
      if (!reply.items.empty() && !reply.items[0].text.empty()) ++heads[reply.items[0].text];
      if (i % 200 == 199) compare_all();
      if (i % 500 == 499) redis().drain();
    }
    compare_all();
    return sound;
  }
  std::map<std::string, uint64_t> heads;  // how often an answer began so
};

}  // namespace

UNIT_TEST(random_calls_are_answered_as_by_redis) {
  QuorumPair pair;
  QuorumTrace trace(seed());
  const uint64_t steps = unit::scaled(6'000, 30'000, 300'000);
  EXPECT(pair.run(trace, steps) > steps / 2);
  for (const auto &[script, calls] : trace.calls()) EXPECT(calls > steps / 100);
  for (const char *head : {"OK", "BUSY", "LATE", "TTL", "CONFIG", "GONE", "EARLY", "NEW", "NO"}) {
    if (pair.heads[head] < 10) throw unit::Failure{std::string("hardly ever: ") + head};
  }
  EXPECT(pair.heads["OK"] > steps / 10);
}

UNIT_TEST(random_calls_without_memory_are_answered_as_by_redis) {
  QuorumPair pair;
  QuorumTrace trace(seed() + 1);
  for (int round = 0; round < 4; ++round) {
    pair.run(trace, 300);
    pair.redis().command({"CONFIG", "SET", "maxmemory", "1"});
    pair.shim().out_of_memory = true;
    pair.run(trace, unit::scaled(500, 2'000, 20'000));
    pair.redis().command({"CONFIG", "SET", "maxmemory", "0"});
    pair.shim().out_of_memory = false;
  }
}

UNIT_TEST(random_calls_to_a_replica_are_answered_as_by_redis) {
  QuorumPair pair;
  QuorumTrace trace(seed() + 2);
  pair.run(trace, 500);
  EXPECT(pair.redis().command({"REPLICAOF", "127.0.0.1", "1"}).is_ok());
  pair.shim().read_only = true;
  pair.run(trace, unit::scaled(500, 2'000, 20'000));
}

UNIT_MAIN("quorum_scripts_match_redis", cmocka_unit_test(random_calls_are_answered_as_by_redis),
          cmocka_unit_test(random_calls_without_memory_are_answered_as_by_redis),
          cmocka_unit_test(random_calls_to_a_replica_are_answered_as_by_redis))
