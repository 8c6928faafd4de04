// SPDX-License-Identifier: MIT
// See recovery.hpp.
#include "quorum/recovery.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "quorum/instance.hpp"

namespace liblock::quorum {

namespace {

constexpr Nanos kSpread = 250 * kMillisecond;
constexpr Nanos kLongPause = 1'000 * kMillisecond;  // before others are asked again who know too little
constexpr int64_t kAheadUs = 10'000'000;            // as far as a proposal may lead a node's clock

}  // namespace

// First asks all nodes what they are, then tells those whose time has come their floor; or all that know theirs, where
// tokens are carried over.
class Recovery::Round final : public FanOut {
 public:
  explicit Round(Recovery &recovery, std::function<void(NodeSet)> carried = nullptr)
      : FanOut(recovery.instance_), recovery_(recovery), carried_(std::move(carried)) {}
  void begin() {
    open_ = instance_.membership.ready();
    if (open_ == 0) return end();
    ask_all(open_);
  }

 private:
  void encode(Call &call) override {
    if (floor_ != 0) {
      call.begin_again(scripts::floor);
      call.put_node_key();
      call.argument(call.who());
      call.argument(call.node.boot());
      call.argument(static_cast<int64_t>(floor_));
      call.argument(silent_until_us_[call.node.index]);
    } else {
      call.begin_again(scripts::hello);
      call.put_node_key();
      call.argument(call.node.boot());
    }
  }
  bool fits(const Call &, const Reply &reply) const override {
    if (floor_ != 0) return reply.at(0).is(Reply::Kind::Text) && reply.has_integers(1, 1);
    return reply.has_integers(0, 1) && reply.has_integers(3, 5);
  }
  void answered(Call &call, const Reply &reply) override {
    if (floor_ != 0) {
      if (reply.at(0).text == "OK") {
        told(call.node);
      } else {
        call.node.look_again();
      }
    } else if (reply.at(1).text == who(call.node)) {
      silent_until_us_[call.node.index] = reply.at(4).integer;
      const auto high = static_cast<uint64_t>(std::max<int64_t>(0, reply.at(6).integer));
      if (high >= uint64_t{kTokensEnd}) return done(call);  // nobody gave that out: it does not know
      largest_ = std::max(largest_, high);
      latest_us_ = std::max(latest_us_, reply.at(0).integer);
      if (reply.at(5).integer == 0) {
        if (call.node.hello().needs_floor) call.node.look_again();  // somebody else has told it
        knows_ |= call.node.bit();
        largest_known_ = std::max(largest_known_, high);
      } else {
        forgot_ |= call.node.bit();
      }
    } else if (carried_ != nullptr) {
      call.node.look_again();  // somebody else has gone on with the change, or it has not heard of it
    }
    done(call);
  }
  void failed(Call &call, const Failure &) override { done(call); }
  // One that has not come to the joint configuration may still vote with old nodes alone.
  std::string who(const Node &node) const {
    return carried_ == nullptr ? node.who() : instance_.membership.configuration().who(node.id);
  }
  void told(Node &node) {
    told_ |= node.bit();
    if (carried_ != nullptr) return;
    ++instance_.counts_quorum.floors;
    if (by_clock_) {
      ++instance_.counts_quorum.clock_derived;
      instance_.tell_node(
          node, LIBLOCK_EVENT_CLOCK_DERIVED, Status::OK,
          node.address + ": too many nodes have forgotten their tokens; its next are taken from clocks");
    }
    instance_.tell_node(node, LIBLOCK_EVENT_NODE_REJOINED, Status::OK, node.address + ": it votes again");
    node.look_again();
  }
  void done(const Call &call) {
    open_ &= ~call.node.bit();
    if (open_ != 0) return;
    if (floor_ == 0 && (carried_ == nullptr ? decide() : decide_to_carry())) return;
    end();
  }
  void end() {
    if (carried_ != nullptr) return std::exchange(carried_, nullptr)(told_);
    recovery_.round_done(floor_ != 0);
  }
  bool decide_to_carry() {
    if (!instance_.membership.knowing_rule().meets_all(knows_)) return false;
    floor_ = std::max<uint64_t>(1, largest_);
    open_ = knows_;
    ask_all(knows_);
    return true;
  }
  // True: a second round is under way.
  bool decide() {
    const QuorumRule rule = instance_.membership.knowing_rule();
    const Nanos now = instance_.clock.now();
    NodeSet due = 0;
    for (const auto &node : instance_.nodes()) {
      if ((forgot_ & node->bit()) == 0) continue;
      // Our clock has seen to the end of the silence that it knows of, and of no later one.
      const bool is_known = silent_until_us_[node->index] == node->hello().silent_until_us;
      if (!is_known) node->look_again();
      if (is_known && now >= node->silent_until()) due |= node->bit();
    }
    if (due == 0) return false;
    if (rule.meets_all(knows_)) {
      floor_ = std::max<uint64_t>(1, largest_known_);
    } else if (!rule.meets_all(rule.nodes() & ~forgot_)) {
      // Whoever does not answer would not make up for it.
      by_clock_ = true;
      floor_ = std::max(largest_, static_cast<uint64_t>(latest_us_ + kAheadUs));
    } else {
      return false;
    }
    open_ = due;
    ask_all(due);
    return true;
  }

  Recovery &recovery_;
  std::function<void(NodeSet)> carried_;  // nullptr: what has forgotten is told
  NodeSet open_ = 0, knows_ = 0, forgot_ = 0, told_ = 0;
  uint64_t largest_ = 0, largest_known_ = 0, floor_ = 0;
  int64_t latest_us_ = 0;
  std::array<int64_t, 32> silent_until_us_{};  // as each said in the first round, by its clock
  bool by_clock_ = false;
};

void Recovery::look() {
  if (is_asking_ || is_stopped_) return;
  const Nanos now = instance_.clock.now();
  Nanos at = kNever;
  for (const auto &node : instance_.nodes()) {
    if (node->is_ready() && node->hello().needs_floor) at = std::min(at, std::max(node->silent_until(), now));
  }
  if (at == kNever) return;
  // A moment later than needed, and not all instances at once.
  instance_.arm(*this, std::max(at + kMillisecond, not_before_) + instance_.random.up_to(kSpread));
}

void Recovery::fire(Nanos) {
  if (is_asking_ || is_stopped_) return;
  is_asking_ = true;
  std::make_shared<Round>(*this)->begin();
}

void Recovery::carry_over(std::function<void(NodeSet)> done) {
  std::make_shared<Round>(*this, std::move(done))->begin();
}

void Recovery::round_done(bool has_told) {
  is_asking_ = false;
  not_before_ = has_told ? 0 : instance_.clock.now() + kLongPause;
  look();
}

void Recovery::stop() {
  is_stopped_ = true;
  instance_.runtime->cancel(*this);
}

}  // namespace liblock::quorum
