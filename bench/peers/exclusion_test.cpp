// SPDX-License-Identifier: MIT
// The peers are locks: four threads add to plain counters under four keys, and none of the additions may be
// lost. A peer that let two threads in at once would win every comparison. The same is first shown of threads
// without any lock, so that a machine or compiler on which nothing could ever be lost does not pass for a
// proof.
#include <array>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "../support/keys.hpp"
#include "../support/peers.hpp"
#include "../support/table.hpp"

namespace liblock_bench {
namespace {

constexpr size_t threads = 4;
constexpr size_t keys_used = 4;
constexpr uint64_t rounds = 100'000;

struct NoLock {
  template <class Section>
  void pair(std::string_view, Section &&section) {
    section();
  }
};

struct Library {
  static constexpr const char *name = "liblock";
  template <class Section>
  void pair(std::string_view key, Section &&section) {
    liblock_lock lock;
    must(liblock_acquire(table, key.data(), key.size(), nullptr, &lock, nullptr), "liblock_acquire");
    section();
    must(liblock_release(table, lock, nullptr), "liblock_release");
  }
  Table table;
};

template <class Peer>
uint64_t lost_additions() {
  Peer peer;
  const auto keys = make_keys(keys_used);
  // volatile: read and written by separate instructions, which is what a section under a lock may rely on.
  std::array<volatile uint64_t, keys_used> counters{};
  std::vector<std::thread> running;
  for (size_t nth = 0; nth < threads; ++nth) {
    running.emplace_back([&, nth] {
      for (uint64_t round = 0; round < rounds; ++round) {
        const size_t at = (round + nth) % keys_used;
        peer.pair(view(keys[at]), [&] { counters[at] = counters[at] + 1; });
      }
    });
  }
  for (auto &thread : running) thread.join();
  uint64_t sum = 0;
  for (size_t at = 0; at < keys_used; ++at) sum += counters[at];
  return threads * rounds - sum;
}

int tests = 0;
int failures = 0;

void rule(const std::string &name, bool holds, uint64_t lost) {
  if (!holds) ++failures;
  std::printf("%s %d - %s # %llu lost\n", holds ? "ok" : "not ok", ++tests, name.c_str(),
              (unsigned long long)lost);
}

struct LosesNothing {
  template <class Peer>
  void operator()() const {
    const uint64_t lost = lost_additions<Peer>();
    rule(std::string(Peer::name) + "_loses_no_addition", lost == 0, lost);
  }
};

// One run may by chance lose nothing, a hundred do not.
void without_a_lock_additions_are_lost() {
  uint64_t lost = 0;
  for (int attempt = 0; attempt < 100 && lost == 0; ++attempt) lost = lost_additions<NoLock>();
  rule("without_a_lock_additions_are_lost", lost > 0, lost);
}

}  // namespace
}  // namespace liblock_bench

int main() {
  using namespace liblock_bench;
  without_a_lock_additions_are_lost();
  LosesNothing{}.operator()<PlainMutex>();
  LosesNothing{}.operator()<StripedMutex>();
  for_each_keyed_peer(LosesNothing{});
  LosesNothing{}.operator()<Library>();
  std::printf("1..%d\n", tests);
  return failures == 0 ? 0 : 1;
}
