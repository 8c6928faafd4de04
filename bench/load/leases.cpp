// SPDX-License-Identifier: MIT
// Locks that are taken and kept. `acquires`: so many distinct keys, each once, for what an acquire costs the server by
// itself. `leases`: the same kept alive by renewal for whole periods in which nothing else happens: what holding costs.
// `found` makes a quorum of fresh servers.
#include <liblock/liblock.h>

#include "../support/renewals.hpp"
#include "client.hpp"
#include "clocks.hpp"
#include "modes.hpp"

namespace liblock_bench {

namespace {

// Takes so many keys, numbered from `first`, `depth` of them asked for at any time.
void take_keys(const Opened &opened, size_t first, size_t count, size_t depth) {
  liblock_completions *queue = nullptr;
  must(liblock_completions_open(opened, depth, &queue, nullptr), "liblock_completions_open");
  liblock_acquire_options options = opened.acquire;
  options.completions = queue;
  size_t asked = 0;
  for (size_t ended = 0; ended < count; ++ended) {
    for (; asked < count && asked - ended < depth; ++asked) {
      const Key16 key = make_key<16>(first + asked);
      liblock_request request;
      must(liblock_acquire_async(opened, key.data(), key.size(), &options, nullptr, nullptr, &request),
           "liblock_acquire_async");
    }
    liblock_completion end;
    end.struct_size = sizeof end;
    must(liblock_completions_next(queue, -1, &end), "liblock_completions_next");
    must(end.status, "an acquire");
  }
  must(liblock_completions_close(queue), "liblock_completions_close");
  liblock_completions_free(queue);
}

liblock_stats stats_of(liblock_context *context) {
  liblock_stats stats;
  liblock_stats_init(&stats, sizeof stats);
  must(liblock_stats_get(context, &stats), "liblock_stats_get");
  return stats;
}

}  // namespace

void run_acquires(const Settings &settings, Figures &figures) {
  const size_t count = settings.count("count", 20'000), depth = settings.count("depth", 64);
  const auto servers = settings.servers();
  const Opened opened(settings, nullptr, true);
  settings.must_all_be_read();
  must(liblock_ping(opened, nullptr), "liblock_ping");
  take_keys(opened, 0, depth, depth);  // warms up
  const CpuTimes before = cpu_times(servers);
  take_keys(opened, depth, count, depth);
  figures.set_rates(count, cpu_times(servers) - before);
}

void run_leases(const Settings &settings, Figures &figures) {
  const size_t count = settings.count("count", 100'000);
  const size_t periods = settings.count("periods", 1);
  const auto servers = settings.servers();
  Opened opened(settings, nullptr, true);
  opened.acquire.ttl_ms = static_cast<int64_t>(settings.number("ttl-ms", 30'000));
  opened.acquire.renew = 1;
  const auto period = renewal_period(opened.acquire.ttl_ms);
  settings.must_all_be_read();
  must(liblock_ping(opened, nullptr), "liblock_ping");
  take_evenly(count, period, [&](size_t first, size_t end) { take_keys(opened, first, end - first, 256); });
  // A first lease is short, and made long behind its grant.
  while (stats_of(opened).renewals < count) sleep_ns(10'000'000);
  const auto renewals = stats_of(opened).renewals;
  const CpuTimes before = cpu_times(servers);
  std::this_thread::sleep_for(period * periods);
  const CpuTimes spent = cpu_times(servers) - before;
  const liblock_stats after = stats_of(opened);
  if (after.locks_held != count)
    Settings::fail("leases were lost: " + std::to_string(count - after.locks_held));
  figures.set_rates(count, spent);
  figures.set("opened_at_s", double(before.at) / 1e9);
  figures.set("closed_at_s", double(before.at + spent.at) / 1e9);
  figures.set("renewals_per_second", double(after.renewals - renewals) * 1e9 / double(spent.at));
}

void run_found(const Settings &settings, Figures &figures) {
  const int64_t began = now_ns();
  liblock_context *context = nullptr;
  auto options = context_options();
  options.max_ttl_ms = static_cast<int64_t>(settings.number("ttl-ms", 60'000));
  const std::string url = settings.text("url");
  settings.must_all_be_read();
  must(liblock_open(url.c_str(), &options, &context, nullptr), "liblock_open");
  must(liblock_quorum_init(context, 0, nullptr), "liblock_quorum_init");
  must(liblock_close(context), "liblock_close");
  liblock_context_free(context);
  figures.set_rates(1, cpu_times({}) - CpuTimes{began, 0, 0});
}

}  // namespace liblock_bench
