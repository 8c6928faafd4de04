// SPDX-License-Identifier: MIT
// So many waiters of one process behind one key that another context holds: what it costs to queue, to go on waiting
// for a while, and to be handed the lock one after the other, each releasing it at once. On servers the waiters of one
// process are one to the server, unless each of them stands in its queue by itself.
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

// With its first lock a context begins to listen for messages. What was asked for before is verified when it is
// granted, since a message may have been missed: a command for each, which is of the beginning, and not of a waiter.
void begin_to_listen(const Context &context, const liblock_acquire_options &options) {
  pair(context, make_key<16>(2), &options);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

Figures measure(const std::string &url, size_t count, int64_t front_ms) {
  const std::string where = is_local(url) ? "local:scale" : url;
  const Context holder(where, front_ms), context(where, front_ms);
  const Key16 key = make_key<16>(1);
  auto options = acquire_options(LIBLOCK_DEFAULT);
  liblock_lock lock = 0;
  std::vector<Calls::Slot> slots(count);
  for (Calls::Slot &slot : slots) slot.releases_at_once = true;
  Calls calls;
  must(liblock_acquire(holder, key.data(), key.size(), &options, &lock, nullptr), "liblock_acquire");
  if (!is_local(url)) begin_to_listen(context, options);

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

}  // namespace

Figures measure_waiters(const std::string &url, size_t count) { return measure(url, count, 0); }

// As many waiters to the server as there are, as if each were of another process.
Figures measure_standing(const std::string &url, size_t count) { return measure(url, count, -1); }

}  // namespace liblock_bench
