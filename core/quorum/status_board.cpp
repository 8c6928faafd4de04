// SPDX-License-Identifier: MIT
// See status_board.hpp.
#include "quorum/status_board.hpp"

#include <algorithm>

#include "quorum/founding.hpp"
#include "quorum/instance.hpp"

namespace liblock::quorum {

StatusBoard::Entry StatusBoard::entry_of(const Node &node) {
  Entry entry;
  entry.figures = node.figures;
  entry.view.address = node.address;
  entry.view.id = node.id;
  switch (node.state()) {
    case Node::State::Ready:
      entry.view.state = LIBLOCK_NODE_UP;
      entry.silent_until = node.silent_until();
      entry.stepped_until = node.stepped_until();
      entry.needs_floor = node.hello().needs_floor;
      break;
    case Node::State::Refused:
      entry.view.state = LIBLOCK_NODE_REFUSED;
      entry.view.why = node.why();
      break;
    case Node::State::Waiting:
      entry.view.state = LIBLOCK_NODE_DOWN;
      entry.view.why =
          node.address +
          ": it is being told which quorum it belongs to; the first time, once as many answer as must vote";
      break;
    default:
      entry.view.state = LIBLOCK_NODE_DOWN;
      entry.view.why = node.why() + "; see to the server and the network, it is tried again and again";
  }
  return entry;
}

void StatusBoard::write(const Instance &instance) {
  QuorumView sum;
  const Membership &membership = instance.membership;
  sum.votes = votes_needed(instance.options.votes, instance.options.nodes.size());
  if (membership.is_known()) {
    const Configuration &configuration = membership.configuration();
    Configuration::Identity identity;
    if (Configuration::parse_who(configuration.who("n"), identity)) sum.config_hash = identity.hash;
    sum.epoch = configuration.epoch;
    sum.max_ttl_ms = configuration.max_ttl_ms;
    sum.cluster_id = configuration.cluster;
    sum.votes = membership.rule(kEveryNode, 0).votes();
    sum.is_configuring = configuration.is_joint();
    const bool is_reached = membership.rule(kEveryNode, 0).is_reached(membership.ready());
    if (is_reached && !membership.is_vouched_for()) sum.why_none_counts = membership.why_not_vouched_for().text;
  }
  std::vector<Entry> entries;
  const bool may_begin = why_not_new(instance).empty();
  for (const auto &node : instance.nodes()) {
    // Those that have been removed stay known, and are nobody's business any more, unless the URL still names them.
    const bool is_refused_as_named =
        node->state() == Node::State::Refused && node->index < instance.options.nodes.size();
    const bool is_none = membership.is_known() && !membership.is_member(*node) && node->candidacies == 0;
    if (is_none && !is_refused_as_named) continue;
    entries.push_back(entry_of(*node));
    entries.back().view.is_in_vain = is_none;
    entries.back().may_begin = may_begin;
  }
  for (const auto &observer : instance.observers.all()) {
    Entry entry;
    entry.figures = observer->figures;
    entry.view.address = observer->address;
    entry.view.is_observer = true;
    entry.view.state = observer->is_up() ? LIBLOCK_NODE_UP : LIBLOCK_NODE_DOWN;
    if (!observer->is_up()) entry.view.why = observer->why();
    entries.push_back(std::move(entry));
  }
  const std::lock_guard lock(mutex_);
  sum_ = std::move(sum);
  entries_ = std::move(entries);
}

void StatusBoard::complete(const Entry &entry, Nanos now, NodeView &view) {
  view.round_trip_us = entry.figures->round_trip_us.load();
  view.clock_offset_ms = entry.figures->clock_offset_ms.load();
  view.lag_ms = entry.figures->lag_ms.load();
  if (view.state != LIBLOCK_NODE_UP || view.is_observer) return;
  Nanos until = 0;
  if (now < entry.silent_until) {
    view.state = LIBLOCK_NODE_QUARANTINED;
    until = entry.silent_until;
    view.why = view.address +
               ": it was restarted, lost its data, or is new: no vote before all that it may have forgotten "
               "is over; wait in a process that stays" +
               (entry.may_begin ? ", or begin a quorum of new servers with liblock_quorum_init" : "");
  } else if (entry.needs_floor) {
    view.state = LIBLOCK_NODE_NEEDS_FLOOR;
    view.why = view.address +
               ": it may have forgotten tokens: no vote before other nodes have told it theirs; see that "
               "they answer";
  } else if (now < entry.stepped_until) {
    view.state = LIBLOCK_NODE_STEPPED;
    until = entry.stepped_until;
    view.why = view.address +
               ": its clock jumped: no vote for new locks for max_ttl_ms; let its time be slewed, not set";
  }
  if (until > now) view.quarantine_left_ms = (until - now + kMillisecond - 1) / kMillisecond;
}

std::unique_ptr<QuorumView> StatusBoard::view(Nanos now, std::string &message) const {
  std::vector<Entry> entries;
  auto view = std::make_unique<QuorumView>();
  {
    const std::lock_guard lock(mutex_);
    *view = sum_;
    entries = entries_;
  }
  size_t voting = 0, nodes = 0;
  std::string whys;
  for (Entry &entry : entries) {
    complete(entry, now, entry.view);
    const bool is_node = !entry.view.is_observer && !entry.view.is_in_vain;
    nodes += is_node;
    voting += is_node && entry.view.state == LIBLOCK_NODE_UP;
    if (!entry.view.why.empty()) whys += (whys.empty() ? "" : "; ") + entry.view.why;
    view->nodes.push_back(std::move(entry.view));
  }
  message = view->why_none_counts;
  if (message.empty() && !whys.empty())
    message = std::to_string(voting) + " of " + std::to_string(nodes) + " nodes vote, " +
              std::to_string(view->votes) + " must; " + whys;
  return view;
}

}  // namespace liblock::quorum
