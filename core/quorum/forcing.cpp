// SPDX-License-Identifier: MIT
// See forcing.hpp.
#include "quorum/forcing.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "quorum/instance.hpp"
#include "quorum/reading.hpp"

namespace liblock::quorum {

namespace {

class ForceRound final : public FanOut {
 public:
  ForceRound(Instance &instance, Forced forced, Ask &ask, AskDone done)
      : FanOut(instance),
        forced_(std::move(forced)),
        rule_(forced_.rule ? *forced_.rule : rule_of_key(instance, forced_.lock_key)),
        ask_(&ask),
        done_(std::move(done)) {
    if (!forced_.known_id.empty()) taken_.insert(forced_.known_id);
    // What is granted here later is not what it takes away.
    for (const LeaseRef &lease : instance.keeper.find(forced_.lock_key)) {
      if (forced_.id.empty() || lease->id == forced_.id) ours_.push_back(lease);
    }
  }
  void begin() {
    open_ = instance_.membership.ready();
    // Who has it need not be among those who count.
    for (const auto &node : instance_.nodes()) {
      if (!node->is_ready()) clean(*node);
    }
    if (open_ == 0) return end();
    ask_all(open_);
  }

 private:
  void encode(Call &call) override {
    call.begin_again(scripts::force);
    call.put_node_key();
    call.put_key(forced_.lock_key);
    call.argument(call.who());
    call.argument(call.node.boot());
    call.argument(call.node.not_after(call.sent_at, 2 * call.node.options.command_timeout));
    call.argument(kClaimMs);
    call.argument(forced_.id);
    call.argument(static_cast<int64_t>(forced_.version));
    call.argument(static_cast<int64_t>(forced_.token));
    call.argument(forced_.drops_queue ? Bytes("1") : Bytes("0"));
  }
  bool fits(const Call &, const Reply &reply) const override {
    if (reply.at(0).text == "LATE") return reply.has_integers(1, 1);
    return reply.at(0).text == "OK" && reply.has_integers(1, 3) && reply.at(4).is(Reply::Kind::Text);
  }
  void answered(Call &call, const Reply &reply) override {
    if (reply.at(0).text == "LATE") return ask_late(call);
    (reply.at(2).integer == 1 ? gone_ : refused_) |= call.node.bit();
    waiters_ = std::max(waiters_, reply.at(3).integer);
    if (!reply.at(4).text.empty()) taken_.emplace(reply.at(4).text);
    if (rule_.is_reached(gone_)) tell_observers();
    one_ended(call);
  }
  void failed(Call &call, const Failure &failure) override {
    why_ = failure.text;
    if (failure.sent) unknown_ |= call.node.bit();
    if (failure.status != Status::CLOSED) clean(call.node);
    one_ended(call);
  }
  void clean(Node &node) const {
    if (forced_.known_id.empty()) return;
    instance_.cleaner.undo(node, {forced_.lock_key}, forced_.known_id, 0, 0,
                           instance_.clock.now() + nanos_from_ms(std::max<int64_t>(0, forced_.left_ms)));
  }
  // Also of what is heard when it has ended already.
  void tell_observers() {
    for (const std::string &id : std::exchange(taken_, {}))
      instance_.observers.taken_away(forced_.lock_key, id);
  }
  void one_ended(const Call &call) {
    open_ &= ~call.node.bit();
    if (rule_.is_reached(gone_) || open_ == 0) end();
  }
  void end() {
    if (done_ == nullptr) return;
    ask_->votes = static_cast<uint8_t>(std::popcount(gone_ & rule_.nodes()));
    ask_->nodes = static_cast<uint8_t>(std::popcount(rule_.nodes()));
    ask_->tally.waiters =
        std::max(ask_->tally.waiters, static_cast<uint64_t>(std::max<int64_t>(0, waiters_)));
    const AskDone done = std::exchange(done_, nullptr);
    if (!instance_.membership.is_known()) {  // and the rule asks for nobody
      const Failure failure = instance_.why_no_nodes();
      return done(failure.status, failure.text);
    }
    if (rule_.is_reached(gone_)) {
      for (const LeaseRef &lease : std::exchange(ours_, {})) instance_.keeper.lose(lease);
      return done(Status::OK, "");
    }
    if (gone_ != 0) return done(Status::PARTIAL, why_partial());
    if (refused_ != 0) return done(Status::NOT_OWNER, "");
    if (unknown_ != 0) return done(Status::IN_DOUBT, why_);
    Failure failure = instance_.why_no_quorum(rule_);
    if (!why_.empty()) failure.text += "; " + why_;
    done(failure.status, failure.text);
  }

  std::string why_partial() const {
    const std::string text = "taken away on " + std::to_string(ask_->votes) + " of " + std::to_string(ask_->nodes) +
                             " nodes, fewer than must vote: its holder may have it still; call again when more answer";
    return why_.empty() ? text : text + "; " + why_;
  }

  const Forced forced_;
  const QuorumRule rule_;
  Ask *const ask_;  // until done_ is called
  AskDone done_;
  std::vector<LeaseRef> ours_;
  std::set<std::string> taken_;  // attempts that hold it no longer, of which observers are to be told
  NodeSet open_ = 0, gone_ = 0, refused_ = 0, unknown_ = 0;
  int64_t waiters_ = 0;
  std::string why_;
};

}  // namespace

void force_away(Instance &instance, Forced forced, Ask &ask, AskDone done) {
  std::make_shared<ForceRound>(instance, std::move(forced), ask, std::move(done))->begin();
}

// Looks first: which token is to be outdone, and what there was. An administrator's word counts all the same where
// nobody knows whether it is held.
void force_release(Instance &instance, Ask &ask, AskDone done) {
  const std::string lock_key = instance.keyspace.lock_key(ask.keys[0]);
  read_keys(instance, {lock_key}, {}, [&instance, &ask, lock_key, done = std::move(done)](KeysRead read) {
    Forced forced;
    forced.lock_key = lock_key;
    forced.drops_queue = ask.flag;
    if (!read.keys.empty()) {
      const KeyVotes &key = read.keys.front();
      const bool is_held = key.verdict() == KeyVotes::Verdict::Held;
      forced.token = key.largest_token();
      if (is_held) forced.known_id = key.record().id, forced.rule = key.rule_of_lock();
      forced.left_ms = is_held ? key.left_ms() : 0;
      ask.tally.locks = is_held || (read.status != Status::OK && key.touched() != 0);
      ask.tally.waiters = key.waiting() + standing_for(instance, lock_key, key);
    }
    force_away(instance, std::move(forced), ask, [&ask, done](Status status, const std::string &why) {
      ask.tally.queues = ask.tally.waiters != 0;
      if (status != Status::OK) ask.tally.locks = status == Status::PARTIAL;
      done(status == Status::OK && ask.tally.locks == 0 ? Status::NOT_HELD : status, why);
    });
  });
}

}  // namespace liblock::quorum
