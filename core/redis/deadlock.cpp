// SPDX-License-Identifier: MIT
// Search for cycles of named owners that wait for each other, over all processes of a server. A wait that has lasted
// for deadlock_delay_ms is noted there and searched from; so the last one of a cycle finds all others noted. The note
// runs out with alive_ms, and is made again three times in that time, which searches again. Loop thread.
#include <utility>

#include "engine/trace.hpp"
#include "redis/instance.hpp"

namespace liblock {

namespace {

constexpr int64_t kEdgesMax = 64;

Bytes word_of(int32_t on_deadlock) {
  if (on_deadlock == LIBLOCK_ON_DEADLOCK_FAIL_YOUNGEST) return "youngest";
  return on_deadlock == LIBLOCK_ON_DEADLOCK_REPORT_ONLY ? "report" : "self";
}

}  // namespace

class Waiting::SearchCall final : public ServerCall {
 public:
  SearchCall(Instance &instance, const AcquireRequest &request) : instance_(instance), id_(request.id_) {
    begin(scripts::deadlock);
    const std::string &owner = request.owner_->field;
    key(Keyspace::side_key(Keyspace::Side::Owner, owner));
    argument(owner);
    argument(id_);
    argument(request.keys_[request.queued_at_]);
    argument(instance.options.alive / kMillisecond);
    argument(kEdgesMax);
    argument(word_of(request.params_.on_deadlock));
  }
  bool fits(const Reply &reply) const override {
    return reply.at(0).is(Reply::Kind::Text) && reply.has_integers(1, 1);
  }
  void answered(const Reply &reply) override {
    const Bytes ended = reply.at(0).text;
    AcquireRequest *request = instance_.waiting.find(id_);
    // Reported once; but it goes on to be noted, for the searches of others.
    const bool is_known = ended == "cycle" && (request == nullptr || std::exchange(request->reported_, true));
    if (!ended.empty() && !is_known) ++instance_.counts.deadlocks;
    Sight sight;
    sight.count = static_cast<uint64_t>(reply.at(1).integer);
    if (request != nullptr && !ended.empty() && !is_known)
      Trace::tell_deadlock(request->params_.trace, sight);
    if (request != nullptr && ended == id_) instance_.waiting.end(*request, Status::DEADLOCK);
    delete this;
  }
  void failed(const Failure &) override { delete this; }

 private:
  Instance &instance_;
  const AttemptId id_;
};

void Waiting::search_deadlock(AcquireRequest &request) {
  ++instance_.counts.deadlock_searches;
  request.search_at_ = instance_.runtime->now() + instance_.options.alive / 3;
  instance_.link.send(*new SearchCall(instance_, request));
}

// The search of another process found it.
void Waiting::deadlocked(Bytes message) {
  AcquireRequest *request = find(message.substr(0, kAttemptIdSize));
  if (request != nullptr) finish(*request, Status::DEADLOCK);
}

}  // namespace liblock
