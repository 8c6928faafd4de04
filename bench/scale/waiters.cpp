// SPDX-License-Identifier: MIT
// So many waiters of one process behind one key that another context holds: what it costs to queue, to go on waiting
// for a while, and to be handed the lock one after the other, each releasing it at once.
#include <thread>

#include "scale/scale.hpp"
#include "support/memory.hpp"

namespace liblock_bench {
namespace {

constexpr auto wait_time = std::chrono::seconds(2);

// The local table has one name for both; on servers they are two clients, of which one waits.
void await_queued(const Context &context, size_t count) {
  while (context.stats().contended < count) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

Figures measure_waiters(const std::string &url, size_t count) {
  const Context holder(is_local(url) ? "local:scale" : url), context(is_local(url) ? "local:scale" : url);
  const Key16 key = make_key<16>(1);
  auto options = acquire_options(LIBLOCK_DEFAULT);
  liblock_lock lock = 0;
  std::vector<Calls::Slot> slots(count);
  for (Calls::Slot &slot : slots) slot.releases_at_once = true;
  Calls calls;
  must(liblock_acquire(holder, key.data(), key.size(), &options, &lock, nullptr), "liblock_acquire");

  mark("empty");
  const double before = resident_bytes();
  const Passed queueing;
  for (Calls::Slot &slot : slots) calls.acquire(context, key, &options, slot);
  await_queued(context, count);
  Figures figures = {{"enqueue_ns", queueing.wall_ns() / double(count)},
                     {"enqueue_cpu_ns", queueing.cpu_ns() / double(count)},
                     {"client_bytes", (resident_bytes() - before) / double(count)}};
  mark("queued");
  if (!is_local(url)) {
    const Passed waiting;
    std::this_thread::sleep_for(wait_time);
    figures.emplace_back("waiting_cpu_share", waiting.cpu_ns() / waiting.wall_ns());
    figures.emplace_back("waiting_s", waiting.wall_ns() / 1e9);
  }
  mark("waited");
  const Passed handing;
  must(liblock_release(holder, lock, nullptr), "liblock_release");
  calls.await(count);
  figures.emplace_back("hand_over_ns", handing.wall_ns() / double(count));
  figures.emplace_back("hand_over_cpu_ns", handing.cpu_ns() / double(count));
  mark("handed_over");
  return figures;
}

}  // namespace liblock_bench
