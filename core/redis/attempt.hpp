// SPDX-License-Identifier: MIT
// One attempt of an acquire at the server, with an identity of its own. It outlives its request: when it turns
// out to have been granted and nobody waits for it any more, it is undone; so it is when nobody can know. Loop
// thread.
#pragma once

#include "redis/cleaner.hpp"
#include "redis/link.hpp"
#include "remote/lease.hpp"

namespace liblock {

class AcquireRequest;
class Instance;

class Attempt final : public ServerCall {
 public:
  Attempt(Instance &instance, AcquireRequest &request);
  void forget_request();
  // Granted, and waiting for replicas: the request cannot time out any more.
  bool is_granted() const { return is_granted_; }
  // The server may have carried it out before that time, and it has got nothing.
  bool may_have_met(Nanos time) const { return was_sent_ && sent_at_ <= time && !is_granted_; }
  void send();

  const LockKeys &lock_keys() const { return lock_keys_; }
  Nanos sent_at() const { return sent_at_; }
  // As the server has it when the answer was OK; nullptr where all keys are reentered.
  std::shared_ptr<Lease> lease(uint64_t token) const;
  // Messages come by a subscription that was not there when it was sent: what came for its request before is lost.
  bool may_have_missed_word() const;
  // The token counts for these as well: what the owner holds already, and goes on with under the new one.
  const std::vector<std::shared_ptr<Lease>> &raised() const { return raised_; }
  void undo() const;

  // What it was granted under is on so many replicas.
  void granted(uint64_t token, uint32_t replicas);
  // It will not be sent.
  void dropped();
  int32_t replicas() const { return replicas_; }
  Nanos replicas_timeout() const { return replicas_timeout_; }
  bool wants_as(const Attempt &other) const;
  // The word came that whoever has waited for that key since then was sent away, and may have overtaken the answer.
  void sent_away(Bytes lock_key, int64_t since_us_most);
  bool was_sent_away(Bytes lock_key, int64_t since_us) const;

  void sending(Nanos now) override;
  // By releases of others: the server knows nothing of it yet that they could meet.
  bool may_be_passed() const override;
  bool fits(const Reply &reply) const override;
  void answered(const Reply &reply) override;
  void failed(const Failure &failure) override;

 private:
  ~Attempt() override;
  void undo(int64_t not_after_us) const;
  void encode_arguments();
  void encode_rest(size_t stands_at, size_t fences);
  size_t place_among_keys() const;
  size_t encode_raised();
  Bytes mode() const;

  Instance &instance_;
  AcquireRequest *request_;  // nullptr: it has ended
  const AttemptId id_;
  LockKeys lock_keys_;
  std::vector<std::shared_ptr<Lease>> raised_;
  // Of the request, which may be gone when the answer comes.
  LockKeys all_keys_;  // with those that are reentered; empty: there are none
  const LeaseTerms terms_;
  const bool takes_turn_;   // of RemoteWaiting
  bool had_place_ = false;  // the server knew its identity already
  int32_t replicas_ = 0;
  Nanos replicas_timeout_ = 0;
  bool is_plain_ = false;  // one key, in no special way: what the script answers in one number
  bool was_sent_ = false;
  bool is_granted_ = false;
  bool others_wait_ = false;  // behind it, when it was granted
  bool is_undone_ = false;    // by what is sent behind it
  uint64_t heard_by_ = 0;     // of the link
  Nanos sent_at_ = 0;
  int64_t not_after_us_ = 0;
  size_t sent_away_at_ = 0;  // of its lock keys
  int64_t sent_away_us_ = -1;
};

}  // namespace liblock
