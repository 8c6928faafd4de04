// SPDX-License-Identifier: MIT
// See fork.hpp. The register of contexts, with the completion queues of each, and that of tables are locked across the
// fork, and who makes or closes a socket, so that the child finds them whole; nothing else of the library is, and the
// child touches nothing else.
#include "context/fork.hpp"

#include <pthread.h>

#include <mutex>
#include <set>

#include "context/context.hpp"
#include "local/table_registry.hpp"
#include "runtime/thread_runtime.hpp"
#include "runtime/uv_stream.hpp"

namespace liblock {

namespace {

struct Contexts {
  std::mutex mutex;
  std::set<Context *> open;  // guarded by mutex
};

Contexts &contexts() {
  static Contexts *the_contexts = new Contexts;  // never destroyed: contexts may outlive static destructors
  return *the_contexts;
}

void before_fork() {
  contexts().mutex.lock();
  lock_tables_for_fork();
  UvStream::lock_for_fork();
}

void after_fork_in_parent() {
  UvStream::unlock_after_fork();
  unlock_tables_after_fork();
  contexts().mutex.unlock();
}

void after_fork_in_child() {
  for (Context *context : contexts().open) {
    context->mark_forked();
    context->close_descriptors_after_fork();
  }
  contexts().open.clear();
  UvStream::close_all_after_fork();
  UvStream::unlock_after_fork();
  ThreadRuntime::forget_after_fork();
  forget_tables_after_fork();
  contexts().mutex.unlock();
}

}  // namespace

void watch_forks() {
  static const int installed = [] {
    contexts();
    return pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  }();
  static_cast<void>(installed);
}

void register_context(Context *context) {
  const std::lock_guard lock(contexts().mutex);
  contexts().open.insert(context);
}

void unregister_context(Context *context) {
  if (context->forked()) return;
  const std::lock_guard lock(contexts().mutex);
  contexts().open.erase(context);
}

std::unique_lock<std::mutex> hold_forks() { return std::unique_lock(contexts().mutex); }

}  // namespace liblock
