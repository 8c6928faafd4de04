// SPDX-License-Identifier: MIT
// Threads that ask and wait, each for a key of its own, all through one context. One thread is the sequential user.
// With --release asked the release is asked for and not waited for: the next acquire goes out behind it on the same
// connection, so that a pair costs its thread one round trip. Its end goes to a completion queue, hence through the
// library's thread.
#include <liblock/liblock.h>

#include "../support/contest.hpp"
#include "client.hpp"
#include "clocks.hpp"
#include "modes.hpp"

namespace liblock_bench {

namespace {

struct Lane {
  Key16 key;
  Histogram acquires, pairs;
  liblock_completions *releases = nullptr;
};

// Takes the ends of earlier releases that are there, so that the queue never fills and none goes unseen.
void take_releases(Lane &lane, int64_t wait_ms) {
  liblock_completion end;
  end.struct_size = sizeof end;
  while (liblock_completions_next(lane.releases, wait_ms, &end) == LIBLOCK_OK) must(end.status, "a release");
}

void one_pair(const Opened &opened, Lane &lane, bool awaited, bool counts) {
  const int64_t began = now_ns();
  liblock_lock lock;
  must(liblock_acquire(opened, lane.key.data(), lane.key.size(), &opened.acquire, &lock, nullptr),
       "liblock_acquire");
  const int64_t granted = now_ns();
  if (awaited) {
    must(liblock_release(opened, lock, nullptr), "liblock_release");
  } else {
    must(liblock_release_async(opened, lock, lane.releases, nullptr, nullptr, nullptr),
         "liblock_release_async");
    take_releases(lane, 0);
  }
  if (!counts) return;
  lane.acquires.record(static_cast<uint64_t>(granted - began));
  lane.pairs.record(static_cast<uint64_t>(now_ns() - began));
}

}  // namespace

void run_threads(const Settings &settings, Figures &figures) {
  ContestSetup setup;
  setup.threads = settings.count("threads", 1);
  setup.warm_up = std::chrono::milliseconds(settings.count("warm-up-ms", 200));
  setup.window = std::chrono::milliseconds(settings.count("window-ms", 700));
  const bool awaited = settings.choice("release", {"awaited", "asked"}) == 0;
  const auto servers = settings.servers();
  const Opened opened(settings);
  settings.must_all_be_read();
  must(liblock_ping(opened, nullptr), "liblock_ping");
  std::vector<Lane> lanes(setup.threads);
  for (size_t i = 0; i < lanes.size(); ++i) {
    lanes[i].key = make_key<16>(i);
    must(liblock_completions_open(opened, 1024, &lanes[i].releases, nullptr), "liblock_completions_open");
  }
  CpuTimes before, spent;
  std::atomic<bool> counts{false};
  setup.opened = [&] {
    before = cpu_times(servers);
    counts = true;
  };
  setup.closed = [&] {
    counts = false;
    spent = cpu_times(servers) - before;
  };
  const Tally tally = Contest(setup).run(
      [&](size_t nth) { one_pair(opened, lanes[nth], awaited, counts.load(std::memory_order_relaxed)); });
  Histogram acquires, pairs;
  for (Lane &lane : lanes) {
    acquires.add(lane.acquires);
    pairs.add(lane.pairs);
    must(liblock_completions_close(lane.releases), "liblock_completions_close");
    take_releases(lane, -1);
    liblock_completions_free(lane.releases);
  }
  figures.set_rates(tally.total(), spent);
  figures.set("share", tally.share());
  figures.set_latencies("acquire", acquires);
  figures.set_latencies("pair", pairs);
}

}  // namespace liblock_bench
