// SPDX-License-Identifier: MIT
// See renaming.hpp.
#include "redis/renaming.hpp"

#include "redis/instance.hpp"

namespace liblock {

namespace {

class RenameCall final : public ServerCall {
 public:
  RenameCall(Instance &instance, const HeldLock &lock, AskDone done) : done_(std::move(done)) {
    begin(scripts::rename);
    for (const HeldLock::Part &part : lock.parts) key(part.lock_key());
    argument(lock.owner->field);
    argument(instance.id);
    argument(lock.parts.front().lease->id);
  }
  bool fits(const Reply &reply) const override { return reply.is(Reply::Kind::Integer); }
  void answered(const Reply &) override { end(); }
  void failed(const Failure &) override { end(); }

 private:
  void end() { end_call(this, done_, Status::OK, ""); }
  AskDone done_;
};

}  // namespace

void rename_records(Instance &instance, Handle handle, AskDone done) {
  const HeldLock *lock = instance.holds.find(handle);
  if (lock == nullptr) return done(Status::OK, "");
  instance.link.send(*new RenameCall(instance, *lock, std::move(done)));
}

}  // namespace liblock
