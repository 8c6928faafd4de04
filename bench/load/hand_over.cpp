// SPDX-License-Identifier: MIT
// From the call that releases to the moment at which the next owner, in another process, runs. Two processes take one
// key in turn: who has it holds it until the other has been queued for long, so that both, and the server, sleep when
// the hand-over begins, as they would in a program with something to do. The moments are read from one clock and stand
// in memory that both share; the child is made before either opens a context.
#include <liblock/liblock.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <semaphore>

#include "client.hpp"
#include "clocks.hpp"
#include "modes.hpp"

namespace liblock_bench {

namespace {

struct Shared {
  std::atomic<int64_t> released_at;  // by whoever had it last
  std::atomic<int> released_by;
  std::atomic<int> open;  // processes that are ready
  Histogram hand_overs[2];
};

enum Waiter : uint8_t { Callback, Loop, Blocking };

// How one process waits for its turn.
class Turn {
 public:
  Turn(const Settings &settings, Waiter waiter) : waiter_(waiter) {
    if (waiter == Loop && uv_loop_init(&loop_) != 0) Settings::fail("uv_loop_init");
    opened_ = std::make_unique<Opened>(settings, waiter == Loop ? &loop_ : nullptr);
  }

  // Until this process has it; the moment is taken first thing in the callback.
  liblock_lock await() {
    liblock_lock lock = 0;
    if (waiter_ == Blocking) {
      must(liblock_acquire(*opened_, key_.data(), key_.size(), &opened_->acquire, &lock, nullptr),
           "liblock_acquire");
      granted_at_ = now_ns();
      return lock;
    }
    is_ended_ = false;
    liblock_request request;
    must(liblock_acquire_async(*opened_, key_.data(), key_.size(), &opened_->acquire, on_end, this, &request),
         "liblock_acquire_async");
    if (waiter_ == Loop) {
      while (!is_ended_) uv_run(&loop_, UV_RUN_ONCE);
    } else {
      ended_.acquire();
    }
    must(status_, "an acquire");
    return lock_;
  }
  int64_t granted_at() const { return granted_at_; }

  // Nobody is kept from sleeping meanwhile; a loop of ours goes on turning.
  void hold(int64_t length) {
    const int64_t until = now_ns() + length;
    if (waiter_ != Loop) return sleep_ns(length);
    uv_timer_t timer;
    uv_timer_init(&loop_, &timer);
    uv_timer_start(
        &timer, [](uv_timer_t *) {}, static_cast<uint64_t>(length / 1'000'000), 0);
    while (now_ns() < until) uv_run(&loop_, UV_RUN_ONCE);
    uv_close(reinterpret_cast<uv_handle_t *>(&timer), nullptr);
    uv_run(&loop_, UV_RUN_NOWAIT);
  }

  void release(liblock_lock lock) {
    if (waiter_ == Blocking) return must(liblock_release(*opened_, lock, nullptr), "liblock_release");
    must(liblock_release_async(*opened_, lock, nullptr, nullptr, nullptr, nullptr), "liblock_release_async");
  }

  void close() {
    if (waiter_ != Loop) return opened_.reset();
    bool is_closed = false;
    must(liblock_close_async(
             *opened_, [](const liblock_completion *, void *closed) { *static_cast<bool *>(closed) = true; },
             &is_closed),
         "liblock_close_async");
    while (!is_closed) uv_run(&loop_, UV_RUN_ONCE);
    opened_.reset();
    uv_run(&loop_, UV_RUN_DEFAULT);
    uv_loop_close(&loop_);
  }

 private:
  static void on_end(const liblock_completion *completion, void *user_data) {
    Turn &turn = *static_cast<Turn *>(user_data);
    turn.granted_at_ = now_ns();
    turn.status_ = completion->status;
    turn.lock_ = completion->lock;
    turn.is_ended_ = true;
    turn.ended_.release();
  }

  const Waiter waiter_;
  const Key16 key_ = make_key<16>(0);
  uv_loop_t loop_{};
  std::unique_ptr<Opened> opened_;
  std::binary_semaphore ended_{0};
  bool is_ended_ = false;  // of a loop of ours, on its thread
  int64_t granted_at_ = 0;
  liblock_status status_ = LIBLOCK_OK;
  liblock_lock lock_ = 0;
};

void take_turns(const Settings &settings, Shared &shared, int self) {
  const auto waiter = static_cast<Waiter>(settings.choice("waiter", {"callback", "loop", "blocking"}));
  const size_t count = settings.count("count", 200);
  const auto hold = static_cast<int64_t>(settings.number("hold-ms", 2) * 1e6);
  constexpr size_t warm_up = 10;
  Turn turn(settings, waiter);
  settings.must_all_be_read();
  shared.open.fetch_add(1);
  while (shared.open.load() < 2) sleep_ns(1'000'000);
  for (size_t nth = 0; nth < count + warm_up; ++nth) {
    const liblock_lock lock = turn.await();
    // Not where the other one had not come back yet.
    if (nth >= warm_up && shared.released_by.load() == 1 - self)
      shared.hand_overs[self].record(static_cast<uint64_t>(turn.granted_at() - shared.released_at.load()));
    turn.hold(hold);
    shared.released_by.store(self);
    shared.released_at.store(now_ns());
    turn.release(lock);
  }
  turn.close();
}

}  // namespace

void run_hand_over(const Settings &settings, Figures &figures) {
  void *const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) Settings::fail("mmap");
  auto &shared = *new (memory) Shared{};
  shared.released_by = -1;
  const pid_t child = fork();
  if (child < 0) Settings::fail("fork");
  if (child == 0) {
    take_turns(settings, shared, 1);
    _exit(0);
  }
  take_turns(settings, shared, 0);
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) Settings::fail("the other process failed");
  Histogram all = shared.hand_overs[0];
  all.add(shared.hand_overs[1]);
  figures.set("operations", static_cast<double>(all.count()));
  figures.set_latencies("hand_over", all);
}

}  // namespace liblock_bench
