// SPDX-License-Identifier: MIT
// A program that uses a context: each call of it is three bytes, what, on what and how. It writes down what it asked
// for and how that ended (ends.hpp), and says what must hold of both.
//
// Invariant: whatever was accepted and has not ended is in requests_ or asks_, whose ends come once.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "ends.hpp"
#include "liar.hpp"
#include "runtime/once.hpp"

namespace answers {

template <typename Request>
class Program {
 public:
  Program(liblock::RemoteInstance &instance, std::shared_ptr<Loop> loop, Liar &servers)
      : instance_(instance), loop_(std::move(loop)), servers_(servers) {
    nobody_ = std::make_shared<liblock::RemoteOwner>(this, "i1", 0, "", false);
    instance_.unnamed = nobody_;
    for (size_t n = 0; n < std::size(owners_); ++n) open_owner(n);
    loop_->run_for(2 * kMillisecond);
  }

  void call(uint8_t what, uint8_t on, uint8_t how) {
    static void (Program::*const kCalls[])(uint8_t, uint8_t) = {
        &Program::acquire, &Program::acquire, &Program::acquire, &Program::pass_time, &Program::pass_time,
        &Program::release, &Program::release, &Program::extend,  &Program::ask,       &Program::ask,
        &Program::cancel,  &Program::tell,    &Program::tell,    &Program::trouble,   &Program::close_owner,
        &Program::acquire_many};
    (this->*kCalls[what % std::size(kCalls)])(on, how);
    // Half of the calls are made in one turn of the loop with the next.
    if (what < 128) loop_->run_for(kMillisecond);
    look_at_locks();
  }

  // Ends come when the servers answer, and without them when their time is over.
  void leave() {
    bool is_closed = false;
    const bool leaves = instance_.random.up_to(3) == 0;
    liblock::run_once(*loop_, [&] {
      instance_.close(leaves, [&] {
        LIBLOCK_ASSERT(!is_closed);
        is_closed = true;
      });
    });
    loop_->run_for(0);
    LIBLOCK_ASSERT(std::all_of(requests_.begin(), requests_.end(), [](const auto &one) { return one->ended(); }));
    loop_->run_for(5'000 * kMillisecond);
    LIBLOCK_ASSERT(is_closed && ends_.open == 0);
  }

 private:
  using Keys = std::vector<std::string>;
  static std::string key(uint8_t on) { return std::string(1, static_cast<char>('a' + on % 4)); }

  void open_owner(size_t n) {
    owners_[n] = std::make_shared<liblock::RemoteOwner>(this, "i1", ++owner_numbers_, n == 0 ? "a" : "b", true);
  }
  Handle lock(uint8_t on) const {
    return ends_.locks.empty() || on == 255 ? Handle{1} : ends_.locks[on % ends_.locks.size()];
  }

  std::unique_ptr<liblock::AcquireParams> params(uint8_t how) {
    static constexpr int64_t kTtlMs[] = {30'000, 1'000, 60, 3'600'000}, kWaitMs[] = {0, 5'000, -1, 50};
    auto params = std::make_unique<liblock::AcquireParams>();
    params->ttl = kTtlMs[how % 4] * kMillisecond;
    params->renew = how % 4 == 0;
    params->ttl_is_auto = params->renew;
    params->wait = kWaitMs[how / 4 % 4] < 0 ? liblock::kNever : kWaitMs[how / 4 % 4] * kMillisecond;
    params->retry.interval_ms = 100;
    params->order = how / 16 % 4;
    params->priority = how % 3;
    params->runtime = loop_;
    asks_for(params->ttl, false);
    return params;
  }
  // What is asked for seldom, of which one may come with each.
  void season(liblock::AcquireParams &params, uint8_t on) {
    static const liblock_metadata kMetadata[] = {{{"n", 1}, {"v", 1}}};
    const uint8_t which = on / 8 % 16;
    if (which == 1) params.value = "value";
    if (which == 2) params.metadata = kMetadata;
    if (which == 3) params.replicas = 1;
    if (which == 4) params.retry.retries_max = 2;
    if (which == 5) params.on_conflict = LIBLOCK_ON_CONFLICT_WAIT;
    if (which == 6) params.on_conflict = LIBLOCK_ON_CONFLICT_REENTER_EXTEND;
    if (which == 7) params.queue_ttl = 300 * kMillisecond;
    if (which == 8) params.max_hold = 5'000 * kMillisecond;
    if (which == 9) params.min_remaining = 900 * kMillisecond;
    if (which == 10) params.ttl = ttl_most_ = liblock::kNever, params.renew = params.ttl_is_auto = false;
    if (which == 11) params.on_conflict = LIBLOCK_ON_CONFLICT_FAIL;
    if (which == 12) params.votes = LIBLOCK_VOTES_ALL;
    if (which == 13) params.nodes = std::make_shared<const Keys>(Keys{"n1", "n2"});
  }

  void asks_for(Nanos ttl, bool is_added) {
    if (ttl_most_ == liblock::kNever) return;
    ttl_most_ = ttl == liblock::kNever ? ttl : is_added ? ttl_most_ + ttl : std::max(ttl_most_, ttl);
  }

  void begin(uint8_t on, uint8_t how, const Keys &keys) {
    auto wanted = params(how);
    season(*wanted, on);
    const auto &owner = how / 64 % 4 < std::size(owners_) ? owners_[how / 64 % 4] : nobody_;
    requests_.push_back(std::make_unique<Acquire<Request>>(
        instance_, *owner, std::vector<liblock::Bytes>(keys.begin(), keys.end()), std::move(wanted), ends_));
    loop_->run_on_loop(*requests_.back());
  }
  void acquire(uint8_t on, uint8_t how) { begin(on, how, {key(on)}); }
  void acquire_many(uint8_t on, uint8_t how) { begin(on, how, {key(on), key(on / 4), "c"}); }

  void pass_time(uint8_t on, uint8_t how) {
    static constexpr int64_t kMs[] = {1, 5, 22, 101, 250, 1'001, 3'100, 10'500};
    if (how % 32 == 31) loop_->sleep(kMs[on % std::size(kMs)] * kMillisecond);
    loop_->run_for(kMs[on % std::size(kMs)] * kMillisecond);
  }

  Question &question(Ask::What what) {
    asks_.push_back(std::make_unique<Question>(ends_));
    asks_.back()->what = what;
    return *asks_.back();
  }
  void start(Question &asked) {
    liblock::run_once(*loop_, [this, &asked] { instance_.asking.start(asked); });
  }

  void release(uint8_t on, uint8_t) {
    Question &asked = question(Ask::What::Release);
    asked.lock = lock(on);
    start(asked);
  }
  void extend(uint8_t on, uint8_t how) {
    static constexpr int64_t kTtlMs[] = {0, 1'000, 60'000, 50};
    Question &asked = question(how % 8 == 7 ? Ask::What::Update : how % 8 == 6 ? Ask::What::Verify : Ask::What::Extend);
    asked.lock = lock(on);
    asked.ttl = kTtlMs[how / 8 % 4] == 0 ? liblock::kNever : kTtlMs[how / 8 % 4] * kMillisecond;
    asked.flag = how / 32 % 2 == 1 && asked.ttl != liblock::kNever;
    asked.number = how / 64 % 2;
    asked.text = "changed";
    if (asked.what == Ask::What::Extend) asks_for(asked.ttl, asked.flag);
    start(asked);
  }
  void ask(uint8_t on, uint8_t how) {
    using What = Ask::What;
    static constexpr What kWhat[] = {What::Inspect,   What::Inspect,      What::List,       What::List,
                                     What::Ping,      What::IsQueued,     What::Read,       What::ForceRelease,
                                     What::Clear,     What::ReleaseKey,   What::ExtendKey,  What::UpdateKey,
                                     What::WaitHeld,  What::WaitReleased, What::WaitLost,   What::ListInstances,
                                     What::Export,    What::Adopt,        What::QuorumInit, What::SetNodes,
                                     What::IsLocked,  What::ReleaseKeys};
    Question &asked = question(kWhat[how % std::size(kWhat)]);
    asked.keys = {key(on)};
    asked.lock = lock(on);
    asked.flag = on / 4 % 2 == 1;
    asked.wait = on / 8 % 2 == 1 ? 400 * kMillisecond : liblock::kNever;
    asked.ttl = 2'000 * kMillisecond;
    asked.value = "new";
    asked.from = static_cast<Ask::From>(on / 16 % 3);
    asked.which = static_cast<Ask::Which>(on / 8 % 3);
    asked.batch = 2;
    asked.number = on / 16 % 4;
    asked.owner = owners_[on % std::size(owners_)];
    asked.waits_for_servers = on / 64 % 2 == 0;
    if (asked.what == What::Export) asked.number = 8'192;
    if (asked.what == What::Clear) asked.text = "o/1", asked.dead_after = 1'000 * kMillisecond;
    if (asked.what == What::ReleaseKey || asked.what == What::ExtendKey || asked.what == What::UpdateKey)
      asked.text = "value";
    if (asked.what == What::SetNodes) asked.change.servers = {"redis://sim:1", "redis://sim:2"};
    if (asked.what == What::Adopt) adopt(asked);
    start(asked);
  }
  void adopt(Question &asked) {
    for (const auto &one : asks_) {
      if (one->is_over() && !one->exported.empty()) asked.text = one->exported;
    }
    adopted_.push_back(params(0));
    asked.params = adopted_.back().get();
  }

  void cancel(uint8_t on, uint8_t how) {
    if (how % 4 == 0 && !asks_.empty()) {
      Question &asked = *asks_[on % asks_.size()];
      liblock::run_once(*loop_, [this, &asked] { instance_.asking.end(asked, Status::CANCELED); });
    } else if (!requests_.empty()) {
      auto &request = *requests_[on % requests_.size()];
      liblock::run_once(*loop_, [this, &request] {
        if (!request.ended()) instance_.waits().end(request, Status::CANCELED);
      });
    }
  }

  // A message on whatever listens.
  void tell(uint8_t on, uint8_t) {
    for (const auto &wire : loop_->wires()) {
      if (wire->channel.empty() || (on % 4 != 0 && wire->port() != on % 4)) continue;
      wire->answer(servers_.speech.message(wire->channel));
    }
  }
  void trouble(uint8_t on, uint8_t how) {
    if (how % 8 == 0) servers_.refuses = !servers_.refuses;
    if (how % 8 == 1) servers_.keeps_silent = !servers_.keeps_silent;
    // The last of them is longer than an answer is waited for.
    static constexpr Nanos kWays[] = {kMillisecond / 5, 30 * kMillisecond, 90 * kMillisecond, 250 * kMillisecond};
    if (how % 8 == 2) loop_->way = kWays[on % std::size(kWays)];
    for (size_t n = 0; n < loop_->wires().size() && how % 8 > 2; ++n) {
      if (on % 4 != 3 && on % 4 != n) continue;
      Wire &wire = *loop_->wires()[n];
      if (how % 8 < 5) {
        wire.end();
      } else {
        wire.answer(servers_.anything());
      }
    }
  }
  // An owner who leaves, and another of the same name.
  void close_owner(uint8_t on, uint8_t) {
    const size_t n = on % std::size(owners_);
    Question &asked = question(Ask::What::CloseOwner);
    asked.owner = owners_[n];
    owners_[n]->closed.store(true);
    start(asked);
    open_owner(n);
  }

  // A lock that is held has a token, and it lasts for no longer than this program has ever asked for.
  void look_at_locks() {
    std::erase_if(ends_.locks, [this](Handle handle) {
      const liblock::HoldView seen = instance_.holds.view(handle);
      is_one_of(seen.status, {Status::OK, Status::LOST, Status::NOT_HELD, Status::INVALID_HANDLE});
      if (seen.status != Status::OK) return seen.status == Status::INVALID_HANDLE;
      LIBLOCK_ASSERT(seen.token > 0 && seen.hold_count > 0);
      LIBLOCK_ASSERT(ttl_most_ == liblock::kNever || seen.deadline - instance_.clock.now() <= ttl_most_);
      return false;
    });
  }

  liblock::RemoteInstance &instance_;
  const std::shared_ptr<Loop> loop_;
  Liar &servers_;
  Ends ends_;
  Nanos ttl_most_ = 0;  // that any lock may have by what was asked for
  std::shared_ptr<liblock::RemoteOwner> nobody_, owners_[2];
  uint64_t owner_numbers_ = 0;
  std::vector<std::unique_ptr<liblock::AcquireParams>> adopted_;
  std::vector<std::unique_ptr<Acquire<Request>>> requests_;
  std::vector<std::unique_ptr<Question>> asks_;
};

}  // namespace answers
