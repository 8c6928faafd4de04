// SPDX-License-Identifier: MIT
// See attempt.hpp.
#include "quorum/attempt.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "base/mutant.hpp"
#include "engine/trace.hpp"
#include "quorum/instance.hpp"

namespace liblock::quorum {

// The second round: the nodes that granted are made to agree on one token.
class Attempt::Raise final : public FanOut {
 public:
  explicit Raise(std::shared_ptr<Attempt> attempt)
      : FanOut(attempt->instance_), attempt_(std::move(attempt)), token_(attempt_->ballot_.token()) {}
  void begin(NodeSet nodes) { ask_all(nodes); }

 private:
  void encode(Call &call) override {
    call.begin_again(scripts::raise);
    call.put_node_key();
    for (const Bytes key : attempt_->lock_keys_) call.put_key(key);
    for (const LeaseRef &lease : attempt_->bound_) {
      for (const Bytes key : lease->held_keys()) call.put_key(key);
    }
    call.argument(call.who());
    call.argument(call.node.boot());
    call.argument(static_cast<int64_t>(token_));
    call.argument(static_cast<int64_t>(attempt_->tokens_));
    for (size_t i = 0; i < attempt_->lock_keys_.size(); ++i) call.argument(attempt_->id_);
    for (const LeaseRef &lease : attempt_->bound_) {
      for (size_t i = 0; i < lease->held_keys().size(); ++i) call.argument(lease->id);
    }
  }
  bool fits(const Call &, const Reply &reply) const override {
    return (reply.at(0).text == "OK" && reply.has_integers(1, 2)) ||
           (reply.at(0).text == "GONE" && reply.has_integers(1, 1));
  }
  void answered(Call &call, const Reply &reply) override {
    if (reply.at(0).text == "OK") {
      attempt_->ballot_.raised(call.node.bit(), reply.at(2).integer == 1);
    } else {
      attempt_->ballot_.not_raised(call.node.bit());
    }
    attempt_->count();
  }
  void failed(Call &call, const Failure &) override {
    attempt_->ballot_.not_raised(call.node.bit());
    attempt_->count();
  }

  const std::shared_ptr<Attempt> attempt_;
  const uint64_t token_;
};

Attempt::Attempt(Instance &instance, Request &request, const AttemptId &id, const QuorumRule &rule,
                 std::vector<LeaseRef> bound)
    : FanOut(instance),
      request_(&request),
      id_(id),
      lock_keys_(request.wanted_keys()),
      bound_(std::move(bound)),
      ballot_(rule),
      takes_turn_(request.takes_turn()),
      lease_asked_(request.lease_asked(instance.membership.max_ttl())),
      votes_shown_(request.is_on_some_nodes() ? rule.votes() : 0),
      tokens_(request.place == FrontWaiter::Place::Sent ? instance.options.front_tokens : 1) {
  ++instance_.attempts_open;
  if (takes_turn_) instance_.waiting.attempt_begins();
}

Attempt::~Attempt() {
  end_turn();
  --instance_.attempts_open;
  std::erase(instance_.given_up, this);
  instance_.closing_goes_on();
}

void Attempt::begin(NodeSet nodes) {
  began_at_ = instance_.clock.now();
  for (const LeaseRef &lease : bound_) ballot_.exceed(lease->token);
  proposal_ = instance_.propose_token();
  asked_ = nodes;
  ballot_.asked(nodes);
  for (Attempt *gone : instance_.given_up) gone->clear_the_way_for(*this);
  is_beginning_ = true;
  ask_all(nodes);
  is_beginning_ = false;
}

void Attempt::ask_again(Node &node) {
  if ((ballot_.refused_by() & node.bit()) == 0) return;
  if (stage_ == Stage::Failed) stage_ = Stage::Open;
  if (stage_ != Stage::Open) return;
  proposal_ = std::max(proposal_, instance_.propose_token());
  ballot_.asked(node.bit());
  ask(node);
}

void Attempt::ask_refused() {
  const NodeSet refused = ballot_.refused_by();
  for (const auto &node : instance_.nodes()) {
    if ((refused & node->bit()) != 0) ask_again(*node);
  }
}

void Attempt::ask_also(NodeSet nodes) {
  LIBLOCK_ASSERT(stage_ == Stage::Failed && (asked_ & nodes) == 0);
  stage_ = Stage::Open;
  asked_ |= nodes;
  ballot_.asked(nodes);
  for (Attempt *gone : instance_.given_up) gone->clear_the_way_for(*this);
  ask_all(nodes);
}

NodeSet Attempt::others_that_decide() const {
  const NodeSet others = instance_.membership.ready() & ballot_.rule().nodes() & ~asked_;
  const NodeSet able = ballot_.counted() | ballot_.open() | others;
  return others != 0 && !ballot_.is_raising() && ballot_.rule().is_reached(able) ? others : 0;
}

std::array<int64_t, 32> Attempt::doubts() const {
  std::array<int64_t, 32> doubts{};
  const NodeSet unsure = ballot_.touched() & ~ballot_.granted_by();
  for (size_t i = 0; i < doubts.size(); ++i) {
    if ((unsure >> i & 1) != 0) doubts[i] = not_after_us_[i];
  }
  return doubts;
}

// What has not answered yet is undone when it has granted after all.
void Attempt::give_up() {
  request_ = nullptr;
  if (stage_ == Stage::GivenUp) return;
  stage_ = Stage::GivenUp;
  line_id_.clear();
  end_turn();
  const NodeSet touched = ballot_.touched() & ~ballot_.open();
  for (const auto &node : instance_.nodes()) {
    if ((touched & node->bit()) != 0) undo(*node, (ballot_.granted_by() & node->bit()) != 0);
  }
  if (ballot_.open() != 0) instance_.given_up.push_back(this);
}

// What one client asks for in turn, nodes carry out in turn: a promise that is still on its way to an attempt that was
// given up must not refuse the next one. Most such attempts are refused anyway, so that a call behind each of them
// would be wasted on most.
void Attempt::clear_the_way_for(const Attempt &next) {
  bool is_wanted = false;
  for (const Bytes key : lock_keys_) is_wanted = is_wanted || next.lock_keys_.contains(key);
  if (!is_wanted) return;
  const NodeSet unheard = ballot_.open() & next.asked_ & ~undone_unheard_;
  undone_unheard_ |= unheard;
  for (const auto &node : instance_.nodes()) {
    if ((unheard & node->bit()) != 0) undo(*node, true);
  }
}

void Attempt::undo(Node &node, bool is_answered) {
  const int64_t not_after_us = is_answered ? 0 : std::max<int64_t>(1, not_after_us_[node.index]);
  instance_.cleaner.undo(node, lock_keys_, id_, not_after_us, generation_[node.index],
                         instance_.clock.now() + 2 * lease_asked_);
}

void Attempt::encode(Call &call) {
  const Nanos now = call.sent_at;
  const bool is_wanted = request_ != nullptr && stage_ != Stage::GivenUp;
  call.not_after_us = is_wanted ? call.node.not_after(now, 2 * call.node.options.command_timeout) : 1;
  not_after_us_[call.node.index] = call.not_after_us;
  generation_[call.node.index] = call.generation;
  call.begin_again(scripts::acquire);
  call.put_node_key();
  for (const Bytes key : lock_keys_) call.put_key(key);
  call.argument(call.who());
  call.argument(call.node.boot());
  call.argument(call.not_after_us);
  call.argument(id_);
  call.argument(lease_asked_ / kMillisecond);
  call.argument(static_cast<int64_t>(proposal_));
  call.argument(is_wanted ? request_->owner_field() : instance_.id);
  call.argument(instance_.id);
  call.argument(is_wanted ? request_->ticket_us() : int64_t{0});
  call.argument(is_wanted ? request_->line_id() : Bytes());
  call.argument(instance_.options.alive / kMillisecond);
  call.argument(is_wanted && request_->barges() ? Bytes("1") : Bytes("0"));
  // A value is not shown before a quorum has promised the lock.
  const bool has_value = is_wanted && !request_->value().empty();
  call.argument(has_value ? Bytes("p") : Bytes("c"));
  call.argument(Bytes());
  call.argument(is_wanted ? Bytes(request_->metadata()) : Bytes());
  call.argument(is_wanted && request_->tells_attempts() ? Bytes("1") : Bytes("0"));
  call.argument(int64_t{votes_shown()});
  call.argument(static_cast<int64_t>(tokens_));
}

bool Attempt::may_be_passed() const {
  return is_beginning_ && bound_.empty() && !(request_ != nullptr && request_->asks_before_release());
}

bool Attempt::fits(const Call &, const Reply &reply) const {
  const Bytes what = reply.at(0).text;
  if (what == "LATE") return reply.has_integers(1, 1);
  if (what == "TTL") return reply.has_integers(1, 2);
  if (what == "BUSY")
    return reply.has_integers(1, 10) && reply.at(2).integer >= 1 &&
           static_cast<size_t>(reply.at(2).integer) <= lock_keys_.size();
  return what == "OK" && reply.has_integers(1, 5) && reply.at(2).integer > 0 &&
         reply.at(2).integer < kTokensEnd;
}

void Attempt::answered(Call &call, const Reply &reply) {
  Node &node = call.node;
  if (lease_ != nullptr && lease_->doubt_until_us[node.index] == call.not_after_us)
    lease_->doubt_until_us[node.index] = 0;
  const Bytes what = reply.at(0).text;
  if (what == "OK") {
    const bool votes = reply.at(3).integer == 1 || LIBLOCK_MUTANT(ignored_votes);
    if (votes == node.is_silent(instance_.clock.now())) node.look_again();
    const auto token = static_cast<uint64_t>(reply.at(2).integer);
    instance_.saw_number(token);
    instance_.saw_number(static_cast<uint64_t>(std::max<int64_t>(0, reply.at(4).integer)));
    others_wait_ = others_wait_ || reply.at(5).integer != 0;
    ballot_.granted(node.index, token, votes && !node.is_stepped(instance_.clock.now()),
                    LIBLOCK_MUTANT(validity_from_reply) ? instance_.clock.now() : call.sent_at);
    if (lease_ != nullptr) {
      lease_->held_by |= node.bit();
      ++instance_.counts_quorum.surplus;
      if (reply.at(5).integer != 0) instance_.passing_on.others_wait(lock_keys_.front());
    }
    if (stage_ == Stage::GivenUp && (undone_unheard_ & node.bit()) == 0) undo(node, true);
  } else {
    refused(node, reply);
    // Its clock is known better now: once more.
    const bool is_wanted = request_ != nullptr && stage_ == Stage::Open;
    if (what == "LATE" && is_wanted && (was_late_ & node.bit()) == 0) {
      was_late_ |= node.bit();
      ballot_.asked(node.bit());
      return ask(node);
    }
  }
  count();
}

const Refusal &Attempt::refusal(size_t node) const {
  alignas(Refusal) static std::byte place[sizeof(Refusal)];  // which no lack of memory denies
  static const Refusal *const none = new (place) Refusal;    // threads may look at it while the process exits
  return node < refusals_.size() ? refusals_[node] : *none;
}

Refusal &Attempt::begin_refusal(const Node &node) {
  if (node.index >= refusals_.size()) refusals_.resize(node.index + 1);
  refusals_[node.index] = {};
  return refusals_[node.index];
}

void Attempt::refused(Node &node, const Reply &reply) {
  Refusal &refusal = begin_refusal(node);
  ballot_.refused(node.bit());
  const Bytes what = reply.at(0).text;
  // Whatever it says: a lock that was won elsewhere waits for it no more.
  if (!line_id_.empty()) instance_.cleaner.leave(node, lock_keys_, line_id_);
  if (what == "BUSY") {
    refusal.is_busy = true;
    refusal.key = static_cast<size_t>(reply.at(2).integer - 1);
    refusal.left_ms = reply.at(3).integer;
    instance_.saw_number(static_cast<uint64_t>(std::max<int64_t>(0, reply.at(4).integer)));
    refusal.place = reply.at(5).integer;
    refusal.length = reply.at(6).integer;
    refusal.holder_ticket_us = reply.at(7).integer;
    refusal.held_us = reply.at(8).integer;
    refusal.least_ticket_us = reply.at(9).integer;
    refusal.is_foreign = reply.at(10).integer == 1;
    refusal.holder = reply.at(11).text;
  } else if (what == "TTL") {
    refusal.failure = {
        Status::INVALID_ARGUMENT, false,
        "ttl_ms is longer than the quorum's max_ttl_ms, " + std::to_string(reply.at(2).integer), false};
  } else {
    refusal.failure = {Status::SERVER, false,
                       node.address + ": requests reach it too late: see its clock and the network", true};
  }
}

void Attempt::failed(Call &call, const Failure &failure) {
  Node &node = call.node;
  begin_refusal(node).failure = failure;
  // An error may have stopped the script half-way.
  const bool may_be_there = failure.sent || failure.status == Status::SERVER;
  if (may_be_there && call.not_after_us > 1) {
    ballot_.unknown(node.bit());
    if (lease_ != nullptr) {
      int64_t &doubt = lease_->doubt_until_us[node.index];
      doubt = std::max(doubt, call.not_after_us);
    } else if (stage_ == Stage::GivenUp && failure.status != Status::CLOSED) {
      undo(node, false);
    }
  } else {
    ballot_.refused(node.bit());
  }
  count();
}

// It is decided, or nobody is left who could: what others have to say is no reason to keep new ones waiting.
void Attempt::end_turn() {
  if (std::exchange(takes_turn_, false)) instance_.waiting.attempt_ends();
}

void Attempt::count() {
  if (ballot_.open() == 0) end_turn();
  if (request_ == nullptr || (stage_ != Stage::Open && stage_ != Stage::Raising)) return;
  const std::shared_ptr<FanOut> kept = shared_from_this();
  switch (ballot_.verdict()) {
    case Ballot::Verdict::Open:
      return;
    case Ballot::Verdict::Won:
      stage_ = Stage::Won;
      end_turn();
      return instance_.waiting.won(*request_, *this);
    case Ballot::Verdict::Raise: {
      stage_ = Stage::Raising;
      ++instance_.counts_quorum.raises;
      const NodeSet nodes = ballot_.raise();
      const auto raising = std::make_shared<Raise>(std::static_pointer_cast<Attempt>(kept));
      raising->begin(nodes);
      return;
    }
    case Ballot::Verdict::Failed:
      if (ballot_.open() != 0 && others_that_decide() != 0) return;
      stage_ = Stage::Failed;
      end_turn();
      return instance_.waiting.failed(*request_, *this);
  }
}

}  // namespace liblock::quorum
