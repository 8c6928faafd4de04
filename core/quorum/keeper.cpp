// SPDX-License-Identifier: MIT
// See keeper.hpp. The end of a lease is counted from before its round was sent.
#include "quorum/keeper.hpp"

#include <algorithm>
#include <utility>

#include "base/mutant.hpp"
#include "quorum/instance.hpp"
#include "quorum/node_record.hpp"

namespace liblock::quorum {

namespace {

constexpr size_t kBatch = 16;  // keys in one round

GrantRef shared(Lease &lease) { return std::static_pointer_cast<GrantLease>(lease.self.lock()); }

}  // namespace

// One call to each node about some leases, alike in what is said once.
class Keeper::Round final : public FanOut {
 public:
  enum class How : uint8_t { Renew, Set };
  struct Item {
    GrantRef lease;
    Nanos ttl;
    uint32_t sequence;
    LockKeys keys;
    QuorumRule rule = {};
    NodeSet open = 0, ours = 0, gone = 0;
    NodeSet left_out = 0;                            // far behind: asked where the others cannot do it
    NodeSet silent = 0;                              // of ours
    NodeSet knowing = 0;                             // they know of nothing newer than its value
    NodeSet lost = 0;                                // they had lost it, or have, and may have known
    std::vector<GrantLease::Restored> settles = {};  // as it was when this began
    bool is_over = false;                            // the round has counted for it, or cannot any more
  };
  Round(Keeper &keeper, How how, AskDone done)
      : FanOut(keeper.instance_), keeper_(keeper), how_(how), done_(std::move(done)) {}

  void add(const GrantRef &lease, Nanos ttl) {
    if (how_ == How::Set) ++lease->change;
    items_.push_back({lease, ttl, lease->change, lease->held_keys(), {}});
    if (items_.back().keys.empty())  // not begun yet: none of its keys is in a handle
      items_.back().keys = lease->names;
  }
  bool empty() const { return items_.empty(); }
  void begin() {
    asked_at_ = instance_.clock.now();
    NodeSet nodes = 0;
    for (Item &item : items_) {
      // On a node that this reaches late, it ends as much later.
      Nanos &may_end_at = item.lease->may_end_at;
      const Nanos ends = asked_at_ + item.ttl + 4 * instance_.options.nodes.front().command_timeout;
      may_end_at = may_end_at == kNever ? ends : std::max(may_end_at, ends);
      item.rule = instance_.membership.rule(item.lease->subset, item.lease->votes);
      const NodeSet ready = instance_.membership.ready() & item.rule.nodes();
      item.open = instance_.keeping_up(item.rule, ready);
      item.left_out = ready & ~item.open;
      item.lease->asked |= item.open;
      item.settles = item.lease->restored;
      ++item.lease->changes_open;
      if (how_ == How::Set)
        item.lease->sets.emplace_back(item.sequence, asked_at_ + Lease::trusted(item.ttl));
      nodes |= item.open;
    }
    asked_ = open_calls_ = nodes;
    if (nodes == 0) return end();
    ask_all(nodes);
  }

 private:
  static constexpr size_t kFields = 5;  // of each key in an answer

  void encode(Call &call) override {
    Nanos allowance = 2 * call.node.options.command_timeout;
    const bool is_wanted = std::any_of(items_.begin(), items_.end(), [](const Item &item) {
      return item.lease->state.load() == Lease::State::Held;
    });
    call.not_after_us = is_wanted ? call.node.not_after(call.sent_at, allowance) : 1;
    call.begin_again(scripts::extend);
    call.put_node_key();
    for (const Item &item : items_) {
      for (const Bytes key : item.keys) call.put_key(key);
    }
    call.argument(call.who());
    call.argument(call.node.boot());
    call.argument(call.not_after_us);
    call.argument(how_ == How::Renew ? Bytes("renew") : Bytes("set"));
    for (const Item &item : items_) {
      for (size_t i = 0; i < item.keys.size(); ++i) put(call, item);
    }
  }
  void put(Call &call, const Item &item) const {
    const GrantLease &lease = *item.lease;
    call.argument(lease.id);
    call.argument(change_text(item.sequence));
    call.argument(std::max<int64_t>(1, item.ttl / kMillisecond));
    call.argument(static_cast<int64_t>(lease.token));
    call.argument(static_cast<int64_t>(lease.version));
    call.argument(lease.owner);
    call.argument(instance_.id);
    call.argument(lease.first_ttl / kMillisecond);
    call.argument(lease.ticket_us);
    call.argument(lease.value);
    call.argument(lease.metadata);
    call.argument(int64_t{lease.votes_shown});
    int64_t settled = item.settles.empty() ? 0 : 1;
    for (const GrantLease::Restored &node : lease.restored) {
      if (node.node == call.node.index && node.is_settled) settled = node.at_us;
    }
    call.argument(settled);
  }
  bool fits(const Reply &reply) const override {
    const Bytes what = reply.at(0).text;
    if (what == "LATE") return reply.has_integers(1, 1);
    if (what == "TTL") return reply.has_integers(1, 2);
    size_t keys = 0;
    for (const Item &item : items_) keys += item.keys.size();
    if (what != "OK" || !reply.has_integers(1, 2) || reply.elements.size() != 3 + keys * kFields) return false;
    for (size_t i = 0; i < keys; ++i) {
      if (reply.at(3 + i * kFields + 4).integer < -ServerClock::kLastUs) return false;  // a time, behind a minus
    }
    return true;
  }
  ReplyLimits limits() const override {
    size_t keys = kBatch;
    for (const Item &item : items_) keys += item.keys.size();
    return {keys * 5 * 1'024, keys * kFields + 64, 4};
  }

  void answered(Call &call, const Reply &reply) override {
    const bool is_ok = reply.at(0).text == "OK";
    if (reply.at(0).text == "TTL") {
      is_too_long_ = true;
      why_ = "ttl_ms is longer than the quorum's max_ttl_ms, " + std::to_string(reply.at(2).integer);
    } else if (!is_ok) {
      why_ = "it came too late";
    }
    size_t at = 3;
    for (Item &item : items_) {
      item.open &= ~call.node.bit();
      bool is_ours = is_ok, is_gone = false;
      int64_t knows =
          1;  // the latest of all keys' restorations, behind a minus; 0: of some key nothing is known
      for (size_t i = 0; i < item.keys.size() && is_ok; ++i, at += kFields) {
        const int64_t code = reply.at(at).integer;
        is_ours = is_ours && code > 0;
        is_gone = is_gone || code <= 0;
        const int64_t of_key = reply.at(at + 4).integer;
        if (code > 0) knows = knows == 0 || of_key == 0 ? 0 : std::min(knows, of_key);
        if (code == 2) ++instance_.counts_quorum.written_anew;
        // It was given back while this was sent once more.
        if (code == 2 && item.lease->place != SIZE_MAX && is_given_back(*item.lease, item.keys[i]))
          instance_.cleaner.undo(call.node, {item.keys[i]}, item.lease->id, 0, 0, asked_at_ + item.ttl * 2);
        if (reply.at(at + 2).integer > static_cast<int64_t>(item.lease->version))
          take_value(*item.lease, reply, at);
      }
      if (is_ours) item.ours |= call.node.bit();
      if (is_ours && reply.at(2).integer == 0) item.silent |= call.node.bit();
      if (is_gone) item.gone |= call.node.bit();
      is_ours ? item.lease->held_by |= call.node.bit() : item.lease->held_by &= ~call.node.bit();
      if (is_ok) note_knowledge(item, call.node, is_ours, knows);
      count(item);
    }
    call_done(call);
  }
  // Whoever changed the value with a node that lost it afterwards had promises of a quorum by then. So when of every
  // quorum one knows of nothing newer, asked after it was restored, there was nothing; and when all nodes say that, or
  // have lost it themselves, nobody is left who would know.
  void note_knowledge(Item &item, const Node &node, bool is_ours, int64_t knows) {
    std::vector<GrantLease::Restored> &restored = item.lease->restored;
    const auto is_same = [&](const auto &one) { return one.node == node.index && one.at_us == -knows; };
    if (is_ours && std::none_of(restored.begin(), restored.end(), is_same)) {
      std::erase_if(restored, [&](const auto &one) { return one.node == node.index; });
      if (knows < 0) restored.push_back({node.index, -knows, false});
    }
    if (knows != 0) (is_ours && knows > 0 ? item.knowing : item.lost) |= node.bit();
    const bool is_known =
        item.rule.meets_all(item.knowing) || (item.knowing | item.lost) == item.rule.nodes();
    if (!is_known) return;
    for (const auto &then : item.settles) {
      for (auto &now : restored) now.is_settled |= now.node == then.node && now.at_us == then.at_us;
    }
  }
  static bool is_given_back(const GrantLease &lease, Bytes lock_key) {
    return std::any_of(lease.keys.begin(), lease.keys.end(),
                       [&](const Lease::Key &key) { return key.lock_key == lock_key && key.handles == 0; });
  }
  // Somebody who knew it has changed it meanwhile.
  void take_value(GrantLease &lease, const Reply &reply, size_t at) {
    lease.version = static_cast<uint64_t>(reply.at(at + 2).integer);
    lease.value = reply.at(at + 3).text;
    lease.is_plain = false;
  }
  void failed(Call &call, const Failure &failure) override {
    why_ = failure.text;
    for (Item &item : items_) {
      item.open &= ~call.node.bit();
      if (failure.sent) {
        in_doubt_ = true;
        int64_t &doubt = item.lease->doubt_until_us[call.node.index];
        doubt = std::max(doubt, call.not_after_us);
      }
      item.lease->held_by &= ~call.node.bit();
      count(item);
    }
    call_done(call);
  }

  // A quorum has it, in time: that is what moves its end. A vote that does not count for a new lock counts here, since
  // the lock was nobody else's when it was given.
  void count(Item &item) {
    if (item.is_over) return;
    GrantLease &lease = *item.lease;
    const bool is_late = !LIBLOCK_MUTANT(late_renewal) && lease.is_over(instance_.clock.now());
    const bool is_enough =
        LIBLOCK_MUTANT(renewal_by_fewer) ? item.ours != 0 : item.rule.is_reached(item.ours);
    if (!is_late && is_enough) {
      item.is_over = true;
      if (!item.rule.is_reached(item.ours & ~item.silent)) ++instance_.counts_quorum.kept_by_silent;
      const Nanos from = LIBLOCK_MUTANT(validity_from_reply) ? instance_.clock.now() : asked_at_;
      keeper_.renewed(item.lease, item.ttl, from, item.sequence, how_ == How::Set);
      return one_over(Status::OK);
    }
    const bool is_possible = item.rule.is_reached(item.ours | item.open);
    if (!is_late && is_possible) return;
    // Those whose answer is not there yet: it is about all items, whoever of them was the reason to ask.
    const NodeSet others = std::exchange(item.left_out, 0) & (~asked_ | open_calls_);
    if (!is_late && others != 0 && item.rule.is_reached(item.ours | item.open | others))
      return ask_also(item, others);
    item.is_over = true;
    // So many nodes have given it to others that no quorum can be left.
    const bool is_taken = item.rule.is_gone(item.gone);
    if (is_late || is_taken) {
      keeper_.lose(item.lease);
      return one_over(Status::LOST);
    }
    keeper_.try_again(lease);
    one_over(is_too_long_ ? Status::INVALID_ARGUMENT : in_doubt_ ? Status::IN_DOUBT : Status::NO_QUORUM);
  }
  // Where a node has given it to somebody else meanwhile it cannot be written anew, and those that have it decide.
  void ask_also(Item &wanting, NodeSet others) {
    wanting.open |= others;
    wanting.lease->asked |= others;
    const NodeSet unasked = others & ~asked_;
    asked_ |= unasked;
    open_calls_ |= unasked;
    ask_all(unasked);
  }
  void one_over(Status status) {
    if (status == Status::LOST || worst_ == Status::OK) worst_ = status;
    const bool all = std::all_of(items_.begin(), items_.end(), [](const Item &item) { return item.is_over; });
    if (all && done_ != nullptr) std::exchange(done_, nullptr)(worst_, worst_ == Status::OK ? "" : why_);
  }
  void call_done(const Call &call) {
    open_calls_ &= ~call.node.bit();
    if (open_calls_ == 0) end();
  }
  void end() {
    for (Item &item : items_) {
      count(item);
      if (--item.lease->changes_open == 0) item.lease->sets.clear();
      if (item.lease->state.load() == Lease::State::Held && item.lease->place != SIZE_MAX)
        keeper_.arm(*item.lease);
    }
  }

  Keeper &keeper_;
  const How how_;
  AskDone done_;
  std::vector<Item> items_;
  NodeSet asked_ = 0, open_calls_ = 0;
  Nanos asked_at_ = 0;
  bool in_doubt_ = false, is_too_long_ = false;
  Status worst_ = Status::OK;
  std::string why_ = "no node can be reached";
};

std::string record_of(const GrantLease &lease, const std::string &instance) {
  NodeRecord record;
  record.id = lease.id;
  record.sequence = change_text(lease.change);
  record.token = lease.token;
  record.owner = lease.owner;
  record.instance = instance;
  record.since_us = record.ticket_us = lease.ticket_us;
  record.lease_ms = lease.first_ttl / kMillisecond;
  record.version = lease.version;
  record.votes = lease.votes_shown;
  record.value = lease.value;
  return text_of(record);
}

Keeper::Keeper(Instance &instance)
    : instance_(instance),
      by_key_(instance.random.next()),
      due_(kBatch, DueRenewals::Calls::SayAllOfEach),
      flush_(*this) {}

void Keeper::stop() {
  is_stopped_ = true;
  for (const GrantRef &lease : leases_) instance_.runtime->cancel(*lease);
  instance_.runtime->cancel(flush_);
  by_key_.clear();
  leases_.clear();
  due_.clear();
}

void Keeper::begin(const GrantRef &lease, Nanos sent_at) {
  if (lease->place != SIZE_MAX) return goes_on(*lease);
  lease->self = lease;
  lease->counts_from = sent_at;
  instance_.count(*lease, static_cast<int64_t>(lease->keys.size()));
  leases_.push_back(lease);
  lease->place = leases_.size() - 1;
  if (lease->renews) set_renewal(*lease, sent_at, lease->first_ttl);
  by_key_.add(*lease);
  arm(*lease);
  instance_.listen();  // somebody may take it away
  instance_.observers.held(*lease);
}

// In other hands, who are to have it for as long as they asked for: at once what is left, and the rest behind it.
void Keeper::goes_on(GrantLease &lease) {
  if (lease.renews) return;
  lease.is_short = true;
  lease.renew_at = instance_.clock.now();
  arm(lease);
}

void Keeper::let_go(Lease &lease) {
  instance_.passing_on.gone(lease);
  instance_.count(lease, -lease.keys_counted);
  if (lease.state.load() == Lease::State::Held) lease.state.store(Lease::State::Released);
  instance_.runtime->cancel(lease);
  due_.leave(lease);
  due_.set_rate(lease, kNever);
  if (lease.place >= leases_.size() || leases_[lease.place].get() != &lease) return;
  by_key_.remove(lease);
  const GrantRef kept = leases_[lease.place];
  leases_[lease.place] = leases_.back();
  leases_[lease.place]->place = lease.place;
  leases_.pop_back();
  lease.place = SIZE_MAX - 1;
}

void Keeper::lose(const LeaseRef &lease) {
  if (lease->state.load() != Lease::State::Held) return;
  lease->state.store(Lease::State::Lost);
  const bool by_time = instance_.clock.now() >= lease->ends_at.load();
  const bool was_begun = lease->place != SIZE_MAX;
  let_go(*lease);
  if (!was_begun) return;
  ++(by_time ? instance_.counts.expired : instance_.counts.taken_away);
  // What is left of it on nodes that were not heard of.
  auto &grant = static_cast<GrantLease &>(*lease);
  instance_.undo_lease(grant);
  // Whoever took it away may have told them before what is told of it here.
  if (!by_time) instance_.observers.released(grant, grant.held_keys());
  instance_.tell_loss(*lease);
}

void Keeper::arm(Lease &lease) {
  if (is_stopped_) return;  // a round may come to its end later
  Nanos at = lease.ends_at.load();
  if (lease.wants_renewal() && !lease.is_collected && lease.changes_open == 0)
    at = std::min(at, lease.renew_at);
  instance_.runtime->cancel(lease);
  instance_.arm(lease, at);
}

void Keeper::on_timer(Lease &lease, Nanos) {
  const GrantRef kept = shared(lease);
  if (kept == nullptr || lease.state.load() != Lease::State::Held) return;
  const Nanos now = instance_.clock.now();
  if (now >= lease.ends_at.load()) return lose(kept);
  const bool is_due =
      lease.wants_renewal() && now >= lease.renew_at && lease.changes_open == 0 && !lease.is_collected;
  if (is_due) collect(kept);
  arm(lease);
}

PacedRenewals::Time Keeper::time() const { return {instance_.runtime->now(), instance_.clock.now()}; }

// By the timer only: a round without nodes ends at once, and may end a lease with it.
void Keeper::collect(const LeaseRef &lease) {
  due_.add(lease, instance_.clock.now());
  instance_.runtime->arm(flush_, due_.next_at(time()));
}

// As many full rounds as have their turn, all that is urgent, or one round that is not full; the rest a moment later.
void Keeper::flush() {
  instance_.runtime->cancel(flush_);
  if (due_.empty()) return;
  const PacedRenewals::Time now = time();
  for (bool goes = !due_.is_full() || due_.has_turn(now); goes; goes = due_.has_turn(now)) {
    const auto round = std::make_shared<Round>(*this, Round::How::Renew, nullptr);
    for (const LeaseRef &lease : due_.take(now)) {
      if (lease->state.load() != Lease::State::Held || lease->changes_open != 0) continue;
      round->add(std::static_pointer_cast<GrantLease>(lease), lease->renewal_ttl(now.leases));
      ++instance_.counts.renewals;
    }
    if (!round->empty()) round->begin();
  }
  if (!due_.empty()) instance_.runtime->arm(flush_, due_.next_at(now));
}

// When two thirds of it are left, a little earlier or later than others.
void Keeper::set_renewal(Lease &lease, Nanos from, Nanos ttl) {
  lease.renew_at = kNever;
  const bool is_last = lease.hold_until != kNever && from + ttl >= lease.hold_until;
  const bool is_kept = lease.place < SIZE_MAX - 1;  // a round may end before or behind that
  due_.set_rate(lease, is_last || !is_kept ? kNever : std::max(kMillisecond, ttl));
  if (!is_last) lease.renew_at = from + ttl / 3 - instance_.random.up_to(ttl / 30);
}

void Keeper::try_again(GrantLease &lease) {
  if (lease.state.load() != Lease::State::Held || lease.place == SIZE_MAX) return;
  const Nanos pause = std::clamp<Nanos>(lease.ttl / 20, 10 * kMillisecond, 100 * kMillisecond);
  if (lease.wants_renewal()) lease.renew_at = instance_.clock.now() + pause;
  arm(lease);
}

// A renewal never moves an end backwards; what was asked for by its holder does.
void Keeper::renewed(const GrantRef &lease, Nanos ttl, Nanos asked_at, uint32_t change, bool sets) {
  Nanos ends_at = asked_at + Lease::trusted(ttl);
  for (const auto &[number, end] : lease->sets) {
    if (number > change) ends_at = std::min(ends_at, end);
  }
  lease->ends_at.store(sets ? ends_at : std::max(lease->ends_at.load(), ends_at));
  lease->counts_from = asked_at;
  // Since the last hand that it went to.
  if (sets || asked_at >= lease->renew_at) lease->is_short = false;
  if (lease->renews) set_renewal(*lease, asked_at, ttl);
  if (lease->place != SIZE_MAX) arm(*lease);
  instance_.observers.held(*lease);
}

// What is too long is refused before anything has changed: nodes would refuse it, and it be lost here.
void Keeper::extend(const std::vector<LeaseRef> &leases, const Extension &asked, AskDone done) {
  const Nanos now = instance_.clock.now();
  const Nanos most = instance_.membership.max_ttl();
  Extension extension = asked;
  if (extension.is_auto) extension.ttl = std::min(extension.ttl, most);
  const bool is_too_long = std::any_of(leases.begin(), leases.end(), [&](const LeaseRef &lease) {
    const Nanos left = extension.add ? std::max<Nanos>(0, lease->ends_at.load() - now) : 0;
    return extension.ttl > most || left > most - extension.ttl;
  });
  if (is_too_long) {
    const std::string why =
        "ttl_ms is longer than the quorum's max_ttl_ms, " + std::to_string(most / kMillisecond);
    if (done != nullptr) done(Status::INVALID_ARGUMENT, why);
    return;
  }
  const auto round = std::make_shared<Round>(*this, Round::How::Set, std::move(done));
  for (const LeaseRef &ref : leases) {
    const auto lease = std::static_pointer_cast<GrantLease>(ref);
    lease->is_plain = false;
    const Nanos ends_at = lease->ends_at.load();
    const Nanos ttl = extension.add ? extension.ttl + std::max<Nanos>(0, ends_at - now) : extension.ttl;
    lease->renews = lease->renews || extension.renews;
    if (!extension.add) lease->ttl = extension.ttl;
    // What is shorter holds at once.
    lease->ends_at.store(std::min(ends_at, now + Lease::trusted(ttl)));
    round->add(lease, ttl);
  }
  round->begin();
}

void Keeper::commit(const GrantRef &lease, Nanos ttl, AskDone done) {
  lease->first_ttl = ttl;
  const auto round = std::make_shared<Round>(*this, Round::How::Set, std::move(done));
  round->add(lease, ttl);
  round->begin();
}

}  // namespace liblock::quorum
