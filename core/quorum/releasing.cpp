// SPDX-License-Identifier: MIT
// Giving keys back on all nodes. Whoever waits for a release waits for a quorum of answers at most; what did not answer
// is the cleaner's.
#include <algorithm>

#include "quorum/instance.hpp"

namespace liblock::quorum {

void put_release(ScriptCall &call, const std::vector<std::string> &lock_keys, const std::string &id,
                 const std::string &line_id) {
  call.begin(scripts::release);
  call.key(kNodeKey);
  for (const std::string &key : lock_keys) put_names(call, key);
  call.argument(kClaimMs);
  call.argument(line_id);
  for (size_t i = 0; i < lock_keys.size(); ++i) call.argument(id);
}

// The event about the end of a doubt comes with the last entry of the cleaner that refers to it.
class Instance::ReleaseRound final : public FanOut {
 public:
  struct Item {
    std::shared_ptr<GrantLease> lease;
    std::vector<std::string> keys;
    QuorumRule rule;
    NodeSet freed = 0, gone = 0;
  };
  ReleaseRound(Instance &instance, std::vector<Item> items, Handle handle, uint64_t token, AskDone done)
      : FanOut(instance),
        items_(std::move(items)),
        done_(std::move(done)),
        doubt_(std::make_shared<Doubt>(Doubt{handle, token})) {
    ++instance_.releases_open_;
    for (Item &item : items_) {
      item.rule = instance_.membership.rule(item.lease->subset, item.lease->votes);
      asked_ |= item.lease->asked;
    }
    open_ = asked_;
  }
  void begin() { ask_all(asked_); }

 private:
  void encode(Call &call) override {
    call.begin_again(scripts::release);
    call.put_node_key();
    for (const Item &item : items_) {
      for (const std::string &key : item.keys) call.put_key(key);
    }
    call.argument(kClaimMs);
    call.argument(Bytes());
    for (const Item &item : items_) {
      for (size_t i = 0; i < item.keys.size(); ++i) call.argument(item.lease->id);
    }
  }
  size_t count_keys() const {
    size_t keys = 0;
    for (const Item &item : items_) keys += item.keys.size();
    return keys;
  }
  bool fits(const Reply &reply) const override { return reply.has_integers(0, 1 + count_keys()); }
  void answered(Call &call, const Reply &reply) override {
    const int64_t now_us = reply.at(0).integer;
    // Who may have forgotten it says nothing by that.
    const bool forgot = call.node.is_silent(instance_.clock.now());
    size_t at = 1;
    for (Item &item : items_) {
      bool is_freed = true;
      for (size_t i = 0; i < item.keys.size(); ++i) is_freed = is_freed && reply.at(at++).integer == 1;
      if (is_freed) item.freed |= call.node.bit();
      if (!is_freed && !forgot) item.gone |= call.node.bit();
      if (item.lease->doubt_until_us[call.node.index] >= now_us) clean(call.node, item);
    }
    answered_ |= call.node.bit();
    count(call.node);
  }
  void failed(Call &call, const Failure &failure) override {
    why_ = failure.text;
    if (failure.status != Status::CLOSED) {
      for (const Item &item : items_) clean(call.node, item);
    }
    count(call.node);
  }
  void clean(Node &node, const Item &item) const {
    const GrantLease &lease = *item.lease;
    const Nanos slack = 4 * node.options.command_timeout;
    Nanos ends_at = instance_.clock.now() + std::max(lease.ttl, lease.first_ttl) + slack;
    if (lease.may_end_at != kNever) ends_at = std::max(ends_at, lease.may_end_at);
    instance_.cleaner.undo(node, item.keys, lease.id, lease.doubt_until_us[node.index], 0, ends_at, doubt_);
  }
  void count(const Node &node) {
    open_ &= ~node.bit();
    const bool is_done =
        std::all_of(items_.begin(), items_.end(), [&](const Item &item) { return is_decided(item); });
    if (is_done && !std::exchange(is_done_, true)) {
      for (const Item &item : items_) instance_.observers.released(*item.lease, item.keys);
      tell(std::any_of(items_.begin(), items_.end(), is_lost) ? Status::LOST : Status::OK);
    }
    if (open_ != 0) return;
    doubt_->is_told = !is_done_ && doubt_->handle != 0;
    tell(answered_ != 0 ? Status::PARTIAL : Status::IN_DOUBT);
    instance_.cleaner.settle(std::move(doubt_));
    --instance_.releases_open_;
    instance_.closing_goes_on();
  }
  // So many do not have it that no quorum can have had it.
  static bool is_lost(const Item &item) { return !item.rule.is_reached(item.rule.nodes() & ~item.gone); }
  bool is_decided(const Item &item) const {
    if (item.rule.is_reached(item.freed) || is_lost(item)) return true;
    return open_ == 0 && item.rule.is_reached(answered_);
  }
  void tell(Status status) {
    if (done_ != nullptr)
      std::exchange(done_, nullptr)(status, status == Status::OK ? "" : why_, confirmed());
  }
  // Of the item that fewest have confirmed.
  Confirmed confirmed() const {
    Confirmed least;
    for (const Item &item : items_) {
      const auto votes = static_cast<uint8_t>(std::popcount(answered_ & item.rule.nodes()));
      if (least.nodes == 0 || votes < least.votes)
        least = {votes, static_cast<uint8_t>(std::popcount(item.rule.nodes()))};
    }
    return least;
  }

  std::vector<Item> items_;
  AskDone done_;
  std::shared_ptr<Doubt> doubt_;
  NodeSet asked_ = 0, open_ = 0, answered_ = 0;
  bool is_done_ = false;  // a quorum has answered
  std::string why_;
};

void Instance::send_release(std::vector<HeldLock::Part> parts, Handle handle, uint64_t token, AskDone done) {
  if (parts.size() == 1 && passing_on.pass_on(parts.front().lease)) {
    if (done != nullptr) done(Status::OK, "");
    return;
  }
  FrontLine *const line = passing_on.begin_release(*parts.front().lease);
  std::vector<ReleaseRound::Item> items;
  for (const HeldLock::Part &part : parts) {
    const auto lease = std::static_pointer_cast<GrantLease>(part.lease);
    auto item = std::find_if(items.begin(), items.end(), [&](const auto &i) { return i.lease == lease; });
    if (item == items.end()) item = items.insert(items.end(), {lease, {}, {}});
    item->keys.push_back(part.lock_key());
    count(*lease, -1);
    if (lease->is_given_back())
      keeper.let_go(*lease);  // before the release is sent: no renewal may follow it
  }
  std::make_shared<ReleaseRound>(*this, std::move(items), handle, token, std::move(done))->begin();
  passing_on.end_release(line);
}

void Instance::undo_lease(GrantLease &lease) {
  std::vector<std::string> keys;
  for (const Lease::Key &key : lease.keys) keys.push_back(key.lock_key);
  Nanos ends_at = clock.now() + std::max(lease.ttl, lease.first_ttl);
  if (lease.may_end_at != kNever) ends_at = std::max(ends_at, lease.may_end_at);
  for (const auto &node : nodes_) {
    if ((lease.asked & node->bit()) != 0)
      cleaner.undo(*node, keys, lease.id, lease.doubt_until_us[node->index], 0, ends_at);
  }
}

}  // namespace liblock::quorum
