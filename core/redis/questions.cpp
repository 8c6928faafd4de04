// SPDX-License-Identifier: MIT
// What an instance asks its one server when remote/asking.hpp hands a call on to it. Loop thread.
#include "redis/by_value.hpp"
#include "redis/clearing.hpp"
#include "redis/instance.hpp"
#include "redis/instance_list.hpp"
#include "redis/renaming.hpp"
#include "redis/scanning.hpp"
#include "redis/server_error.hpp"
#include "remote/handing_over.hpp"

namespace liblock {

namespace {

class PingCall final : public Command {
 public:
  PingCall(Link &link, AskDone done) : done_(std::move(done)) { link.send(*this); }
  void encode(std::string &wire) const override { encode_words(wire, {"PING"}); }
  void replied(const Reply &reply) override {
    const bool fine = reply.is(Reply::Kind::Status);
    const bool is_error = reply.is(Reply::Kind::Error);
    const Status status = fine ? Status::OK : is_error ? classify_error(reply.text).status : Status::PROTOCOL;
    end_call(this, done_, status, fine ? "" : is_error ? explained(reply.text) : "no answer to PING");
  }
  void failed(const Failure &failure) override { end_call(this, done_, failure.status, failure.text); }

 private:
  AskDone done_;
};

constexpr Bytes kExported = "llx1|";

void adopt(Instance &instance, Ask &ask, AskDone done) {
  const auto lease = std::make_shared<Lease>(instance.keeper);
  Bytes text = ask.text;
  const bool is_ours = text.substr(0, kExported.size()) == kExported;
  if (!is_ours || !read_exported(text.substr(kExported.size()), instance.keyspace, *lease))
    return done(Status::INVALID_ARGUMENT,
                "this is no lock that liblock_export gave from a context with this prefix");
  adopt_lock(instance, ask, lease, [&instance, &ask, done](Status status, const std::string &why) {
    if (status != Status::OK) return done(status, why);
    instance.renaming.rename(ask.lock, [done](Status, const std::string &) { done(Status::OK, ""); });
  });
}

}  // namespace

void Instance::ping(AskDone done) { new PingCall(link, std::move(done)); }

void Instance::inspect(Bytes lock_key, Inspection &inspection) {
  liblock::inspect(*this, {std::string(lock_key)}, inspection);
}

void Instance::inspect_in_detail(Bytes lock_key, bool with_waiters, Inspection &inspection) {
  liblock::inspect_in_detail(*this, lock_key, with_waiters, inspection);
}

void Instance::start_other(Ask &ask, AskDone done) {
  switch (ask.what) {
    case Ask::What::List:
      return list_step(*this, ask, std::move(done));
    case Ask::What::ListInstances:
      return list_instances(*this, ask, std::move(done));
    case Ask::What::Clear:
      return clear(*this, ask, std::move(done));
    case Ask::What::ForceRelease:
      return force_release(*this, ask, std::move(done));
    case Ask::What::Export: {
      passing_on.tell_now(holds.find(ask.lock)->parts.front().lock_key());
      const Status status = export_lock(*this, ask, [](const Lease &) { return std::string(kExported); });
      return done(status, ask.message);
    }
    case Ask::What::Adopt:
      return adopt(*this, ask, std::move(done));
    case Ask::What::QuorumInit:
    case Ask::What::SetNodes:
    case Ask::What::QuorumStatus:
      return done(Status::UNSUPPORTED, "");
    default:
      return change_by_value(*this, ask, std::move(done));
  }
}

}  // namespace liblock
