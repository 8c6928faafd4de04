// SPDX-License-Identifier: MIT
// Acquires of this instance, from the call to their end. Each stands in the server's queue by itself, under the
// identity of its attempt; a release there hands it the lock in one message. Loop thread.
//
//   state    meaning                                          left by
//   Asking   its attempt is at the server                     an answer, a failure; an end
//   Waiting  it has a place in a queue; or it barges, or      a grant, a call to come for the key, a place that was
//            could not be asked for, and looks again; or it   lost; its own timer; its turn in the front; an end
//            stands in the front (passing_on.hpp)
//   Over     finished() was called                            -
//   An end is: cancelled, wait_ms or the retries are over, closed, dequeued. An attempt that is still at the
//   server then is undone when it turns out to be granted; a place is given up.
//
// An identity is used until nobody can know what became of it: after an attempt without an answer it is undone, and
// the next attempt has another one, with the ticket of the old one.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/key_info.hpp"
#include "redis/link.hpp"
#include "redis/places.hpp"
#include "remote/front_request.hpp"

namespace liblock {

class Instance;
class Attempt;

class AcquireRequest : public FrontRequest {
 public:
  using FrontRequest::FrontRequest;

 protected:
  ~AcquireRequest() override = default;

 private:
  friend class Waiting;
  friend class Attempt;
  friend class Places;

  // It takes a free key whoever waits, and has no place in a queue.
  bool barges() const { return params_.order == LIBLOCK_ORDER_ANY; }
  int64_t sort_key() const { return params_.sort_key(ticket_us_); }
  // The server tells its instance of it when a key is left free.
  bool is_woken() const { return barges() && !params_.tries_once(); }
  // What the server keeps for it while it waits for a later key.
  LockKeys kept_keys() const;

  Attempt *attempt_ = nullptr;
  // By the runtime's clock, as all times here but heard_at_.
  Nanos try_at_ = kNever;      // the next attempt
  Nanos requeue_at_ = kNever;  // to the end of the queue
  Nanos search_at_ = kNever;   // for a deadlock

  // Under which the server knows it; empty: it does not. And the number of its last attempt.
  AttemptId id_;
  uint32_t number_ = 0;
  bool has_place_ = false;  // as far as this instance knows
  bool goes_to_end_ = false;
  int64_t since_us_ = 0, ticket_us_ = 0;  // by the server's clock
  int64_t place_ = -1, length_ = -1;      // of the queue, when it was last told
  Nanos heard_at_ = 0;                    // the server has heard of it since, by the suspend-aware clock
  struct Handed {
    uint64_t token = 0;
    Nanos ends_at = 0;  // not later, whatever the lease
    bool others_wait = false;
  };
  Handed handed_;      // while its attempt is under way; token 0: not
  bool told_ = false;  // a call to come for the key came while its attempt was under way
  bool has_words_ = false;  // see there
  bool late_once_ = false;
  bool reported_ = false;  // that it is part of a cycle
  bool in_line_ = false;
  size_t queued_at_ = 0;  // index of the key that it waits for
  ListLinks<AcquireRequest> links_;
};

class Waiting final : public RemoteWaiting {
 public:
  explicit Waiting(Instance &instance);
  ~Waiting();

  void on_timer(RemoteRequest &waiting, Nanos now) override;
  // Messages of the server, which may be late or lie.
  void handed(Bytes message);  // a lock to one of us
  void called(Bytes message);  // the key was left free: that one may come for it
  // The key was left free for one of us, and we were told at that time.
  void may_barge(Bytes lock_key, Nanos came_at);
  void sent_away_alone(Bytes message);  // that one
  void deadlocked(Bytes message);       // that one's wait was ended to break a cycle
  void sent_away(Bytes message);        // those who waited at that time
  void owner_sent_away(Bytes message);  // those of one owner who waited at that time
  // Who has waited since then; of that owner only, where one is named.
  void dequeue(Bytes lock_key, int64_t since_us_most, const std::string *owner_id = nullptr);
  // On a new connection, and when messages come again: what was sent in between was missed.
  void look_at_all();
  // Somebody listens to what each attempt of it saw.
  static bool tells_attempts(const AcquireRequest &request);
  // How long it waits before a deadlock is searched for; kNever: none is.
  Nanos search_delay(const AcquireRequest &request) const;
  // In the order in which they will be served, as far as is known here.
  std::vector<WaiterInfo> shown(Bytes lock_key) const;

  // It stood in the front (passing_on.hpp) until now: it goes to the server; it has a lease that another one had.
  void send_from_front(AcquireRequest &request);
  void passed_on(AcquireRequest &request, const LeaseRef &lease);

  // Of this instance, besides it, for one of its keys.
  bool others_barge(const AcquireRequest &request);

  // What the server says of a place: where it is; that it has none, or that a lock that was kept meanwhile is lost; or
  // why it says nothing.
  AcquireRequest *find(Bytes id) const;
  void has_place(AcquireRequest &request, int64_t place, int64_t length, Nanos heard_at);
  void lost_place(AcquireRequest &request);
  void no_answer(AcquireRequest &request, const Failure &failure);

 private:
  friend class Attempt;
  class SearchCall;
  struct PassWords final : public Timer {
    explicit PassWords(Waiting &w) : waiting(w) {}
    void fire(Nanos) override { waiting.pass_words_on(); }
    Waiting &waiting;
  };

  void send_attempt(RemoteRequest &asking) override;
  bool is_under_way(const RemoteRequest &request) const override {
    return static_cast<const AcquireRequest &>(request).attempt_ != nullptr;
  }
  bool others_need(const RemoteRequest &waiting) const override {
    const auto &request = static_cast<const AcquireRequest &>(waiting);
    return request.has_place_ || request.leads_others();
  }
  void let_go(RemoteRequest &ending) override;
  void withdraw(RemoteRequest &waiting) override;
  void ask_anew(RemoteRequest &waiting) override;
  void arm(RemoteRequest &waiting) override;
  Status ending_of(Status usual) const override;
  void answered(AcquireRequest &request, Attempt &attempt, const Reply &reply);
  void granted(AcquireRequest &request, Attempt &attempt, uint64_t token, bool others_wait);
  void accept(AcquireRequest &request, const AcquireRequest::Handed &handed);
  void stand(AcquireRequest &request);
  void take(AcquireRequest &request, const std::shared_ptr<Lease> &lease, Nanos sent_at, bool others_wait);
  bool unite_tokens(AcquireRequest &request, const Attempt &attempt, uint64_t token);
  void busy(AcquireRequest &request, const Attempt &attempt, const Reply &reply);
  void late(AcquireRequest &request);
  void undo(AcquireRequest &request, const Attempt &attempt);
  void came_too_late(AcquireRequest &request);
  void look_again(AcquireRequest &request);
  void troubled(AcquireRequest &request, const Failure &failure);
  bool ends_by(AcquireRequest &request, const Failure &failure);
  void search_deadlock(AcquireRequest &request);
  void tell_beginning(const AcquireRequest &request) const;
  void tell_busy(const AcquireRequest &request, Bytes lock_key, const Reply &reply) const;
  void tell_failed(const AcquireRequest &request, const Failure &failure) const;
  void tell_requeued(const AcquireRequest &request, const Reply &reply) const;
  void tell_granted(const AcquireRequest &request, uint64_t token, bool is_handed) const;
  Nanos next_poll(AcquireRequest &request, Nanos now);
  void wait(AcquireRequest &request, Nanos try_at);
  void give_up(AcquireRequest &request);
  // That a key of a request was left free: in its hands until it has used that, or somebody else is to have the key.
  struct Word {
    const AcquireRequest *request;
    size_t key;
    Nanos came_at;  // to this instance
    bool is_news;   // it came while the attempt was under way
  };
  struct WordLeft {
    SpareText lock_key;
    Nanos came_at;
  };
  // Its attempt would be sent now, or as soon as what was sent before lets it.
  bool asks_at_once(const AcquireRequest &request) const;
  void wake(AcquireRequest &request, Bytes lock_key, Nanos came_at);
  // All that it has; but for that of the key that it lacks, which it cannot use either. True: it may, by now,
  // and asks at once.
  bool leave_words(AcquireRequest &request, size_t lacks = SIZE_MAX);
  void drop_words(AcquireRequest &request);
  void pass_words_on();
  void is_woken_no_more(AcquireRequest &request);
  void remember_id(AcquireRequest &request);
  void forget_id(AcquireRequest &request);

  Instance &instance_;
  using Ids = std::unordered_map<Bytes, AcquireRequest *, std::hash<Bytes>, std::equal_to<>,
                                 SpareAllocator<std::pair<const Bytes, AcquireRequest *>>>;
  Ids ids_;  // the names are the requests' own
  SpareVector<Word> words_;
  SpareVector<WordLeft> words_left_;  // of keys that are free for others than those who were woken for them
  PassWords pass_words_{*this};
};

}  // namespace liblock
