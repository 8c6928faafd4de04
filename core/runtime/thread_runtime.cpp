// SPDX-License-Identifier: MIT
// See thread_runtime.hpp. The callback thread sleeps on bell_ only after it announced so in sleeping_ and
// found the queue still empty; a poster rings only where the announcement stands. Neither can miss the other
// (both seq_cst).
#include "runtime/thread_runtime.hpp"

#include <unistd.h>

#include <mutex>
#include <system_error>
#include <utility>

#include "base/assert.hpp"
#include "base/platform.hpp"
#include "runtime/thread.hpp"
#include "runtime/uv_stream.hpp"

namespace liblock {

namespace {

constinit std::mutex start_mutex;
constinit ThreadRuntime *made = nullptr;                      // guarded by start_mutex
constinit std::atomic<ThreadRuntime *> the_runtime{nullptr};  // the same, once both of its threads run

}  // namespace

ThreadRuntime &ThreadRuntime::instance() {
  ThreadRuntime *runtime = the_runtime.load(std::memory_order_acquire);
  if (runtime != nullptr) return *runtime;
  const std::lock_guard lock(start_mutex);
  if (the_runtime.load(std::memory_order_relaxed) != nullptr) return *made;  // somebody else was quicker
  if (made == nullptr) made = new ThreadRuntime;
  made->start();
  the_runtime.store(made, std::memory_order_release);
  return *made;
}

bool ThreadRuntime::started() { return the_runtime.load(std::memory_order_acquire) != nullptr; }

void ThreadRuntime::forget_after_fork() {
  new (&start_mutex) std::mutex;  // whoever held it is not in this process
  the_runtime.store(nullptr);
  const ThreadRuntime *runtime = std::exchange(made, nullptr);
  if (runtime == nullptr) return;
  // The loop's structures may have been in the middle of a change: only its descriptors are safe to touch. The ring
  // that libuv 1.45 and newer have beside them is nowhere to be read; it closes on exec.
  for (const int fd :
       {runtime->loop_.backend_fd, runtime->loop_.async_io_watcher.fd, runtime->loop_.async_wfd,
        runtime->loop_.signal_pipefd[0], runtime->loop_.signal_pipefd[1]}) {
    if (fd >= 0) close(fd);
  }
}

ThreadRuntime::ThreadRuntime() {
  loop_.backend_fd = -1;
  if (const int status = uv_loop_init(&loop_); status != 0) {
    if (loop_.backend_fd >= 0) close(loop_.backend_fd);  // which libuv leaves open there
    throw std::system_error(-status, std::system_category(),
                            "no descriptors for the thread that keeps locks alive");
  }
  const auto woken = [](void *self) {
    auto *runtime = static_cast<ThreadRuntime *>(self);
    runtime->inbox_.run_all();
    runtime->timers_.run_due();
  };
  timers_.attach(&loop_, UvTimers::Loop::Ours, woken, this);
}

// A thread that runs has the runtime for ever: where the other one cannot be had, what there is waits for the next try.
void ThreadRuntime::start() {
  if (!has_loop_) start_thread("liblock-loop", [this] { run_loop(); });
  has_loop_ = true;
  start_thread("liblock-callback", [this] { run_callbacks(); });
}

void ThreadRuntime::post(Notice *notice) {
  if (notices_.push(notice) != NoticeQueue::Pushed::First) return;
  bell_.fetch_add(1);
  if (sleeping_.load() != 0) wake_word(&bell_, 1);
}

ByteStream *ThreadRuntime::make_stream(ByteStream::Listener &listener) {
  return new UvStream(&loop_, UvStream::Thread::Ours, listener);
}

void ThreadRuntime::run_loop() {
  const NoBlockingScope scope;
  timers_.runs_here();
  timers_.run_due();
  uv_run(&loop_, UV_RUN_DEFAULT);
}

void ThreadRuntime::run_callbacks() {
  for (;;) {
    if (notices_.deliver_round() > 0) continue;
    const uint32_t seen = bell_.load();
    sleeping_.store(1);
    if (notices_.deliver_round() == 0) wait_on_word(bell_, seen, kNever);
    sleeping_.store(0);
  }
}

}  // namespace liblock
