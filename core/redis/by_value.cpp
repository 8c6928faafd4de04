// SPDX-License-Identifier: MIT
// See by_value.hpp.
#include "redis/by_value.hpp"

#include "redis/instance.hpp"
#include "redis/key_names.hpp"

namespace liblock {

namespace {

class ByValueCall final : public ServerCall {
 public:
  ByValueCall(Instance &instance, Ask &ask, AskDone done)
      : instance_(instance),
        ask_(ask),
        done_(std::move(done)),
        lock_key_(instance.keyspace.lock_key(ask.keys[0])) {
    begin(scripts::by_value);
    add_names(*this, lock_key_);
    const bool extends = ask.what == Ask::What::ExtendKey;
    argument(extends                             ? Bytes(ask.flag ? "add" : "set")
             : ask.what == Ask::What::ReleaseKey ? Bytes("release")
                                                 : Bytes("update"));
    argument(Bytes(ask.text));
    if (extends) {
      argument(ask.ttl == kNever ? int64_t{0} : ask.ttl / kMillisecond);
    } else {
      argument(Bytes(ask.value));
    }
  }
  // What is granted here later is not what it takes away.
  void sending(Nanos) override {
    if (ask_.what == Ask::What::ReleaseKey) named_ = instance_.keeper.find(lock_key_);
  }
  bool fits(const Reply &reply) const override { return reply.has_integers(0, 2); }
  void answered(const Reply &reply) override {
    if (reply.at(0).integer == 0) return end(Status::NOT_HELD, "");
    if (reply.at(0).integer != 2) return end(Status::NOT_OWNER, "");
    if (ask_.what == Ask::What::ReleaseKey) instance_.taken_away(lock_key_, named_, false);
    if (ask_.what == Ask::What::ExtendKey) {
      for (const LeaseRef &lease : instance_.keeper.find(lock_key_)) instance_.forget_extensions(*lease);
    }
    const int64_t left_ms = reply.at(1).integer;
    ask_.view.deadline = left_ms < 0 ? kNever : instance_.clock.now() + nanos_from_ms(left_ms);
    end(Status::OK, "");
  }
  void failed(const Failure &failure) override {
    end(failure.sent ? Status::IN_DOUBT : failure.status, failure.text);
  }

 private:
  void end(Status status, const std::string &why) { end_call(this, done_, status, why); }
  Instance &instance_;
  Ask &ask_;
  AskDone done_;
  const std::string lock_key_;
  std::vector<LeaseRef> named_;
};

}  // namespace

void change_by_value(Instance &instance, Ask &ask, AskDone done) {
  instance.passing_on.tell_now(instance.keyspace.lock_key(ask.keys[0]));
  instance.link.send(*new ByValueCall(instance, ask, std::move(done)));
}

}  // namespace liblock
