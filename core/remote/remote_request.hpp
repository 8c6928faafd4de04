// SPDX-License-Identifier: MIT
// Acquires of an instance, from the call to their end, as far as they are the same on one server and on several: what
// was asked for, what its owner holds already, the handle, its end. How a request comes to its lock is the engine's
// own: it derives from both classes. Loop thread.
//
//   state    meaning                                      left by
//   Asking   its attempt is at the servers, or held back  an answer, a failure; an end
//   Waiting  it stands in a queue, or looks again later   a grant, another attempt; an end
//   Over     finished() was called                        -
//
//   An end is: cancelled, wait_ms or the retries are over, closed, dequeued.
//
// Of requests that servers do not know yet so many attempts are under way at once as servers answer well within a
// command's time-out; the rest is held back here, in order, so that what keeps locks and gives them back never stands
// behind all that is wanted.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/list.hpp"
#include "engine/acquire_params.hpp"
#include "lease/retry_policy.hpp"
#include "remote/holds.hpp"
#include "remote/own_waits.hpp"
#include "remote/reentry.hpp"
#include "runtime/inbox.hpp"

namespace liblock {

class RemoteInstance;

class RemoteRequest : public LoopTask, public Timer {
 public:
  enum class State : uint8_t { New, Asking, Waiting, Over };

  RemoteRequest(RemoteInstance &instance, RemoteOwner &owner, std::span<const Bytes> keys,
                const AcquireParams &params);
  // Its end, `grant`: exactly once. May be the end of this object.
  virtual void finished() = 0;
  void run() override;
  void fire(Nanos now) override;
  // Its attempt counts among those of which there are kAttemptsMost at once.
  bool takes_turn() const { return takes_turn_; }

  Grant grant;

 protected:
  friend class RemoteWaiting;
  ~RemoteRequest() override = default;

  // Its owner holds that key already.
  bool reenters(Bytes lock_key) const;
  // What he holds is its own as well.
  bool may_reenter() const { return owner_->named() && params_.on_conflict != LIBLOCK_ON_CONFLICT_WAIT; }
  // When its wait is over, or its next retry is to be counted.
  Nanos next_bound() const;

  RemoteInstance &instance_;
  const std::shared_ptr<RemoteOwner> owner_;
  const LockKeys keys_;  // sorted, each once
  const AcquireParams &params_;
  // What the caller's memory held during the call.
  const std::string value_;
  std::string metadata_;  // names and values, each behind its size
  const LeaseTerms terms_;
  const Nanos began_at_;  // by the runtime's clock, as wait_until_
  State state_ = State::New;
  HeldLock::Parts reentered_;
  RetryCount retries_;
  Nanos wait_until_ = kNever;
  Status trouble_ = Status::OK;                 // why the last attempt could not be made
  std::shared_ptr<RemoteRequest *> extending_;  // set while leases that it reenters are set anew
  bool was_queued_ = false;
  bool is_ending_ = false;      // by end_all
  bool was_asked_for_ = false;  // it stands in asked_for_
  bool may_be_taken_ = false;   // word of that came since its attempt began
  bool takes_turn_ = false;
  bool is_held_back_ = false;   // it stands in held_back_, and not in asked_for_
  bool is_looked_at_ = false;   // it stands in looked_at_
  ListLinks<RemoteRequest> all_links_, asked_for_links_;
  OwnWaits::OfRequest own_waits_;
};

class RemoteWaiting {
 public:
  explicit RemoteWaiting(RemoteInstance &instance) : remote_(instance) {}

  // Of attempts that take a turn: one is on its way to servers, and it is decided.
  void attempt_begins() { ++attempts_; }
  void attempt_ends();

  void start(RemoteRequest &request);
  void end(RemoteRequest &request, Status status);
  // Those of one owner, or all.
  void end_all(const RemoteOwner *owner, Status status);
  bool empty() const { return all_.empty() && ending_.empty(); }
  size_t size() const { return all_.size() + ending_.size(); }
  // By word that has come; of this lock key, or of any (empty). The word may be here before the grant that it means:
  // what an attempt under way is granted is verified.
  void may_be_taken_away(Bytes lock_key);
  // Those of an owner who wait for what he has now would wait for himself.
  void comes_to_hold(const std::shared_ptr<RemoteOwner> &owner, const LeaseRef &lease);
  virtual void on_timer(RemoteRequest &request, Nanos now) = 0;

 protected:
  ~RemoteWaiting();

  // What its owner does not hold already is to be asked for: state_ becomes Asking. May end the request.
  virtual void send_attempt(RemoteRequest &request) = 0;
  virtual bool is_under_way(const RemoteRequest &request) const = 0;
  // Its place in a line, or others of its process, would wait for it.
  virtual bool others_need(const RemoteRequest &request) const = 0;
  // Whether its owner may go on with that lease for it.
  virtual Status may_reenter(const RemoteRequest &, const Lease &) const { return Status::OK; }
  // It ends: nothing of it may stay on a server but what it was granted. What only the engine knows of it goes into
  // its grant.
  virtual void let_go(RemoteRequest &request) = 0;
  // Its timer, for the next thing that is to happen to it.
  virtual void arm(RemoteRequest &request) = 0;
  // How a wait ends that no trouble of its own ended: `usual`, unless no server was ever there.
  virtual Status ending_of(Status usual) const = 0;

  // An attempt, unless its owner holds all of it, or was closed.
  void ask(RemoteRequest &request);
  // The same for one that waits: its owner holds a key of it by now. What it has of an attempt that has failed, and its
  // place in the front, are for nothing.
  virtual void ask_anew(RemoteRequest &request) = 0;
  // Nothing of it may stay in a line that could bring it a lock: it has all of it from its owner, or will know soon.
  virtual void withdraw(RemoteRequest &request) = 0;
  // Of keys that an attempt of it could not have: its owner holds one of them by now.
  bool has_come_to_hold(const RemoteRequest &request, const LockKeys &lock_keys) const;
  // Its owner holds what he held when the attempt was sent: he may have lost it, given it back, or given it to somebody
  // else with its lease.
  bool still_reenters(const RemoteRequest &request) const;
  // Of a new lease, of what its owner holds already (nullptr), or of both.
  void grant_handle(RemoteRequest &request, const LeaseRef &lease, Nanos sent_at);
  // The first attempt has failed: bounds and the first retry interval. False: the request has ended.
  bool begins_to_wait(RemoteRequest &request);
  // True: its time or its retries are over, and it has ended.
  bool ends_by_time(RemoteRequest &request, Nanos now);
  void refuse_interval(RemoteRequest &request);
  void finish(RemoteRequest &request, Status status);
  // It must end nobody.
  template <typename Visit>
  void for_each_under_way(Visit visit) {
    for (RemoteRequest *request = asked_for_.front(); request != nullptr;) {
      RemoteRequest *next = AskedFor::next(request);
      if (is_under_way(*request)) {
        visit(*request);
      } else {
        request->was_asked_for_ = false;
        asked_for_.remove(request);
      }
      request = next;
    }
  }

  using All = List<RemoteRequest, &RemoteRequest::all_links_>;
  All all_;  // but for those in ending_

 private:
  // So few that what cannot wait does not stand behind many.
  static constexpr size_t kAttemptsMost = 192;
  struct GoOn final : public Timer {
    explicit GoOn(RemoteWaiting &w) : waiting(w) {}
    void fire(Nanos) override { waiting.go_on(); }
    RemoteWaiting &waiting;
  };
  using AskedFor = List<RemoteRequest, &RemoteRequest::asked_for_links_>;
  // True: it is held back until it has a turn.
  bool holds_back(RemoteRequest &request);
  void leave_lists(RemoteRequest &request);
  void go_on();
  void time_is_over(RemoteRequest &request, Status usual);
  bool reenter(RemoteRequest &request);
  void leave_own_waits(RemoteRequest &request);
  const Reentry::Held *held_by_owner(const RemoteRequest &request, Bytes lock_key) const;
  void extend_reentered(RemoteRequest &request);
  void give_handle(RemoteRequest &request, const LeaseRef &lease, Nanos sent_at);
  void succeed(RemoteRequest &request);

  RemoteInstance &remote_;
  All ending_;  // whom end_all is about to end
  OwnWaits own_waits_;
  SpareVector<RemoteRequest *> looked_at_;  // whose owners may have come to hold a key of theirs; nullptr: it has ended
  // All whose attempts are under way, and others, who leave it when it is next read.
  AskedFor asked_for_, held_back_;
  RemoteRequest *has_turn_ = nullptr;  // of those who were held back
  size_t attempts_ = 0;                // under way
  GoOn go_on_{*this};
};

}  // namespace liblock
