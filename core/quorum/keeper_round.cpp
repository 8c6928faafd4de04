// SPDX-License-Identifier: MIT
// See keeper_round.hpp.
#include "quorum/keeper_round.hpp"

#include <algorithm>
#include <utility>

#include "base/mutant.hpp"
#include "quorum/instance.hpp"

namespace liblock::quorum {

namespace {

bool is_held(const GrantLease &lease) { return lease.state.load() == Lease::State::Held; }

bool is_given_back(const GrantLease &lease, Bytes lock_key) {
  if (!is_held(lease)) return true;
  return std::any_of(lease.keys.begin(), lease.keys.end(),
                     [&](const Lease::Key &key) { return key.lock_key == lock_key && key.handles == 0; });
}

}  // namespace

Keeper::Round::Round(Keeper &keeper, How how, AskDone done)
    : FanOut(keeper.instance_), keeper_(keeper), how_(how), done_(std::move(done)) {}

void Keeper::Round::add(const GrantRef &lease, Nanos ttl) {
  if (sets()) {
    if (lease->sets_open++ == 0) lease->decided = {lease->ttl, lease->renews, lease->change};
    ++lease->change;
  }
  items_.push_back({lease, ttl, lease->change, lease->held_keys()});
  if (items_.back().keys.empty())  // not begun yet: none of its keys is in a handle
    items_.back().keys = lease->names;
}

void Keeper::Round::begin() {
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
    item.settles = item.lease->restored;
    item.renewal = {item.lease->ttl, item.lease->renews, item.sequence};
    if (how_ == How::GiveBack) item.lease->decided = item.renewal;
    ++item.lease->changes_open;
    item.lease->rounds_open.push_back(item.sequence);
    if (sets())
      item.lease->sets.emplace_back(item.sequence, asked_at_ + Lease::trusted(item.ttl));
    nodes |= item.open;
  }
  asked_ = open_calls_ = nodes;
  if (nodes == 0) return end();
  note_asked(nodes);
  ask_all(nodes);
}

// Before anything is given back: that goes behind it.
void Keeper::Round::note_asked(NodeSet nodes) {
  for (Item &item : items_) item.lease->asked |= nodes & item.rule.nodes();
}

// All that the node may have and is held still: its answer counts for each of them, whoever was the reason to ask.
void Keeper::Round::encode(Call &call) {
  const bool is_wanted =
      std::any_of(items_.begin(), items_.end(), [](const Item &item) { return is_held(*item.lease); });
  call.not_after_us = is_wanted ? call.node.not_after(call.sent_at, 2 * call.node.options.command_timeout) : 1;
  call.begin_again(scripts::extend);
  call.put_node_key();
  for (Item &item : items_) {
    item.told &= ~call.node.bit();
    if ((item.rule.nodes() & call.node.bit()) == 0 || (is_wanted && !is_held(*item.lease))) continue;
    item.told |= call.node.bit();
    for (const Bytes key : item.keys) call.put_key(key);
  }
  call.argument(call.who());
  call.argument(call.node.boot());
  call.argument(call.not_after_us);
  call.argument(how_ == How::Renew ? Bytes("renew") : Bytes("set"));
  for (const Item &item : items_) {
    for (size_t i = 0; i < item.keys.size() && (item.told & call.node.bit()) != 0; ++i) put(call, item);
  }
}

void Keeper::Round::put(Call &call, const Item &item) const {
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

bool Keeper::Round::fits(const Call &call, const Reply &reply) const {
  const Bytes what = reply.at(0).text;
  if (what == "LATE") return reply.has_integers(1, 1);
  if (what == "TTL") return reply.has_integers(1, 2);
  size_t keys = 0;
  for (const Item &item : items_) keys += (item.told & call.node.bit()) != 0 ? item.keys.size() : 0;
  if (what != "OK" || !reply.has_integers(1, 2) || reply.elements.size() != 3 + keys * kFields) return false;
  for (size_t i = 0; i < keys; ++i) {
    if (reply.at(3 + i * kFields + 4).integer < -ServerClock::kLastUs) return false;  // a time, behind a minus
  }
  return true;
}

ReplyLimits Keeper::Round::limits() const {
  size_t keys = kBatch;
  for (const Item &item : items_) keys += item.keys.size();
  return {keys * 5 * 1'024, keys * kFields + 64, 4};
}

void Keeper::Round::answered(Call &call, const Reply &reply) {
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
    if ((item.told & call.node.bit()) != 0) {
      if (is_ok) read(call, reply, item, at);
      if (!is_ok) item.lease->held_by &= ~call.node.bit();
      at += item.keys.size() * kFields;
    }
    count(item);
  }
  call_done(call);
}

void Keeper::Round::read(Call &call, const Reply &reply, Item &item, size_t at) {
  GrantLease &lease = *item.lease;
  bool is_ours = true;
  // The latest of all keys' restorations, behind a minus; 0: of some key nothing is known.
  int64_t knows = 1;
  for (size_t i = 0; i < item.keys.size(); ++i, at += kFields) {
    const int64_t code = reply.at(at).integer;
    is_ours = is_ours && code > 0;
    const int64_t of_key = reply.at(at + 4).integer;
    if (code > 0) knows = knows == 0 || of_key == 0 ? 0 : std::min(knows, of_key);
    if (code == 2) ++instance_.counts_quorum.written_anew;
    // It was given back, or lost, while this was under way or sent once more.
    if (code == 2 && lease.place != SIZE_MAX && is_given_back(lease, item.keys[i]))
      instance_.cleaner.undo(call.node, {item.keys[i]}, lease.id, 0, 0, asked_at_ + item.ttl * 2);
    if (reply.at(at + 2).integer > static_cast<int64_t>(lease.version)) take_value(lease, reply, at);
  }
  (is_ours ? item.ours : item.gone) |= call.node.bit();
  if (is_ours && reply.at(2).integer == 0) item.silent |= call.node.bit();
  is_ours ? lease.held_by |= call.node.bit() : lease.held_by &= ~call.node.bit();
  note_knowledge(item, call.node, is_ours, knows);
}

// Whoever changed the value with a node that lost it afterwards had promises of a quorum by then. So when of every
// quorum one knows of nothing newer, asked after it was restored, there was nothing; and when all nodes say that, or
// have lost it themselves, nobody is left who would know.
void Keeper::Round::note_knowledge(Item &item, const Node &node, bool is_ours, int64_t knows) {
  std::vector<GrantLease::Restored> &restored = item.lease->restored;
  const auto is_same = [&](const auto &one) { return one.node == node.index && one.at_us == -knows; };
  if (is_ours && std::none_of(restored.begin(), restored.end(), is_same)) {
    std::erase_if(restored, [&](const auto &one) { return one.node == node.index; });
    if (knows < 0) restored.push_back({node.index, -knows, false});
  }
  if (knows != 0) (is_ours && knows > 0 ? item.knowing : item.lost) |= node.bit();
  const bool is_known = item.rule.meets_all(item.knowing) || (item.knowing | item.lost) == item.rule.nodes();
  if (!is_known) return;
  for (const auto &then : item.settles) {
    for (auto &now : restored) now.is_settled |= now.node == then.node && now.at_us == then.at_us;
  }
}

// Somebody who knew it has changed it meanwhile.
void Keeper::Round::take_value(GrantLease &lease, const Reply &reply, size_t at) const {
  lease.version = static_cast<uint64_t>(reply.at(at + 2).integer);
  lease.value = reply.at(at + 3).text;
  lease.is_plain = false;
}

void Keeper::Round::failed(Call &call, const Failure &failure) {
  why_ = failure.text;
  for (Item &item : items_) {
    item.open &= ~call.node.bit();
    if (failure.sent && (item.told & call.node.bit()) != 0) {
      item.in_doubt = true;
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
void Keeper::Round::count(Item &item) {
  if (item.is_over) return;
  GrantLease &lease = *item.lease;
  const bool is_late = !LIBLOCK_MUTANT(late_renewal) && lease.is_over(instance_.clock.now());
  const bool is_enough =
      LIBLOCK_MUTANT(renewal_by_fewer) ? item.ours != 0 : item.rule.is_reached(item.ours);
  if (!is_late && is_enough) {
    end_item(item);
    if (sets() && item.sequence > lease.decided.change) lease.decided = item.renewal;
    if (!item.rule.is_reached(item.ours & ~item.silent)) ++instance_.counts_quorum.kept_by_silent;
    const Nanos from = LIBLOCK_MUTANT(validity_from_reply) ? instance_.clock.now() : asked_at_;
    keeper_.renewed(item.lease, item.ttl, from, item.sequence, sets());
    return one_over(Status::OK);
  }
  const bool is_possible = item.rule.is_reached(item.ours | item.open);
  if (!is_late && is_possible) return;
  // Those whose answer is not there yet.
  const NodeSet others = std::exchange(item.left_out, 0) & (~asked_ | open_calls_);
  if (!is_late && others != 0 && item.rule.is_reached(item.ours | item.open | others))
    return ask_also(item, others);
  end_item(item);
  // So many nodes have given it to others that no quorum can be left.
  const bool is_taken = item.rule.is_gone(item.gone);
  if (is_late || is_taken) {
    keeper_.lose(item.lease);
    return one_over(Status::LOST);
  }
  take_back(item);
  // An answer to what was asked for before may have settled it meanwhile.
  if (how_ == How::GiveBack && !lease.renews && lease.change == item.sequence) lease.owe(item.ttl, asked_at_);
  keeper_.try_again(lease);
  one_over(is_too_long_ ? Status::INVALID_ARGUMENT : item.in_doubt ? Status::IN_DOUBT : Status::NO_QUORUM);
}

// Where a node has given it to somebody else meanwhile it cannot be written anew, and those that have it decide.
void Keeper::Round::ask_also(Item &wanting, NodeSet others) {
  wanting.open |= others;
  const NodeSet unasked = others & ~asked_;
  asked_ |= unasked;
  open_calls_ |= unasked;
  note_asked(unasked);
  ask_all(unasked);
}

void Keeper::Round::end_item(Item &item) {
  item.is_over = true;
  --item.lease->changes_open;
  if (sets()) --item.lease->sets_open;
}

// What its holder asked for has not come about: renewals go on as before. Its end stays the nearer of the two, since
// nodes that answered with an error may have set it.
void Keeper::Round::take_back(const Item &item) const {
  GrantLease &lease = *item.lease;
  if (how_ != How::Set || item.in_doubt || lease.change != item.sequence) return;
  lease.ttl = lease.decided.ttl;
  lease.renews = lease.decided.renews;
}

void Keeper::Round::one_over(Status status) {
  if (status == Status::LOST || worst_ == Status::OK) worst_ = status;
  const bool all = std::all_of(items_.begin(), items_.end(), [](const Item &item) { return item.is_over; });
  if (all && done_ != nullptr) std::exchange(done_, nullptr)(worst_, worst_ == Status::OK ? "" : why_);
}

void Keeper::Round::call_done(const Call &call) {
  open_calls_ &= ~call.node.bit();
  if (open_calls_ == 0) end();
}

void Keeper::Round::end() {
  for (Item &item : items_) {
    count(item);
    GrantLease &lease = *item.lease;
    auto &open = lease.rounds_open;
    open.erase(std::find(open.begin(), open.end(), item.sequence));
    const uint32_t oldest = open.empty() ? UINT32_MAX : *std::min_element(open.begin(), open.end());
    std::erase_if(lease.sets, [&](const auto &set) { return set.first <= oldest; });
    if (is_held(lease) && lease.place != SIZE_MAX) keeper_.arm(lease);
  }
}

}  // namespace liblock::quorum
