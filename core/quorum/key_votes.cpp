// SPDX-License-Identifier: MIT
// See key_votes.hpp.
#include "quorum/key_votes.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace liblock::quorum {

void KeyVotes::seen(size_t node, KeySeen seen, bool may_have_forgotten) {
  const NodeSet bit = NodeSet{1} << node;
  if (seen.is_there || !may_have_forgotten) sure_ |= bit;
  if (may_have_forgotten || seen.record.restored_us != 0) forgot_ |= bit;
  if (seen.is_there && !seen.record.is_promise) {
    Lock &lock = locks_[seen.record.id];
    lock.nodes |= bit;
    lock.votes = seen.record.votes;
    lock.versions[seen.record.version] |= bit;
    lock.tokens[seen.record.token] |= bit;
  }
  nodes_[node] = std::move(seen);
}

QuorumRule KeyVotes::rule_of(const Lock &lock) const {
  if (lock.votes == 0) return rule_;
  const auto all = static_cast<uint32_t>(std::popcount(rule_.nodes()));
  return {rule_.nodes(), std::min(lock.votes, all)};
}

// Locks on nodes that do not overlap can be held at once: then the one that is on most.
const KeyVotes::Lock *KeyVotes::held() const {
  const Lock *most = nullptr;
  for (const auto &[id, lock] : locks_) {
    const bool is_more = most == nullptr || std::popcount(lock.nodes) > std::popcount(most->nodes);
    if (is_more && rule_of(lock).is_reached(lock.nodes)) most = &lock;
  }
  return most;
}

QuorumRule KeyVotes::rule_of_lock() const {
  const Lock *lock = held();
  LIBLOCK_ASSERT(lock != nullptr);
  return lock->votes == 0 ? rule_ : QuorumRule(lock->nodes, lock->votes);
}

KeyVotes::Verdict KeyVotes::verdict() const {
  if (held() != nullptr) return Verdict::Held;
  const NodeSet unsure = rule_.nodes() & ~sure_;
  if (rule_.is_reached(unsure)) return Verdict::Unknown;
  const bool may_be = std::any_of(locks_.begin(), locks_.end(), [&](const auto &one) {
    return rule_of(one.second).is_reached(one.second.nodes | unsure);
  });
  return may_be ? Verdict::Unknown : Verdict::Free;
}

uint64_t KeyVotes::shown_version(const Lock &lock) const {
  for (const auto &[version, nodes] : lock.versions) {
    if (rule_of(lock).is_reached(nodes & ~forgot_)) return version;
  }
  return lock.versions.rbegin()->first;
}

bool KeyVotes::is_agreed() const {
  const Lock *lock = held();
  return lock != nullptr && rule_of(*lock).is_reached(lock->versions.at(shown_version(*lock)) & ~forgot_);
}

bool KeyVotes::has_one_token() const {
  const Lock *lock = held();
  return lock != nullptr && std::any_of(lock->tokens.begin(), lock->tokens.end(), [&](const auto &one) {
           return rule_of(*lock).is_reached(one.second);
         });
}

NodeSet KeyVotes::held_by() const {
  const Lock *lock = held();
  return lock != nullptr ? lock->nodes : 0;
}

std::map<size_t, int64_t> KeyVotes::restored_us() const {
  std::map<size_t, int64_t> restored;
  for (const auto &[node, seen] : nodes_) {
    if ((held_by() >> node & 1) != 0 && seen.record.restored_us != 0)
      restored[node] = seen.record.restored_us;
  }
  return restored;
}

// Of those that have the value, one that has the token which most have.
const KeySeen &KeyVotes::shown() const {
  const Lock *lock = held();
  LIBLOCK_ASSERT(lock != nullptr);
  const NodeSet nodes = lock->versions.at(shown_version(*lock));
  const KeySeen *best = nullptr;
  int most = 0;
  for (const auto &[node, seen] : nodes_) {
    if ((nodes >> node & 1) == 0) continue;
    const int count = std::popcount(lock->tokens.at(seen.record.token));
    if (best == nullptr || count > most) best = &seen, most = count;
  }
  return *best;
}

const NodeRecord &KeyVotes::record() const { return shown().record; }

std::string KeyVotes::packed_metadata() const {
  std::string text;
  for (const auto &[name, value] : shown().metadata) {
    for (const std::string *word : {&name, &value}) text += std::to_string(word->size()) + ":" + *word;
  }
  return text;
}

int64_t KeyVotes::held_for_us() const {
  return std::max<int64_t>(0, shown().now_us - shown().record.since_us);
}

int64_t KeyVotes::left_ms() const {
  const Lock *lock = held();
  if (lock == nullptr) return -1;
  std::vector<std::pair<int64_t, NodeSet>> ends;
  for (const auto &[node, seen] : nodes_) {
    // No expiry comes after all others.
    const int64_t left_ms = seen.left_ms < 0 ? INT64_MAX : seen.left_ms;
    if ((lock->nodes >> node & 1) != 0) ends.emplace_back(left_ms, NodeSet{1} << node);
  }
  std::sort(ends.begin(), ends.end());
  NodeSet having = lock->nodes;
  for (const auto &[left_ms, node] : ends) {
    having &= ~node;
    if (!rule_of(*lock).is_reached(having)) return left_ms == INT64_MAX ? -1 : left_ms;
  }
  return -1;
}

uint64_t KeyVotes::largest_token() const {
  uint64_t largest = 0;
  for (const auto &[node, seen] : nodes_) largest = std::max(largest, seen.record.token);
  return largest;
}

NodeSet KeyVotes::touched() const {
  NodeSet nodes = 0;
  for (const auto &[node, seen] : nodes_) nodes |= seen.is_there ? NodeSet{1} << node : 0;
  return nodes;
}

size_t KeyVotes::waiting() const {
  size_t most = 0;
  for (const auto &[node, seen] : nodes_) most = std::max(most, seen.waiting);
  return most;
}

bool KeyVotes::is_unheard() const {
  NodeSet silent = 0;
  for (const auto &[node, seen] : nodes_) {
    if (seen.heard_of == 1) return false;
    if (seen.heard_of == 0) silent |= NodeSet{1} << node;
  }
  const Lock *lock = held();
  return lock != nullptr && rule_of(*lock).is_reached(silent);
}

std::vector<WaiterInfo> KeyVotes::waiters() const {
  std::map<std::pair<int64_t, std::string>, WaiterInfo> in_order;
  for (const auto &[node, seen] : nodes_) {
    for (const auto &[id, waiter] : seen.waiters) in_order.emplace(std::pair(waiter.since_us, id), waiter);
  }
  std::vector<WaiterInfo> waiters;
  for (auto &[place, waiter] : in_order) waiters.push_back(std::move(waiter));
  return waiters;
}

std::unique_ptr<KeyInfo> KeyVotes::info(const Keyspace &keyspace, Bytes lock_key) const {
  auto info = std::make_unique<KeyInfo>();
  Bytes key;
  if (keyspace.key_of(lock_key, key)) info->key = key;
  info->waiters_unnamed = waiting();
  if (verdict() != Verdict::Held) return info;
  const KeySeen &seen = shown();
  const NodeRecord &record = seen.record;
  info->is_held = true;
  info->hold_count = 1;
  info->remaining_ms = left_ms();
  info->value = record.value;
  if (seen.is_foreign) return info;
  info->owner = unescape_field(record.owner);
  info->instance = record.instance;
  info->attempt_id = record.id;
  info->token = record.token;
  info->since_us = record.since_us;
  info->hand_us = record.ticket_us;  // on all nodes the same, and another one in the next hands
  info->initial_ttl_ms = record.lease_ms;
  info->metadata = seen.metadata;
  return info;
}

}  // namespace liblock::quorum
