// SPDX-License-Identifier: MIT
// So many named owners of one process, deadlock search on: each holds a key of its own and waits for one that all want,
// until each has had it. Then all are closed, while they still hold their own.
#include <thread>

#include "scale/scale.hpp"

namespace liblock_bench {
namespace {

// The searches of all of them have been made by then, and each was queued.
void await_searched(const Context &context, size_t count) {
  while (context.stats().contended < count) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
}

}  // namespace

Figures measure_owners(const std::string &url, size_t count) {
  const Context context(url);
  const auto own_keys = make_keys(count, 2);
  const Key16 wanted = make_key<16>(1);
  std::vector<liblock_owner *> owners(count + 1);
  std::vector<Calls::Slot> own(count), waits(count);
  liblock_lock first = 0;
  Calls calls;
  auto options = acquire_options(LIBLOCK_DEFAULT);

  const Passed opening;
  for (liblock_owner *&owner : owners)
    must(liblock_owner_open(context, "owner", 5, &owner, nullptr), "liblock_owner_open");
  Figures figures = {{"open_cpu_ns", opening.cpu_ns() / double(count)}};
  options.owner = owners[count];
  must(liblock_acquire(context, wanted.data(), wanted.size(), &options, &first, nullptr), "liblock_acquire");
  for (size_t i = 0; i < count; ++i) {
    options.owner = owners[i];
    calls.acquire(context, own_keys[i], &options, own[i]);
  }
  calls.await(count);

  const Passed queueing;
  for (size_t i = 0; i < count; ++i) {
    options.owner = owners[i];
    waits[i].releases_at_once = true;
    calls.acquire(context, wanted, &options, waits[i]);
  }
  await_searched(context, count);
  figures.emplace_back("enqueue_cpu_ns", queueing.cpu_ns() / double(count));
  const Passed handing;
  must(liblock_release(context, first, nullptr), "liblock_release");
  calls.await(count);
  figures.emplace_back("hand_over_cpu_ns", handing.cpu_ns() / double(count));
  const Passed closing;
  for (liblock_owner *owner : owners) liblock_owner_close(owner);
  figures.emplace_back("close_cpu_ns", closing.cpu_ns() / double(count));
  for (liblock_owner *owner : owners) liblock_owner_free(owner);
  figures.emplace_back("still_held", double(context.stats().locks_held));
  return figures;
}

}  // namespace liblock_bench
