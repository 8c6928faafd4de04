// SPDX-License-Identifier: MIT
// Giving keys back on all nodes. Whoever waits for a release waits for a quorum of answers at most; what did not answer
// is the cleaner's.
#include <algorithm>

#include "quorum/instance.hpp"
#include "redis/releasing.hpp"

namespace liblock::quorum {

void put_release(ScriptCall &call, const LockKeys &lock_keys, Bytes id, Bytes line_id) {
  call.begin(scripts::release);
  call.key(kNodeKey);
  for (const Bytes key : lock_keys) put_names(call, key);
  call.argument(kClaimMs);
  call.argument(line_id);
  for (size_t i = 0; i < lock_keys.size(); ++i) call.argument(id);
}

// What is released within one turn of the loop, by leases that were asked of the same nodes, up to a bound. The event
// about the end of a doubt comes with the last entry of the cleaner that refers to it.
class Instance::ReleaseRound final : public FanOut {
 public:
  struct Item {
    std::shared_ptr<GrantLease> lease;
    LockKeys keys;
    QuorumRule rule;
    NodeSet freed = 0, gone = 0;
  };
  using Items = SpareVector<Item>;
  struct Release {
    Items items;
    AskDone done;
    std::shared_ptr<Doubt> doubt;
    NodeSet answered = 0;
    std::string why;       // what a node said of it last, or why it said nothing
    bool is_done = false;  // a quorum has answered
  };

  ReleaseRound(Instance &instance, NodeSet asked) : FanOut(instance), asked_(asked), open_(asked) {}
  // So that it does not keep a node from others for long.
  bool may_be_joined(NodeSet asked, size_t keys) const {
    return asked == asked_ && keys_ + keys <= kKeysMost;
  }
  void add(Items items, Handle handle, uint64_t token, AskDone done) {
    for (Item &item : items) {
      item.rule = instance_.membership.rule(item.lease->subset, item.lease->votes);
      keys_ += item.keys.size();
    }
    auto doubt = make_shared_of_spare<Doubt>(Doubt{handle, token});
    releases_.push_back({std::move(items), std::move(done), std::move(doubt), 0, {}});
    ++instance_.releases_open_;
    instance_.releases_.begin();
  }
  void begin() {
    ask_all(asked_);
    if (growing_ == asked_) instance_.growing_round_ = this;
  }

 private:
  static constexpr size_t kKeysMost = 16;

  bool begins_to_grow(Call &call) override {
    growing_ |= call.node.bit();
    return true;
  }
  // One node has its call, or has none: nothing can be added any more for all of them.
  void ends_growth() override {
    growing_ = 0;
    if (instance_.growing_round_ == this) instance_.growing_round_ = nullptr;
  }
  void encode(Call &call) override {
    ends_growth();
    call.begin_again(scripts::release);
    call.put_node_key();
    for_each_item([&](const Item &item) {
      for (const Bytes key : item.keys) call.put_key(key);
    });
    call.argument(kClaimMs);
    call.argument(Bytes());
    for_each_item([&](const Item &item) {
      for (size_t i = 0; i < item.keys.size(); ++i) call.argument(item.lease->id);
    });
  }
  template <typename Act>
  void for_each_item(Act act) const {
    for (const Release &release : releases_) {
      for (const Item &item : release.items) act(item);
    }
  }
  bool fits(const Call &, const Reply &reply) const override { return fits_release(reply, keys_); }
  ReplyLimits limits() const override { return limits_of_release(keys_); }
  bool takes_back() const override { return true; }
  void answered(Call &call, const Reply &reply) override {
    const int64_t now_us = time_of_release(reply);
    // Who may have forgotten it says nothing by that.
    const bool forgot = !call.node.is_ready() || call.node.is_silent(instance_.clock.now());
    size_t from = 0;
    for (Release &release : releases_) {
      bool is_answered = true;
      for (Item &item : release.items) {
        const Reply *const wrong = wrong_in_release(reply, from, item.keys.size());
        bool is_freed = wrong == nullptr;
        for (size_t i = 0; i < item.keys.size(); ++i)
          is_freed = is_freed && liblock::is_freed(reply, from + i);
        from += item.keys.size();
        if (is_freed) item.freed |= call.node.bit();
        if (wrong != nullptr) {
          is_answered = false;
          release.why = call.node.address + ": " + explained(wrong->text);
        } else if (!is_freed && !forgot) {
          item.gone |= call.node.bit();
        }
        if (wrong != nullptr || item.lease->doubt_until_us[call.node.index] >= now_us)
          clean(call.node, release, item);
      }
      if (is_answered) release.answered |= call.node.bit();
    }
    const Reply *const first_wrong = wrong_in_release(reply, 0, keys_);
    const std::string error(first_wrong != nullptr ? first_wrong->text : Bytes());
    count(call.node);
    call.node.link.look_at_error(error);
  }
  void failed(Call &call, const Failure &failure) override {
    ends_growth();
    for (Release &release : releases_) {
      release.why = failure.text;
      if (failure.status == Status::CLOSED) continue;
      for (const Item &item : release.items) clean(call.node, release, item);
    }
    count(call.node);
  }
  void clean(Node &node, const Release &release, const Item &item) const {
    const GrantLease &lease = *item.lease;
    const Nanos slack = 4 * node.options.command_timeout;
    Nanos ends_at = instance_.clock.now() + std::max(lease.ttl, lease.first_ttl) + slack;
    if (lease.may_end_at != kNever) ends_at = std::max(ends_at, lease.may_end_at);
    const int64_t doubt_until_us = lease.doubt_until_us[node.index];
    instance_.cleaner.undo(node, item.keys, lease.id, doubt_until_us, 0, ends_at, release.doubt);
  }
  void count(const Node &node) {
    open_ &= ~node.bit();
    for (Release &release : releases_) settle(release);
    if (open_ != 0) return;
    for (Release &release : releases_) {
      instance_.cleaner.settle(std::move(release.doubt));
      --instance_.releases_open_;
    }
    instance_.closing_goes_on();
  }
  void settle(Release &release) {
    const bool is_done = std::all_of(release.items.begin(), release.items.end(),
                                     [&](const Item &item) { return is_decided(release, item); });
    if (is_done && !std::exchange(release.is_done, true)) {
      instance_.releases_.end(true);
      for (const Item &item : release.items) instance_.observers.released(*item.lease, item.keys);
      tell(release,
           std::any_of(release.items.begin(), release.items.end(), is_lost) ? Status::LOST : Status::OK);
    }
    if (open_ != 0) return;
    if (!release.is_done) instance_.releases_.end(false);
    release.doubt->is_told = !release.is_done && release.doubt->handle != 0;
    tell(release, release.answered != 0 ? Status::PARTIAL : Status::IN_DOUBT);
  }
  // So many do not have it that no quorum can have had it.
  static bool is_lost(const Item &item) { return item.rule.is_gone(item.gone); }
  bool is_decided(const Release &release, const Item &item) const {
    if (item.rule.is_reached(item.freed) || is_lost(item)) return true;
    return open_ == 0 && item.rule.is_reached(release.answered);
  }
  void tell(Release &release, Status status) {
    if (release.done != nullptr)
      std::exchange(release.done, nullptr)(status, status == Status::OK ? "" : release.why,
                                           confirmed(release));
  }
  // Of the item that fewest have confirmed.
  static Confirmed confirmed(const Release &release) {
    Confirmed least;
    for (const Item &item : release.items) {
      const auto votes = static_cast<uint8_t>(std::popcount(release.answered & item.rule.nodes()));
      if (least.nodes == 0 || votes < least.votes)
        least = {votes, static_cast<uint8_t>(std::popcount(item.rule.nodes()))};
    }
    return least;
  }

  SpareVector<Release> releases_;
  size_t keys_ = 0;
  const NodeSet asked_;
  NodeSet open_;
  NodeSet growing_ = 0;
};

void Instance::send_release(HeldLock::Parts parts, Handle handle, uint64_t token, AskDone done) {
  if (parts.size() == 1 && passing_on.pass_on(parts.front().lease)) {
    if (done != nullptr) done(Status::OK, "");
    return;
  }
  FrontLine *const line = passing_on.begin_release(*parts.front().lease);
  ReleaseRound::Items items;
  NodeSet asked = 0;
  for (const HeldLock::Part &part : parts) {
    const auto lease = std::static_pointer_cast<GrantLease>(part.lease);
    auto item = std::find_if(items.begin(), items.end(), [&](const auto &i) { return i.lease == lease; });
    if (item == items.end()) item = items.insert(items.end(), {lease, {}, {}});
    item->keys.add(part.lock_key());
    asked |= where_it_may_be(*lease);
    count(*lease, -1);
    if (lease->is_given_back())
      keeper.let_go(*lease);  // before the release is sent: no renewal may follow it
  }
  if (growing_round_ != nullptr && growing_round_->may_be_joined(asked, parts.size())) {
    growing_round_->add(std::move(items), handle, token, std::move(done));
  } else {
    const auto round = make_shared_of_spare<ReleaseRound>(*this, asked);
    round->add(std::move(items), handle, token, std::move(done));
    round->begin();
  }
  passing_on.end_release(line);
}

// Where it has a value, whoever knows that may have brought it to nodes that were never asked from here; of those that
// are far behind, it is left to its end.
NodeSet Instance::where_it_may_be(const GrantLease &lease) const {
  if (lease.value.empty()) return lease.asked;
  return lease.asked | (membership.rule(lease.subset, lease.votes).nodes() & keeping_up(membership.ready()));
}

void Instance::undo_lease(GrantLease &lease) {
  Nanos ends_at = clock.now() + std::max(lease.ttl, lease.first_ttl);
  if (lease.may_end_at != kNever) ends_at = std::max(ends_at, lease.may_end_at);
  const NodeSet asked = where_it_may_be(lease);
  for (const auto &node : nodes_) {
    if ((asked & node->bit()) != 0)
      cleaner.undo(*node, lease.names, lease.id, lease.doubt_until_us[node->index], 0, ends_at);
  }
}

}  // namespace liblock::quorum
