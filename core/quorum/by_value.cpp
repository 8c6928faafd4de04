// SPDX-License-Identifier: MIT
// See by_value.hpp.
#include "quorum/by_value.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "quorum/forcing.hpp"
#include "quorum/instance.hpp"
#include "quorum/reading.hpp"

namespace liblock::quorum {

namespace {

// The lock, where it carries what is expected; else the end.
void find_expected(Instance &instance, Ask &ask, const AskDone &done,
                   std::function<void(const KeyVotes &key)> found) {
  ReadHow how;
  how.needs_value = true;
  read_keys(instance, {instance.keyspace.lock_key(ask.keys[0])}, how,
            [&ask, done, found = std::move(found)](KeysRead read) {
              if (read.status != Status::OK) return done(read.status, read.why);
              const KeyVotes &key = read.keys.front();
              if (key.verdict() == KeyVotes::Verdict::Free) return done(Status::NOT_HELD, "");
              const NodeRecord &record = key.record();
              if (record.id.empty() || record.value != ask.text) return done(Status::NOT_OWNER, "");
              found(key);
            });
}

// Sets its end on nodes that have the lock; afterwards writes it where it is missing, and tells those to which it was
// restored before that nothing newer was lost there, when that is known now: nobody else may do so.
class ExtendRound final : public FanOut {
 public:
  ExtendRound(Instance &instance, std::string lock_key, const KeyVotes &key, int64_t ttl_ms, Ask &ask,
              AskDone done)
      : FanOut(instance),
        lock_key_(std::move(lock_key)),
        rule_(key.record().votes != 0 ? key.rule_of_lock() : changing_rule_of_key(instance, lock_key_)),
        record_(key.record()),
        metadata_(key.packed_metadata()),
        restored_us_(key.restored_us()),
        ttl_ms_(ttl_ms),
        least_left_ms_(key.left_ms()),
        ask_(&ask),
        done_(std::move(done)) {}
  void begin() {
    began_at_ = instance_.clock.now();
    open_ = instance_.membership.ready() & rule_.nodes();
    if (open_ == 0) return end();
    ask_all(open_);
  }

 private:
  void encode(Call &call) override {
    const Nanos timeout = call.node.options.command_timeout;
    call.begin_again(scripts::extend);
    call.put_node_key();
    call.put_key(lock_key_);
    call.argument(call.who());
    call.argument(call.node.boot());
    call.argument(call.node.not_after(call.sent_at, 2 * timeout));
    call.argument(repairs_ ? Bytes("renew") : Bytes("only"));
    call.argument(record_.id);
    call.argument(record_.sequence);
    call.argument(ttl_ms_);
    call.argument(static_cast<int64_t>(record_.token));
    call.argument(static_cast<int64_t>(record_.version));
    call.argument(record_.owner);
    call.argument(record_.instance);
    call.argument(record_.lease_ms);
    call.argument(record_.ticket_us);
    call.argument(record_.value);
    call.argument(metadata_);
    call.argument(int64_t{record_.votes});
    const auto restored = restored_us_.find(call.node.index);
    call.argument(repairs_ && restored != restored_us_.end() ? restored->second : int64_t{1});
  }
  bool fits(const Call &, const Reply &reply) const override {
    const Bytes what = reply.at(0).text;
    if (what == "TTL") return reply.has_integers(1, 2);
    return (what == "OK" && reply.has_integers(1, 5) && reply.has_integers(7, 1)) ||
           (what == "LATE" && reply.has_integers(1, 1));
  }
  void answered(Call &call, const Reply &reply) override {
    if (repairs_) return;
    if (reply.at(0).text == "TTL") max_ttl_ms_ = reply.at(2).integer;
    if (reply.at(0).text == "OK") {
      const int64_t code = reply.at(3).integer;
      if (code > 0) set_ |= call.node.bit();
      if (code > 0 && reply.at(7).integer > 0) knowing_ |= call.node.bit();
      if (code == kMissing) missing_ |= call.node.bit();
      if (code <= 0) gone_ |= call.node.bit();
    }
    one_ended(call);
  }
  void failed(Call &call, const Failure &failure) override {
    if (repairs_) return;
    why_ = failure.text;
    if (failure.sent) unknown_ |= call.node.bit();
    one_ended(call);
  }
  void one_ended(const Call &call) {
    open_ &= ~call.node.bit();
    if (rule_.is_reached(set_)) end();
    if (open_ == 0) all_ended();
  }
  // A release that came in between is seen by that a quorum does not have it any more.
  void all_ended() {
    end();
    NodeSet wanted = missing_;
    for (const auto &[node, at_us] : restored_us_)
      wanted |= rule_.meets_all(knowing_) ? NodeSet{1} << node : 0;
    wanted &= missing_ | set_;
    if (!rule_.is_reached(set_) || wanted == 0 || instance_.is_closing) return;
    repairs_ = true;
    ask_all(wanted);
  }
  void end() {
    if (done_ == nullptr) return;
    ask_->votes = static_cast<uint8_t>(std::popcount(set_ & rule_.nodes()));
    ask_->nodes = static_cast<uint8_t>(std::popcount(rule_.nodes()));
    const AskDone done = std::exchange(done_, nullptr);
    if (rule_.is_reached(set_)) {
      for (const LeaseRef &lease : instance_.keeper.find(lock_key_)) instance_.forget_extensions(*lease);
      instance_.observers.changed(lock_key_, record_.id);
      ask_->view.deadline =
          began_at_ + std::max(Lease::trusted(nanos_from_ms(ttl_ms_)), nanos_from_ms(least_left_ms_));
      return done(Status::OK, "");
    }
    if (max_ttl_ms_ != 0)
      return done(Status::INVALID_ARGUMENT,
                  "ttl_ms is longer than the quorum's max_ttl_ms, " + std::to_string(max_ttl_ms_));
    if (!rule_.is_reached(rule_.nodes() & ~gone_)) return done(Status::NOT_HELD, "");
    if (set_ != 0 || unknown_ != 0) return done(Status::IN_DOUBT, why_);
    const Failure failure = instance_.why_no_quorum(rule_);
    done(failure.status, failure.text);
  }

  static constexpr int64_t kMissing = -2;
  const std::string lock_key_;
  const QuorumRule rule_;
  const NodeRecord record_;
  const std::string metadata_;
  const std::map<size_t, int64_t> restored_us_;  // by node, as it was before this asked
  const int64_t ttl_ms_, least_left_ms_;
  Ask *const ask_;  // until done_ is called
  AskDone done_;
  Nanos began_at_ = 0;
  NodeSet open_ = 0, set_ = 0, missing_ = 0, gone_ = 0, unknown_ = 0, knowing_ = 0;
  int64_t max_ttl_ms_ = 0;
  bool repairs_ = false;
  std::string why_;
};

}  // namespace

void release_key(Instance &instance, Ask &ask, AskDone done) {
  find_expected(instance, ask, done, [&instance, &ask, done](const KeyVotes &key) {
    Forced forced;
    forced.lock_key = instance.keyspace.lock_key(ask.keys[0]);
    forced.id = forced.known_id = key.record().id;
    forced.version = key.record().version;
    forced.token = key.largest_token();
    forced.left_ms = key.left_ms();
    forced.rule = key.rule_of_lock();
    force_away(instance, std::move(forced), ask, done);
  });
}

void extend_key(Instance &instance, Ask &ask, AskDone done) {
  if (ask.ttl == kNever)
    return done(Status::UNSUPPORTED, "over a quorum every lease ends: ttl_ms cannot be LIBLOCK_TTL_NONE");
  find_expected(instance, ask, done, [&instance, &ask, done](const KeyVotes &key) {
    const int64_t left_ms = std::clamp<int64_t>(key.left_ms(), 0, kNever / kMillisecond);
    const int64_t ttl_ms = ask.ttl / kMillisecond + (ask.flag ? left_ms : 0);
    std::make_shared<ExtendRound>(instance, instance.keyspace.lock_key(ask.keys[0]), key,
                                  std::max<int64_t>(1, ttl_ms), ask, done)
        ->begin();
  });
}

}  // namespace liblock::quorum
