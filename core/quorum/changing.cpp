// SPDX-License-Identifier: MIT
// See changing.hpp.
#include "quorum/changing.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "quorum/instance.hpp"
#include "quorum/reading.hpp"
#include "quorum/rounds.hpp"

namespace liblock::quorum {

namespace {

// Of one change: its name, and what its coordinator must have done within the promise.
struct Terms {
  std::vector<std::string> keys;
  std::vector<std::string> ids;  // of the attempts that hold them, where they are known
  std::string expected;          // else: the value of the one key
  std::string value;
  GrantRef lease;  // ours, that carries it; nullptr: perhaps somebody else's
  Ask *told = nullptr;
  std::optional<QuorumRule> rule{};  // of a lock that is known to be on some of the nodes
};

// Writes what was promised, or gives it up, on nodes that may have promised it.
class Second final : public FanOut {
 public:
  // nullptr: nobody waits for its end; else what was written where, and where nobody knows.
  using Done = std::function<void(NodeSet written, NodeSet unknown)>;
  Second(Instance &instance, std::shared_ptr<const Terms> terms, const AttemptId &id, uint64_t number,
         const QuorumRule &rule, Done done)
      : FanOut(instance),
        terms_(std::move(terms)),
        id_(id),
        number_(number),
        rule_(rule),
        done_(std::move(done)),
        writes_(done_ != nullptr) {}
  void begin(NodeSet nodes) {
    open_ = nodes;
    ask_all(nodes);
  }

 private:
  void encode(Call &call) override {
    call.begin_again(scripts::commit);
    call.put_node_key();
    for (const std::string &key : terms_->keys) call.put_key(key);
    call.argument(id_);
    call.argument(writes_ ? Bytes("1") : Bytes("0"));
    call.argument(static_cast<int64_t>(number_));
    call.argument(terms_->value);
    for (size_t i = 0; i < terms_->keys.size(); ++i)
      call.argument(terms_->ids.empty() ? Bytes() : Bytes(terms_->ids[i]));
  }
  bool fits(const Call &, const Reply &reply) const override { return reply.has_integers(0, 2); }
  void answered(Call &call, const Reply &reply) override {
    if (reply.at(1).integer == 1) written_ |= call.node.bit();
    one_ended(call);
  }
  void failed(Call &call, const Failure &failure) override {
    if (failure.sent) unknown_ |= call.node.bit();
    one_ended(call);
  }
  void one_ended(const Call &call) {
    open_ &= ~call.node.bit();
    if (done_ != nullptr && (open_ == 0 || rule_.is_reached(written_)))
      std::exchange(done_, nullptr)(written_, unknown_);
  }

  const std::shared_ptr<const Terms> terms_;
  const AttemptId id_;
  const uint64_t number_;
  const QuorumRule rule_;
  Done done_;
  const bool writes_;
  NodeSet open_ = 0, written_ = 0, unknown_ = 0;
};

class Change final : public Rounds {
 public:
  Change(Instance &instance, Terms terms, AskDone done)
      : Rounds(instance), terms_(std::move(terms)), done_(std::move(done)) {}

 private:
  bool is_by_value() const { return terms_.ids.empty(); }
  QuorumRule current_rule() const {
    if (terms_.rule) return *terms_.rule;
    const GrantLease *lease = terms_.lease.get();
    return lease != nullptr ? instance_.membership.rule(lease->subset, lease->votes)
                            : changing_rule_of_key(instance_, terms_.keys.front());
  }

  void round() override {
    promised_.clear();
    touched_ = absent_ = other_ = contended_ = restored_ = 0;
    if (terms_.lease != nullptr && terms_.lease->state.load() != Lease::State::Held)
      return end(Status::LOST, "");
    if (!instance_.membership.is_known()) return end(instance_.why_no_nodes());
    if (!instance_.attempt_ids.next(id_)) return end(Status::INTERNAL, "");
    rule_ = current_rule();
    instance_.saw_number(std::max(largest_, terms_.lease != nullptr ? terms_.lease->version : 0));
    number_ = static_cast<uint64_t>(instance_.next_ticket());
    ask_round(rule_.nodes() & instance_.membership.ready());
  }

  void encode(Call &call) override {
    const Nanos timeout = call.node.options.command_timeout;
    call.not_after_us = is_over() ? 1 : call.node.not_after(call.sent_at, 2 * timeout);
    call.begin_again(scripts::promise);
    call.put_node_key();
    for (const std::string &key : terms_.keys) call.put_key(key);
    call.argument(call.who());
    call.argument(call.node.boot());
    call.argument(call.not_after_us);
    call.argument(id_);
    call.argument(4 * timeout / kMillisecond);
    call.argument(static_cast<int64_t>(number_));
    call.argument(is_by_value() ? Bytes("value") : Bytes("id"));
    if (is_by_value()) call.argument(terms_.expected);
    for (const std::string &id : terms_.ids) call.argument(id);
  }
  bool fits(const Call &, const Reply &reply) const override {
    const Bytes what = reply.at(0).text;
    if (what == "OK")
      return reply.has_integers(1, 2) && reply.at(3).is(Reply::Kind::Text) && reply.has_integers(4, 1);
    if (what == "NO") return reply.has_integers(1, 3);
    return what == "LATE" && reply.has_integers(1, 1);
  }
  void heard(Call &call, const Reply &reply) override {
    Node &node = call.node;
    if (reply.at(0).text == "NO") return refused(node, reply.at(2).integer, reply.at(3).integer);
    if (reply.at(0).text == "LATE") return void(why_ = node.address + ": requests reach it too late");
    touched_ |= node.bit();
    const bool votes = reply.at(2).integer == 1;
    if (votes == node.is_silent(instance_.clock.now())) node.look_again();
    if (reply.at(4).integer != 1) restored_ |= node.bit();
    if (!votes || reply.at(4).integer != 1) return;
    NodeSet &nodes = promised_[std::string(reply.at(3).text)];
    nodes |= node.bit();
    if (rule_.is_reached(nodes)) write(std::string(reply.at(3).text));
  }
  void refused(const Node &node, int64_t code, int64_t largest) {
    largest_ = std::max(largest_, static_cast<uint64_t>(std::max<int64_t>(0, largest)));
    // Whoever has forgotten it says nothing by that.
    const bool forgot = node.is_silent(instance_.clock.now());
    if (code == 0 && !forgot) absent_ |= node.bit();
    if (code == 1) other_ |= node.bit();
    if (code > 1) contended_ |= node.bit();
    if (may_be_promised()) return;
    touched_ |= open() & ~node.bit();
    end_round();
  }
  bool may_be_promised() const {
    const NodeSet no = absent_ | other_ | contended_;
    return rule_.is_reached(rule_.nodes() & ~no);
  }
  void not_heard(Call &call, const Failure &failure) override {
    why_ = failure.text;
    // An error may have stopped the script half-way.
    if (failure.sent || failure.status == Status::SERVER) touched_ |= call.node.bit();
  }

  void undecided() override {
    give_up();
    if (instance_.is_closing) return closed();
    const bool is_possible = rule_.is_reached(rule_.nodes() & ~(absent_ | other_));
    const bool is_gone = rule_.is_gone(absent_ | other_);
    if (!is_gone && pause()) return;
    if (is_gone && !is_by_value()) {
      if (terms_.lease != nullptr) instance_.keeper.lose(terms_.lease);
      return end(Status::LOST, "");
    }
    NodeSet willing = contended_;
    for (const auto &[id, nodes] : promised_) willing |= nodes;
    if (is_possible && contended_ != 0 && rule_.is_reached(willing))
      return end(Status::BUSY, "others are changing this lock's value at the same time");
    if (is_by_value()) return read_why();
    end(why_too_few());
  }
  Failure why_too_few() const {
    if (rule_.is_reached(touched_)) return restored_ != 0 ? why_restored() : instance_.why_quarantined(rule_);
    Failure failure = instance_.why_no_quorum(rule_);
    if (!why_.empty()) failure.text += "; " + why_;
    return failure;
  }
  Failure why_restored() const {
    const std::string text =
        std::to_string(std::popcount(restored_)) + " of " + std::to_string(std::popcount(rule_.nodes())) +
        " nodes had lost this lock, and it is not known yet whether a newer value was lost with it; "
        "its holder's renewals find out as soon as " +
        std::to_string(rule_.votes()) + " other nodes answer";
    return {Status::QUARANTINED, false, text, true};
  }
  // Nobody promised it: since there is no such lock, or it is on some of the nodes, or since nobody knows?
  void read_why() {
    set_over();
    ReadHow how;
    how.needs_value = true;
    const auto kept = std::static_pointer_cast<Change>(shared_from_this());
    read_keys(instance_, terms_.keys, how, [kept](KeysRead read) {
      if (read.status != Status::OK) return kept->end(read.status, read.why);
      const KeyVotes &key = read.keys.front();
      if (key.verdict() == KeyVotes::Verdict::Free) return kept->end(Status::NOT_HELD, "");
      const bool is_expected = !key.record().id.empty() && key.record().value == kept->terms_.expected;
      if (!is_expected) return kept->end(Status::NOT_OWNER, "");
      const bool is_elsewhere = key.record().votes != 0 && !kept->terms_.rule;
      is_elsewhere ? kept->begin_anew(key.rule_of_lock()) : kept->end(kept->why_too_few());
    });
  }

  void begin_anew(const QuorumRule &rule) {
    Terms terms = terms_;
    terms.rule = rule;
    std::make_shared<Change>(instance_, std::move(terms), std::exchange(done_, nullptr))->begin();
  }

  void give_up() {
    if (touched_ == 0) return;
    const auto terms = std::make_shared<const Terms>(terms_);
    std::make_shared<Second>(instance_, terms, id_, number_, rule_, nullptr)->begin(touched_);
  }

  void write(const std::string &held_by) {
    set_over();
    auto terms = std::make_shared<Terms>(terms_);
    if (is_by_value()) terms->ids = {held_by};
    // Those that have not answered yet may have promised as well.
    const NodeSet nodes = touched_ | open();
    const auto kept = std::static_pointer_cast<Change>(shared_from_this());
    const auto second = std::make_shared<Second>(
        instance_, terms, id_, number_, rule_,
        [kept, held_by](NodeSet written, NodeSet unknown) { kept->written(held_by, written, unknown); });
    second->begin(nodes);
  }
  void written(const std::string &held_by, NodeSet written, NodeSet unknown) {
    if (terms_.told != nullptr) {
      terms_.told->votes = static_cast<uint8_t>(std::popcount(written));
      terms_.told->nodes = static_cast<uint8_t>(std::popcount(rule_.nodes()));
    }
    if (rule_.is_reached(written)) {
      carry(held_by, false);
      return committed(held_by);
    }
    // The promises ran out, or the lock was lost meanwhile; nothing of it can be anywhere.
    if (written == 0 && unknown == 0) {
      if (pause()) return;
      if (instance_.is_closing) return closed();
      return end(Status::BUSY, "the promises of the nodes ran out before it was written");
    }
    carry(held_by, true);
    read_whether(held_by);
  }
  void read_whether(const std::string &held_by) {
    ReadHow how;
    how.needs_value = true;
    const auto kept = std::static_pointer_cast<Change>(shared_from_this());
    read_keys(instance_, terms_.keys, how, [kept, held_by](const KeysRead &read) {
      const bool is_there =
          read.status == Status::OK &&
          std::all_of(read.keys.begin(), read.keys.end(), [&](const KeyVotes &key) {
            return key.is_agreed() && key.record().id == held_by && key.record().version == kept->number_;
          });
      if (is_there) return kept->committed(held_by);
      kept->end(Status::IN_DOUBT, "fewer nodes than a quorum are known to have the new value");
    });
  }
  void committed(const std::string &held_by) {
    if (is_by_value()) instance_.observers.changed(terms_.keys.front(), held_by);
    end(Status::OK, "");
  }
  // From now on the renewals of a lease of ours bring it to nodes that do not have it yet.
  void carry(const std::string &held_by, bool at_once) {
    for (const LeaseRef &ref : instance_.keeper.find(terms_.keys.front())) {
      const auto lease = std::static_pointer_cast<GrantLease>(ref);
      if (lease->id != held_by || lease->version >= number_) continue;
      lease->version = number_;
      lease->value = terms_.value;
      lease->is_plain = false;
      if (!at_once) instance_.observers.held(*lease);
      if (at_once) instance_.keeper.try_again(*lease);
    }
  }

  void closed() override { end(Status::CLOSED, ""); }
  void end(const Failure &failure) { end(failure.status, failure.text); }
  void end(Status status, const std::string &why) {
    set_over();
    if (done_ != nullptr) std::exchange(done_, nullptr)(status, why);
  }

  const Terms terms_;
  AskDone done_;
  QuorumRule rule_;
  AttemptId id_;
  uint64_t number_ = 0, largest_ = 0;
  std::map<std::string, NodeSet> promised_;  // by attempt; those that count
  NodeSet touched_ = 0;                      // may have promised
  NodeSet absent_ = 0, other_ = 0, contended_ = 0;
  NodeSet restored_ = 0;  // do not know whether the value is the newest
  std::string why_;
};

// Ends when all have, as the worst of them.
struct Changes {
  Status worst = Status::OK;
  std::string why;
  AskDone done;
  ~Changes() {
    if (done != nullptr) done(worst, why);
  }
  void one_ended(Status status, const std::string &text) {
    const bool is_worse = status == Status::LOST || (status == Status::IN_DOUBT && worst != Status::LOST);
    if (status == Status::OK || (worst != Status::OK && !is_worse)) return;
    worst = status;
    why = text;
  }
};

}  // namespace

void update_leases(Instance &instance, const std::vector<LeaseRef> &leases, const std::string &value,
                   AskDone done) {
  const auto changes = std::make_shared<Changes>();
  changes->done = std::move(done);
  for (const LeaseRef &lease : leases) {
    Terms terms;
    terms.keys = lease->held_keys().strings();
    terms.ids.assign(terms.keys.size(), std::string(lease->id.text()));
    terms.value = value;
    terms.lease = std::static_pointer_cast<GrantLease>(lease);
    lease->is_plain = false;
    if (lease->line != nullptr)
      instance.passing_on.tell(*lease->line);  // behind it, it would be of another's
    const auto one_ended = [changes](Status status, const std::string &why) {
      changes->one_ended(status, why);
    };
    std::make_shared<Change>(instance, std::move(terms), one_ended)->begin();
  }
}

void update_key(Instance &instance, Ask &ask, AskDone done) {
  Terms terms;
  terms.keys = {instance.keyspace.lock_key(ask.keys[0])};
  terms.expected = ask.text;
  terms.value = ask.value;
  terms.told = &ask;
  std::make_shared<Change>(instance, std::move(terms), std::move(done))->begin();
}

}  // namespace liblock::quorum
