// SPDX-License-Identifier: MIT
// See thread_runtime.hpp. The callback thread sleeps on bell_ only after it announced so in sleeping_ and
// found the queue still empty; a poster rings only where the announcement stands. Neither can miss the other
// (both seq_cst).
#include "runtime/thread_runtime.hpp"

#include <poll.h>
#include <unistd.h>

#include <mutex>
#include <system_error>
#include <utility>

#include "base/assert.hpp"
#include "base/platform.hpp"
#include "runtime/guest_scope.hpp"
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
    if (status == UV_ENOMEM) throw std::bad_alloc();
    throw std::system_error(-status, std::system_category(),
                            "no descriptors for the thread that keeps locks alive");
  }
  const auto woken = [](void *self) { static_cast<ThreadRuntime *>(self)->look_at_inbox(); };
  timers_.attach(&loop_, UvTimers::Loop::Ours, &seat_, woken, this);
}

// A thread that runs has the runtime for ever: where the other one cannot be had, what there is waits for the next try.
void ThreadRuntime::start() {
  if (!has_loop_) start_thread("liblock-loop", [this] { run_loop(); });
  has_loop_ = true;
  start_thread("liblock-notices", [this] { run_callbacks(); });
}

void ThreadRuntime::post(Notice *notice) {
  if (notices_.push(notice) != NoticeQueue::Pushed::First) return;
  bell_.fetch_add(1);
  if (sleeping_.load() != 0) wake_word(&bell_, 1);
}

ByteStream *ThreadRuntime::make_stream(ByteStream::Listener &listener) {
  return new UvStream(streams_, listener);
}

void ThreadRuntime::look_at_inbox() {
  seat_.heard();
  inbox_.run_all();
  timers_.run_due();
}

// Whoever runs the loop sleeps outside of uv_run, which would go to sleep also where a timer or a write of the same
// turn has ended what a guest waits for, and which holds on to the loop meanwhile.
void ThreadRuntime::run_turn() {
  streams_.is_new = false;
  uv_run(&loop_, UV_RUN_NOWAIT);
}

// Something is to be done before the descriptors can tell that there is something to be done.
bool ThreadRuntime::has_more() const {
  return streams_.unsent > 0 || streams_.is_new || uv_backend_timeout(&loop_) == 0;
}

void ThreadRuntime::watch(int timeout_ms) {
  pollfd descriptors{uv_backend_fd(&loop_), POLLIN, 0};
  poll(&descriptors, 1, timeout_ms);
}

void ThreadRuntime::run_loop() {
  const NoBlockingScope scope;
  for (;;) {
    timers_.runs_here();
    look_at_inbox();
    for (run_turn(); has_more(); run_turn()) Attendance::wake(attendance.take_last());
    const int timeout_ms = uv_backend_timeout(&loop_);
    // Where somebody has armed an earlier one just now, a guest may be the one who hears of it.
    watched_until_ = timers_.sleeping_until();
    if (watched_until_ == UvTimers::kUnderWay) watched_until_ = kNever;
    timers_.runs_nowhere();
    const void *last = attendance.take_last();
    seat_.let_go();
    Attendance::wake(last);
    watch(timeout_ms);
    seat_.take();
  }
}

void ThreadRuntime::attend(LoopTask &task, Parking &parking) {
  if (!parking.join(attendance) || !seat_.enter()) return run_on_loop(task);
  run_as_guest(task, &parking);
}

// Where something is under way already, what comes meanwhile leaves in one write with it. And from within a callback
// the loop is left alone: what it would bring about there would pass by what the callback thread has still to deliver.
void ThreadRuntime::run_unattended(LoopTask &task) {
  const bool is_idle = streams_.unanswered.load(std::memory_order_relaxed) == 0 && attendance.is_empty();
  if (!is_idle || NoBlockingScope::active() || !seat_.enter()) return run_on_loop(task);
  run_as_guest(task, nullptr);
}

// A turn at least, since the loop's thread leaves the descriptors to guests; and not many behind the end of its call,
// however much others ask for. Without memory the process ends here as on a thread of ours.
void ThreadRuntime::run_as_guest(LoopTask &task, const Parking *parking) {
  GuestScope scope;
  timers_.runs_here();
  or_end_without_memory([&] {
    inbox_.push(task);
    look_at_inbox();
    run_turn();
    if (parking != nullptr) wait_as_guest(*parking);
    for (int turns = 0; turns < kMoreTurnsMax && has_more(); ++turns) run_turn();
  });
  const bool is_left = has_more();
  if (is_left) scope.leaves_writes();
  // The loop's thread may sleep for longer than what has been armed since allows.
  const bool is_sooner = timers_.sleeping_until() < watched_until_;
  timers_.runs_nowhere();
  const void *last = attendance.take_last();
  seat_.leave(is_left || !attendance.is_empty());
  Attendance::wake(last);
  if (is_left || is_sooner) timers_.wake();
}

void ThreadRuntime::wait_as_guest(const Parking &parking) {
  const bool looks = habit_.pays();
  const Nanos look_until = looks ? timers_.clock().now() + kLookMost : 0;
  bool is_soon = true;
  while (!parking.is_called()) {
    Attendance::wake(attendance.take_last());
    if (!has_more()) {
      is_soon = looks && is_soon && timers_.clock().now() < look_until;
      if (!is_soon) watch(uv_backend_timeout(&loop_));
    }
    run_turn();
  }
  if (looks) habit_.ended(is_soon);
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
