// SPDX-License-Identifier: MIT
// See renaming.hpp.
#include "redis/renaming.hpp"

#include <utility>

#include "redis/instance.hpp"

namespace liblock {

class Renaming::Call final : public ServerCall {
 public:
  Call(Renaming &renaming, const HeldLock &lock, AskDone done)
      : renaming_(renaming), handle_(lock.handle), done_(std::move(done)) {
    begin(scripts::rename);
    for (const HeldLock::Part &part : lock.parts) key(part.lock_key());
    argument(lock.owner->field);
    argument(renaming.instance_.id);
    argument(lock.parts.front().lease->id);
  }
  bool fits(const Reply &reply) const override { return reply.is(Reply::Kind::Integer); }
  // Where it was taken away before it said whose it is, the word of that went to who had it before.
  void answered(const Reply &reply) override {
    const HeldLock *lock = renaming_.instance_.holds.find(handle_);
    if (lock != nullptr && reply.integer < static_cast<int64_t>(lock->parts.size()))
      renaming_.instance_.keeper.verify({lock->parts.front().lease}, nullptr);
    end();
  }
  void failed(const Failure &failure) override {
    if (failure.status != Status::CLOSED) renaming_.again_.push_back(handle_);
    end();
  }

 private:
  void end() { end_call(this, done_, Status::OK, ""); }
  Renaming &renaming_;
  const Handle handle_;
  AskDone done_;
};

void Renaming::rename(Handle handle, AskDone done) {
  const HeldLock *lock = instance_.holds.find(handle);
  if (lock == nullptr) return done(Status::OK, "");
  instance_.link.send(*new Call(*this, *lock, std::move(done)));
}

void Renaming::on_connected() {
  for (const Handle handle : std::exchange(again_, {})) rename(handle, [](Status, const std::string &) {});
}

}  // namespace liblock
