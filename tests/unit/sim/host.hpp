// SPDX-License-Identifier: MIT
// A process: the library's runtime with a clock of its own, whose loop turns when the world says so. It can be
// paused (as by a debugger, or a page that is read from disk), put to sleep with its machine, and cut off.
//
//   true time      the world's
//   lease clock    true time by its own rate, also while the machine sleeps: what leases are counted by
//   runtime clock  the same without the time that the machine slept: what timers go by
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "link.hpp"
#include "runtime/runtime.hpp"
#include "wire.hpp"
#include "world.hpp"

namespace liblock_test::sim {

class Host final : public liblock::Runtime, public std::enable_shared_from_this<Host> {
 public:
  Host(World &world, std::string name);
  ~Host() override;

  Nanos now() const override { return (is_asleep_ ? asleep_since_ : local()) - behind_; }
  bool arm(liblock::Timer &timer, Nanos at) override;
  bool cancel(liblock::Timer &timer) override;
  void post(liblock::Notice *notice) override;
  void run_on_loop(liblock::LoopTask &task) override;
  liblock::ByteStream *make_stream(liblock::ByteStream::Listener &listener) override;

  const std::string &name() const { return name_; }
  World &world() { return world_; }
  // The clock that leases are counted by.
  liblock::Clock clock() const { return liblock::Clock(&now_); }
  void set_rate(int64_t ppm);
  // The lease clock jumps ahead; timers do not hear of it.
  void jump_clock(Nanos ahead);

  void turn();
  bool has_to_turn() const { return !paused_ && (wants_turn_ || timers_.earliest() <= now()); }
  void wants_turn() { wants_turn_ = true; }
  void show_time() { now_.store(local(), std::memory_order_release); }
  Nanos next_wake() const;  // in true time

  void pause() { paused_ = true; }
  void go_on();  // also wakes up
  bool is_paused() const { return paused_; }
  // Paused, and timers have not heard of the time that went by meanwhile.
  void suspend();
  // All its connections end, as by a reset; what is under way to a server may or may not arrive.
  void break_connections();
  // Nothing arrives any more, in both directions, and nobody is told; what was sent arrives when it is mended.
  void cut() { cut_ = true; }
  void mend();
  bool is_cut() const { return cut_; }
  Link &link_to(const Node &node);
  // For good: nothing of it reaches anybody again, and its connections break. It runs once more, cut off, when its
  // test takes it down.
  void kill();
  bool is_killed() const { return killed_; }
  // For its end: as it was before anything was done to it, but for what cannot be undone. Its links stay as they are.
  void mend_if_alive();
  std::shared_ptr<Host> shared() { return shared_from_this(); }

 private:
  friend class Link;
  friend class Wire;
  Nanos local() const;
  Nanos true_time(Nanos timer_time) const;
  void wire_closed() { has_closed_wires_ = true; }

  World &world_;
  const std::string name_;
  std::atomic<Nanos> now_{0};
  Nanos rate_since_ = 0;  // true time
  Nanos local_since_ = 1'000'000 * kMillisecond;
  int64_t ppm_ = 0;
  Nanos behind_ = 0;        // the runtime's clock behind the lease clock
  Nanos asleep_since_ = 0;  // lease clock
  bool is_asleep_ = false;
  bool paused_ = false;
  bool cut_ = false;
  bool killed_ = false;
  bool wants_turn_ = false;  // but for timers
  bool has_closed_wires_ = false;
  mutable bool wake_is_known_ = false;
  mutable Nanos wake_ = 0;  // true time of the first timer
  liblock::TimerHeap timers_;
  liblock::Inbox inbox_;
  std::vector<liblock::Notice *> notices_;
  std::vector<std::shared_ptr<Wire>> wires_;
  std::vector<std::unique_ptr<Link>> links_;  // by the node's number
};

}  // namespace liblock_test::sim
