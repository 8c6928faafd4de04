// SPDX-License-Identifier: MIT
// See passing_on.hpp.
#include "redis/passing_on.hpp"

#include "redis/instance.hpp"

namespace liblock {

// Who holds, as of when it is sent.
class PassingOn::HolderCall final : public ServerCall {
 public:
  HolderCall(PassingOn &passing_on, const FrontLine &line, uint64_t tokens)
      : passing_on_(passing_on), lock_key_(*line.lock_key), id_(line.lease->id), tokens_(tokens) {
    const Instance &instance = passing_on_.instance_;
    const HeldLock *lock = passing_on_.instance_.holds.find(line.lease->locks.front());
    begin(scripts::pass_on);
    key(lock_key_);
    key(Keyspace::side_key(Keyspace::Side::Fence, lock_key_));
    key(Keyspace::side_key(Keyspace::Side::Queue, lock_key_));
    argument(id_);
    argument(static_cast<int64_t>(line.token_last));  // of these hands: the lease's may have risen in them
    argument(lock->owner->field);
    argument(instance.id);
    argument(static_cast<int64_t>(tokens_));
    argument(static_cast<int64_t>(line.standing.size()));
  }
  bool fits(const Reply &reply) const override { return reply.has_integers(0, 4); }
  void answered(const Reply &reply) override {
    passing_on_.instance_.link.server_clock().observe(reply.at(0).integer, passing_on_.instance_.clock.now());
    const int64_t first = reply.at(2).integer;
    const bool has_some = first > 0;
    passing_on_.told(lock_key_, id_,
                     {reply.at(1).integer == 1 ? Told::Holds::Yes : Told::Holds::No, reply.at(3).integer != 0,
                      has_some ? static_cast<uint64_t>(first) : 0, has_some ? tokens_ : 0});
    delete this;
  }
  void failed(const Failure &failure) override {
    if (failure.status != Status::CLOSED) passing_on_.told(lock_key_, id_, {});
    delete this;
  }

 private:
  ~HolderCall() override = default;
  PassingOn &passing_on_;
  const std::string lock_key_;
  const AttemptId id_;
  const uint64_t tokens_;
};

PassingOn::PassingOn(Instance &instance)
    : RemotePassingOn(instance,
                      Front::options(instance.options.front_budget, instance.options.foreign_gap_ms)),
      instance_(instance) {}

bool PassingOn::can_tell() const { return instance_.link.is_connected(); }
bool PassingOn::hears() const { return instance_.link.is_listening(); }

bool PassingOn::may_stand(FrontRequest &request) const {
  const auto &acquire = static_cast<const AcquireRequest &>(request);
  return !Waiting::tells_attempts(acquire) && instance_.waiting.search_delay(acquire) != 0;
}

void PassingOn::send_word(FrontLine &line, uint64_t tokens) {
  instance_.link.send(*new HolderCall(*this, line, tokens));
}

void PassingOn::send(FrontRequest &request) {
  instance_.waiting.send_from_front(static_cast<AcquireRequest &>(request));
}

void PassingOn::hand(FrontRequest &request, const LeaseRef &lease) {
  instance_.waiting.passed_on(static_cast<AcquireRequest &>(request), lease);
}

void PassingOn::lose(const LeaseRef &lease) { instance_.keeper.lose(lease); }

std::shared_ptr<RemotePassingOn> PassingOn::kept() { return {instance_.shared_from_this(), this}; }

void PassingOn::send_until(AcquireRequest &request) {
  FrontLine &line = *request.line;
  front_.pin(line);
  for (bool was_last = false; !was_last && !line.standing.empty();) {
    FrontRequest &first = request_of(*line.standing.front());
    was_last = &first == &request;
    front_.sends(first);
    send(first);
  }
  count_changed(line);
  front_.unpin(line);
}

}  // namespace liblock
