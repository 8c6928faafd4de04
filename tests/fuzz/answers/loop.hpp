// SPDX-License-Identifier: MIT
// A loop whose time stands still but when it is told to run, with connections that lead to a server in the same thread.
// What a side writes is at the other after a way that takes time, so that a question and its answer never end in one
// moment, and no two of them go on for ever without time. The bytes that are handed over lie in memory of their own
// size: whoever reads beyond them is seen.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "runtime/runtime.hpp"

namespace answers {

using liblock::kMillisecond;
using liblock::Nanos;

class Loop;
class Wire;

class Peer {
 public:
  virtual bool accepts(uint16_t port) = 0;
  virtual void said(Wire &wire, std::string_view bytes) = 0;

 protected:
  ~Peer() = default;
};

class Wire final : public liblock::ByteStream {
 public:
  Wire(Loop &loop, Listener &listener) : loop_(loop), listener_(&listener) {}

  void open(const liblock::StreamTarget &target) override;
  void request_fill() override { wants_fill_ = true; }
  void close() override { listener_ = nullptr; }

  // The server's side.
  void answer(std::string bytes) { send(Parcel::Kind::Bytes, std::move(bytes)); }
  void end() { send(Parcel::Kind::Ended, {}); }
  uint16_t port() const { return port_; }
  bool is_closed() const { return listener_ == nullptr; }
  std::string channel;  // that it has subscribed to

 private:
  friend class Loop;
  struct Parcel {
    enum class Kind : uint8_t { Opened, Bytes, Ended } kind;
    Nanos at;
    std::string text;
  };
  void send(Parcel::Kind kind, std::string text);
  bool turn(Nanos now, Peer &peer);
  void arrive(const Parcel &parcel);
  Nanos next_arrival() const { return is_closed() || parcels_.empty() ? liblock::kNever : parcels_.front().at; }

  Loop &loop_;
  Listener *listener_;  // nullptr: the client has closed it
  std::deque<Parcel> parcels_;
  uint16_t port_ = 0;
  bool wants_fill_ = false, is_ended_ = false;
};

class Loop final : public liblock::Runtime {
 public:
  explicit Loop(Peer &peer) : peer_(peer) {}
  ~Loop() override { LIBLOCK_ASSERT(notices_.empty() && wires_.empty() && timers_.size() == 0); }

  Nanos now() const override { return time_; }
  bool arm(liblock::Timer &timer, Nanos at) override { return timers_.arm(timer, at); }
  bool cancel(liblock::Timer &timer) override { return timers_.cancel(timer); }
  void post(liblock::Notice *notice) override { notices_.push_back(notice); }
  void run_on_loop(liblock::LoopTask &task) override {
    inbox_.push(task);
    has_tasks_ = true;
  }
  liblock::ByteStream *make_stream(liblock::ByteStream::Listener &listener) override {
    wires_.push_back(std::make_unique<Wire>(*this, listener));
    return wires_.back().get();
  }

  // What leases are counted by: also goes on while the machine sleeps, which timers do not hear of.
  liblock::Clock clock() const { return liblock::Clock(&lease_time_); }
  void sleep(Nanos time) {
    slept_ += time;
    lease_time_.store(time_ + slept_);
  }
  void run_for(Nanos time);
  Nanos way = kMillisecond / 5;  // of what is written from now on; nothing is overtaken
  const std::vector<std::unique_ptr<Wire>> &wires() const { return wires_; }
  Peer &peer() { return peer_; }
  bool is_idle() const { return wires_.empty() && timers_.size() == 0; }

 private:
  void move_to(Nanos time) {
    time_ = time;
    lease_time_.store(time_ + slept_);
  }
  void turn();

  Peer &peer_;
  Nanos time_ = 1'000'000 * kMillisecond, slept_ = 0;
  std::atomic<Nanos> lease_time_{1'000'000 * kMillisecond};
  liblock::TimerHeap timers_;
  liblock::Inbox inbox_;
  bool has_tasks_ = false;
  std::vector<liblock::Notice *> notices_;
  std::vector<std::unique_ptr<Wire>> wires_;
};

inline void Wire::open(const liblock::StreamTarget &target) {
  port_ = target.port;
  send(loop_.peer().accepts(port_) ? Parcel::Kind::Opened : Parcel::Kind::Ended, {});
}

inline void Wire::send(Parcel::Kind kind, std::string text) {
  if (is_ended_ || is_closed()) return;
  is_ended_ = kind == Parcel::Kind::Ended;
  const Nanos before = parcels_.empty() ? 0 : parcels_.back().at;
  parcels_.push_back({kind, std::max(before, loop_.now() + loop_.way), std::move(text)});
}

inline void Wire::arrive(const Parcel &parcel) {
  const std::vector<char> bytes(parcel.text.begin(), parcel.text.end());
  if (parcel.kind == Parcel::Kind::Opened) listener_->on_open();
  if (parcel.kind == Parcel::Kind::Bytes) listener_->on_bytes({bytes.data(), bytes.size()});
  if (parcel.kind == Parcel::Kind::Ended) listener_->on_end("it closed the connection");
}

inline bool Wire::turn(Nanos now, Peer &peer) {
  bool did = false;
  while (!is_closed() && !parcels_.empty() && parcels_.front().at <= now) {
    const Parcel parcel = std::move(parcels_.front());
    parcels_.pop_front();
    arrive(parcel);
    did = true;
  }
  if (is_closed() || !std::exchange(wants_fill_, false)) return did;
  std::string bytes;
  listener_->fill(bytes);
  if (!bytes.empty()) peer.said(*this, bytes);
  return true;
}

inline void Loop::turn() {
  bool is_busy = true;
  for (int rounds = 0; is_busy; ++rounds) {
    LIBLOCK_ASSERT(rounds < 10'000);  // a timer that arms itself for now, for ever
    is_busy = std::exchange(has_tasks_, false);
    inbox_.run_all();
    for (size_t i = 0; i < wires_.size(); ++i) is_busy |= wires_[i]->turn(time_, peer_);  // more may come meanwhile
    if (liblock::Timer *timer = timers_.pop_due(time_); timer != nullptr) {
      is_busy = true;
      timer->fire(time_);
    }
    for (liblock::Notice *notice : std::exchange(notices_, {})) {
      is_busy = true;
      notice->deliver();
      notice->dispose();
    }
  }
  std::erase_if(wires_, [](const std::unique_ptr<Wire> &wire) { return wire->is_closed(); });
}

inline void Loop::run_for(Nanos time) {
  const Nanos until = time_ + time;
  for (;;) {
    turn();
    Nanos next = timers_.earliest();
    for (const auto &wire : wires_) next = std::min(next, wire->next_arrival());
    if (next > until) break;
    move_to(std::max(next, time_));
  }
  move_to(until);
  turn();
}

}  // namespace answers
