// SPDX-License-Identifier: MIT
// See walking.hpp.
#include "quorum/walking.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "quorum/instance.hpp"
#include "quorum/reading.hpp"

namespace liblock::quorum {

namespace {

class ListStep final : public std::enable_shared_from_this<ListStep> {
 public:
  ListStep(Instance &instance, Ask &ask, AskDone done)
      : instance_(instance), ask_(ask), done_(std::move(done)) {}
  void begin() {
    ListPosition &at = ask_.position;
    if (ask_.which == Ask::Which::Queues) at.is_second_round = true;
    if (at.shown_seed == 0) at.shown_seed = instance_.random.next() | 1;
    if (!at.found.empty()) return look();
    ++ask_.tally.steps;
    walk_ = {static_cast<size_t>(at.passed), at.next, at.is_round_over};
    is_first_ = at.passed == 0 && at.next == 0 && !at.is_round_over;
    walk(instance_, at.is_second_round ? Scanned::Lines : Scanned::Locks, ask_.text, walk_, ask_.batch,
         [self = shared_from_this()](Page page, bool at_end) { self->walked(std::move(page), at_end); });
  }

 private:
  void walked(Page page, bool at_end) {
    if (page.status != Status::OK) return done_(page.status, page.why);
    ListPosition &at = ask_.position;
    at.passed = walk_.node;
    at.next = walk_.cursor;
    at.is_round_over = walk_.is_node_over;  // of the node
    at.found = std::move(page.lock_keys);
    // Of this instance, which are in no line of a node.
    if (is_first_ && ask_.which == Ask::Which::Queues)
      instance_.passing_on.add_lines_alone(ask_.text, at.found);
    if (!at.found.empty()) return look();
    if (at_end && ask_.which == Ask::Which::Keys && !at.is_second_round) {
      at.is_second_round = true;
      at.passed = at.next = 0;
      at.is_round_over = false;
    } else if (at_end) {
      at.at_end = true;
    }
    done_(Status::OK, "");
  }
  void look() {
    const std::vector<std::string> &found = ask_.position.found;
    const auto first = found.end() - static_cast<ptrdiff_t>(std::min(found.size(), kKeysPerLook));
    keys_.assign(first, found.end());
    ReadHow how;
    how.takes_unknown = how.of_all = true;
    how.tells_unheard = ask_.flag;
    read_keys(instance_, keys_, how, [self = shared_from_this()](const KeysRead &read) { self->seen(read); });
  }
  void seen(const KeysRead &read) {
    if (read.status != Status::OK) return done_(read.status, read.why);
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (is_wanted(keys_[i], read.keys[i])) add(read.keys[i], keys_[i]);
    }
    // Those that were looked at are forgotten only now, so that a failed step can be made again.
    ListPosition &at = ask_.position;
    at.found.resize(at.found.size() - keys_.size());
    done_(Status::OK, "");
  }
  void add(const KeyVotes &key, Bytes lock_key) {
    auto info = key.info(instance_.keyspace, lock_key);
    info->waiters_unnamed += standing_for(instance_, lock_key, key);
    info->is_zombie = ask_.flag && is_zombie(instance_, key);
    if (ask_.flag && !info->is_zombie) return;
    if (ask_.position.shown.insert(hash_bytes(lock_key, ask_.position.shown_seed)).second)
      ask_.infos.push_back(std::move(info));
  }
  // Foreign strings that happen to have the prefix are not ours to list.
  bool is_wanted(Bytes lock_key, const KeyVotes &key) const {
    const bool is_ours = key.verdict() == KeyVotes::Verdict::Held && !key.record().id.empty();
    if (!ask_.position.is_second_round) return is_ours;
    const bool is_queued = key.waiting() != 0 || standing_for(instance_, lock_key, key) != 0;
    return is_queued && (ask_.which == Ask::Which::Queues || !is_ours);
  }

  Instance &instance_;
  Ask &ask_;
  const AskDone done_;
  WalkPosition walk_;
  bool is_first_ = false;
  std::vector<std::string> keys_;
};

}  // namespace

void walk(Instance &instance, Scanned what, Bytes key_prefix, WalkPosition &at, uint32_t count,
          std::function<void(Page, bool)> done) {
  Page page;
  const Membership &membership = instance.membership;
  const bool has_quorum = membership.is_known() && membership.knowing_rule().is_reached(membership.ready());
  if (!has_quorum) {
    const Failure why =
        membership.is_known() ? instance.why_no_quorum(membership.knowing_rule()) : instance.why_no_nodes();
    page.status = why.status;
    page.why = why.text;
    return done(std::move(page), false);
  }
  if (std::exchange(at.is_node_over, false)) {
    ++at.node;
    at.cursor = 0;
  }
  while (at.node < instance.nodes().size() && !instance.nodes()[at.node]->is_ready()) {
    ++at.node;
    at.cursor = 0;
  }
  if (at.node >= instance.nodes().size()) return done(std::move(page), true);
  scan(instance.nodes()[at.node]->link, instance.keyspace, what, key_prefix, at.cursor, count,
       [&at, done = std::move(done)](Page found) {
         if (found.status == Status::OK) at.cursor = found.next;
         at.is_node_over = found.next == 0;
         // Without it there are the others, as far as they are a quorum.
         if (found.status == Status::CONNECT) found = {};
         done(std::move(found), false);
       });
}

void list_step(Instance &instance, Ask &ask, AskDone done) {
  std::make_shared<ListStep>(instance, ask, std::move(done))->begin();
}

}  // namespace liblock::quorum
