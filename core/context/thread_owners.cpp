// SPDX-License-Identifier: MIT
// See thread_owners.hpp. A thread keeps weak references to contexts: a context that is closed closes its owners
// itself.
#include "context/thread_owners.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/grow.hpp"
#include "context/context.hpp"

namespace liblock {

namespace {

struct ThreadOwner {
  const Context *key;  // only compared
  std::weak_ptr<Context> context;
  std::shared_ptr<Owner> owner;
};

// Of the calling thread: nothing would close an owner any more. Stays readable to the thread's very end.
thread_local bool is_over = false;

struct ThreadOwners {
  std::vector<ThreadOwner> all;

  ~ThreadOwners() {
    // What is called meanwhile may ask for this thread's owner once more.
    while (!all.empty()) {
      const std::vector<ThreadOwner> ending = std::exchange(all, {});
      for (const ThreadOwner &t : ending) {
        const std::shared_ptr<Context> context = t.context.lock();
        if (context != nullptr) context->close_owner_for_good(t.owner);
      }
    }
    is_over = true;
  }
};

thread_local ThreadOwners thread_owners;

// For a destructor that runs behind ours: all that it asks for in this name is CLOSED.
std::shared_ptr<Owner> closed_owner(Context &context) {
  std::shared_ptr<Owner> owner = context.engine().make_owner("thread");
  context.close_owner_for_good(owner);
  return owner;
}

}  // namespace

std::shared_ptr<Owner> owner_of_this_thread(Context &context) {
  if (is_over) return closed_owner(context);
  auto &all = thread_owners.all;
  for (const ThreadOwner &t : all) {
    if (t.key == &context && !t.context.expired()) return t.owner;
  }
  std::erase_if(all, [](const ThreadOwner &t) { return t.context.expired(); });
  make_room(all, all.size() + 1);  // before there is an owner, whom nothing would close
  std::shared_ptr<Owner> owner = context.engine().make_owner("thread");
  all.push_back({&context, context.weak_from_this(), owner});
  return owner;
}

}  // namespace liblock
