// SPDX-License-Identifier: MIT
// A release on a server waits for its answer, which a callback must not. A Lock that ends there is given back all the
// same, in the background; one that is released by hand hears that it was not. Usage: in_a_callback URL. Prints TAP.
#include <cstdio>
#include <future>
#include <liblock/liblock.hpp>

using liblock::Context;
using liblock::Lock;
using liblock::Result;

namespace {

struct Inside {
  Lock lock;
  liblock_status by_hand = LIBLOCK_OK;
  bool kept = false;
  std::promise<void> done;
};

void end_the_lock(const liblock_completion *, void *user_data) {
  auto *inside = static_cast<Inside *>(user_data);
  {
    Lock lock = std::move(inside->lock);
    Result result;
    inside->by_hand = lock.release(result);
    inside->kept = static_cast<bool>(lock);
  }
  inside->done.set_value();
}

int tests, failures;

void check(bool holds, const char *name) {
  std::printf("%s %d - %s\n", holds ? "ok" : "not ok", ++tests, name);
  failures += !holds;
}

}  // namespace

int main(int count, char **words) {
  if (count != 2) return 2;
  const Context context(words[1]);
  Inside inside;
  inside.lock = context.acquire("key");
  liblock_ping_async(context.get(), nullptr, end_the_lock, &inside, nullptr);
  inside.done.get_future().wait();
  check(inside.by_hand == LIBLOCK_WOULD_DEADLOCK,
        "a release by hand in a callback says that it would have to wait");
  check(inside.kept, "after which the lock is still there to be given back");
  // For ever, were it not given back: it is renewed.
  const std::optional<Lock> next = context.try_acquire_for("key", std::chrono::seconds(30));
  check(next.has_value(), "a lock whose life ends in a callback is given back");
  std::printf("1..%d\n", tests);
  return failures != 0;
}
