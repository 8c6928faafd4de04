// SPDX-License-Identifier: MIT
// See dead_waiters.hpp.
#include "redis/dead_waiters.hpp"

#include "redis/instance.hpp"

namespace liblock {

namespace {

class DeadWaitersCall final : public ServerCall {
 public:
  DeadWaitersCall(Instance &instance, const std::vector<std::string> &lock_keys,
                  std::function<void(DeadWaiters)> done)
      : count_(lock_keys.size()), done_(std::move(done)) {
    using Side = Keyspace::Side;
    begin(scripts::dead_waiters);
    for (const Bytes lock_key : lock_keys) {
      for (const Side side : {Side::Queue, Side::Entries, Side::Anyone})
        key(Keyspace::side_key(side, lock_key));
    }
    // Its messages come from its first wait on, though not from the first moment.
    argument(instance.options.alive / 1'000);
    instance.link.send(*this);
  }
  bool fits(const Reply &reply) const override {
    return reply.elements.size() == count_ && reply.has_integers(0, count_);
  }
  void answered(const Reply &reply) override {
    DeadWaiters seen;
    for (const Reply &one : reply.elements) seen.found.push_back(one.integer == 1);
    end(std::move(seen));
  }
  void failed(const Failure &failure) override { end({failure.status, failure.text, {}}); }

 private:
  void end(DeadWaiters seen) { end_call(this, done_, std::move(seen)); }
  const size_t count_;
  std::function<void(DeadWaiters)> done_;
};

}  // namespace

void find_dead_waiters(Instance &instance, const std::vector<std::string> &lock_keys,
                       std::function<void(DeadWaiters)> done) {
  new DeadWaitersCall(instance, lock_keys, std::move(done));
}

}  // namespace liblock
