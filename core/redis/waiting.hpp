// SPDX-License-Identifier: MIT
// Acquires of this instance, from the call to their end. The waiters of one key stand in one local queue; only
// its head speaks to the server, for all of them. Loop thread.
//
//   state    meaning                                          left by
//   Queued   behind another waiter of its key                 it becomes the head; an end
//   Asking   the head: its attempt is at the server           an answer, a failure; an end
//   Parked   the head: the key is busy                        a wake-up, the end of the holder's lease, the retry
//                                                             interval, a new connection; an end
//   Over     finished() was called                            -
//   An end is: cancelled, wait_ms or the retries are over, closed, dequeued. An attempt that is still at the
//   server then is undone when it turns out to be granted.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/list.hpp"
#include "engine/acquire_params.hpp"
#include "engine/key_info.hpp"
#include "lease/retry_policy.hpp"
#include "redis/holds.hpp"
#include "redis/link.hpp"

namespace liblock {

class Instance;
class Attempt;

class AcquireRequest : public LoopTask, public Timer {
 public:
  enum class State : uint8_t { New, Queued, Asking, Parked, Over };

  AcquireRequest(Instance &instance, RedisOwner &owner, std::span<const Bytes> keys,
                 const AcquireParams &params);
  // Its end, `grant`: exactly once. May be the end of this object.
  virtual void finished() = 0;
  void run() override;
  void fire(Nanos now) override;

  Grant grant;

 protected:
  ~AcquireRequest() = default;

 private:
  friend class Waiting;
  friend class Attempt;
  friend struct KeyQueue;

  // Its owner holds that key already.
  bool reenters(const std::string &lock_key) const;

  Instance &instance_;
  const std::shared_ptr<RedisOwner> owner_;
  std::vector<std::string> keys_;  // lock keys, sorted, each once
  const AcquireParams &params_;
  // What the caller's memory held during the call.
  const std::string value_;
  std::vector<std::pair<std::string, std::string>> metadata_;
  const Nanos began_at_;  // by the runtime's clock, as all times here
  State state_ = State::New;
  Attempt *attempt_ = nullptr;
  std::vector<HeldLock::Part> reentered_;
  RetryCount retries_;
  Nanos wait_until_ = kNever;
  Nanos try_at_ = kNever;  // the head's next attempt
  int64_t since_us_ = 0;   // by the server's clock: waiting there since
  int64_t sort_key_ = 0;
  int64_t foreign_pttl_ = INT64_MIN;             // of the foreign holder that the last attempt met
  uint32_t foreign_polls_ = 0;                   // that met the same one
  Status trouble_ = Status::OK;                  // why the last attempt could not be made
  std::shared_ptr<AcquireRequest *> extending_;  // set while leases that it reenters are set anew
  bool wake_missed_ = false;                     // a wake-up came while its attempt was under way
  bool late_once_ = false;
  bool was_queued_ = false;
  bool in_queue_ = false;
  size_t queued_at_ = 0;  // index of the key whose queue it is in
  ListLinks<AcquireRequest> links_;
  ListLinks<AcquireRequest> all_links_;
};

struct KeyQueue {
  using Waiters = List<AcquireRequest, &AcquireRequest::links_>;
  Waiters waiters;
  bool is_registered = false;  // this instance is among the key's waiters on the server
  // When its head, whoever that is by then, looks again: heads may come and go faster than they look. kNow: at once,
  // since what the last one asked for is not known.
  static constexpr Nanos kNow = 0;
  Nanos look_at = kNow;
};

class Waiting {
 public:
  explicit Waiting(Instance &instance) : instance_(instance) {}

  void start(AcquireRequest &request);
  void end(AcquireRequest &request, Status status);
  void on_timer(AcquireRequest &request, Nanos now);
  // A key may be free.
  void wake(const std::string &lock_key);
  // This instance has just freed it, and the server had nobody else to wake.
  void freed_by_us(const std::string &lock_key);
  // The attempt of a request that has ended made this instance a waiter there; or its grant has left it one, or not.
  void registered_for_nobody(const std::string &lock_key);
  void registration_after_grant(const std::vector<std::string> &lock_keys, bool stays);
  void dequeue(const std::string &lock_key);
  // On a new connection, and when messages come again: what was sent in between was missed.
  void wake_all();
  void end_all(const RedisOwner *owner, Status status);
  bool empty() const { return all_.empty(); }
  size_t size() const { return all_.size(); }
  size_t waiters_of(const std::string &lock_key) const;
  bool is_registered(const std::string &lock_key) const;
  // In the order in which they will be served.
  std::vector<WaiterInfo> shown(const std::string &lock_key) const;

 private:
  friend class Attempt;
  using All = List<AcquireRequest, &AcquireRequest::all_links_>;

  bool reenter(AcquireRequest &request);
  void ask(AcquireRequest &request);
  bool registers_soon(const std::string &lock_key) const;
  void look(AcquireRequest &head);
  bool wants_registration(const AcquireRequest &request) const;
  bool others_wait(const AcquireRequest &request, const std::vector<std::string> &lock_keys) const;
  void answered(AcquireRequest &request, Attempt &attempt, const Reply &reply);
  void granted(AcquireRequest &request, Attempt &attempt, uint64_t token);
  bool unite_tokens(AcquireRequest &request, const Attempt &attempt, uint64_t token);
  void extend_reentered(AcquireRequest &request);
  void succeed(AcquireRequest &request);
  void grant_handle(AcquireRequest &request, const std::shared_ptr<Lease> &lease, Nanos sent_at);
  void busy(AcquireRequest &request, const Attempt &attempt, const Reply &reply);
  void late(AcquireRequest &request);
  void came_too_late(AcquireRequest &request);
  void look_again(AcquireRequest &request);
  void troubled(AcquireRequest &request, const Failure &failure);
  void tell_leaving(const std::string &lock_key);
  bool missed_by_first(const std::string &lock_key);
  bool begins_to_wait(AcquireRequest &request);
  Nanos next_poll(AcquireRequest &request, Nanos now);
  Nanos foreign_poll(AcquireRequest &request, int64_t pttl);
  void park(AcquireRequest &request, Nanos try_at);
  void arm(AcquireRequest &request);
  Status ending_of(const AcquireRequest &request, Status usual) const;
  void finish(AcquireRequest &request, Status status);
  KeyQueue *queue_of(const AcquireRequest &request);
  void join_queue(AcquireRequest &request, size_t key);
  void leave_queue(AcquireRequest &request, bool moves);

  Instance &instance_;
  std::unordered_map<std::string, KeyQueue> queues_;
  All all_;
};

}  // namespace liblock
