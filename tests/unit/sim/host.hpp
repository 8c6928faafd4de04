// SPDX-License-Identifier: MIT
// A process: the library's runtime with a clock of its own, whose loop turns when the world says so. It can be
// paused (as by a debugger, or a page that is read from disk), and cut off.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "runtime/runtime.hpp"
#include "wire.hpp"

namespace liblock_test::sim {

class Host final : public liblock::Runtime, public std::enable_shared_from_this<Host> {
 public:
  Host(World &world, std::string name) : world_(world), name_(std::move(name)) {}
  ~Host() override;

  // Its clock: true time * (1 + ppm / 1,000,000) + what it began with.
  Nanos now() const override { return local(); }
  bool arm(liblock::Timer &timer, Nanos at) override { return timers_.arm(timer, at); }
  bool cancel(liblock::Timer &timer) override { return timers_.cancel(timer); }
  void post(liblock::Notice *notice) override { notices_.push_back(notice); }
  void run_on_loop(liblock::LoopTask &task) override { inbox_.push(task); }
  liblock::ByteStream *make_stream(liblock::ByteStream::Listener &listener) override;

  const std::string &name() const { return name_; }
  World &world() { return world_; }
  // The clock that leases are counted by; the same as the runtime's.
  liblock::Clock clock() const { return liblock::Clock(&now_); }
  void set_rate(int64_t ppm);

  void turn();
  Nanos next_wake() const;  // in true time

  void pause() { paused_ = true; }
  void go_on() { paused_ = false; }
  bool is_paused() const { return paused_; }
  // All its connections end, as by a reset; what is under way to a server may or may not arrive.
  void break_connections();
  // Nothing arrives any more, in both directions, and nobody is told; what was sent arrives when it is mended.
  void cut() { cut_ = true; }
  void mend();
  bool is_cut() const { return cut_; }
  // For good: nothing of it reaches anybody again, and its connections break. It runs once more, cut off, when its
  // test takes it down.
  void kill();
  bool is_killed() const { return killed_; }
  // For its end: as it was before anything was done to it, but for what cannot be undone.
  void mend_if_alive();
  std::shared_ptr<Host> shared() { return shared_from_this(); }

 private:
  friend class Wire;
  Nanos local() const;
  Nanos true_time(Nanos local_time) const;

  World &world_;
  const std::string name_;
  std::atomic<Nanos> now_{0};
  Nanos rate_since_ = 0;  // true time
  Nanos local_since_ = 1'000'000 * kMillisecond;
  int64_t ppm_ = 0;
  bool paused_ = false;
  bool cut_ = false;
  bool killed_ = false;
  liblock::TimerHeap timers_;
  liblock::Inbox inbox_;
  std::vector<liblock::Notice *> notices_;
  std::vector<std::shared_ptr<Wire>> wires_;
};

}  // namespace liblock_test::sim
