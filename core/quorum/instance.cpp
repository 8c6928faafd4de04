// SPDX-License-Identifier: MIT
// See instance.hpp.
#include "quorum/instance.hpp"


#include <algorithm>
#include <utility>

#include "quorum/founding.hpp"
#include "runtime/once.hpp"

namespace liblock::quorum {

namespace {

// Commands that wait for a node: of new acquires there are fewer.
constexpr size_t kBehindMost = 256;

RemoteOptions remote_options(const QuorumOptions &options) {
  return {options.prefix, options.first_lease, options.locks_max, options.waiters_max};
}

}  // namespace

Instance::Instance(std::shared_ptr<Runtime> runtime_of_it, QuorumOptions options_of_it, std::string id_of_it,
                   Clock clock_of_it, uint64_t seed, WallClock wall_us)
    : RemoteInstance(std::move(runtime_of_it), remote_options(options_of_it), std::move(id_of_it),
                     clock_of_it, seed),
      options(std::move(options_of_it)),
      membership(*this),
      recovery(*this),
      keeper(*this),
      verifying_all(*this),
      cleaner(*this),
      waiting(*this),
      passing_on(*this),
      observers(*this),
      wall_us_(std::move(wall_us)) {
  for (const ConnectionOptions &node : options.nodes)
    nodes_.push_back(std::make_unique<Node>(*this, nodes_.size(), node));
}

Instance::~Instance() = default;

void Instance::start() {
  for (const auto &node : nodes_) node->start();
  observers.start(options.observers);
}

void Instance::when_opened(std::function<void(Status, const std::string &)> opened) {
  opened_ = std::move(opened);
  if (is_closing || membership.is_settled()) tell_opened();
}

// Reached like those that were named, and with their credentials.
bool Instance::connection_like_nodes(const std::string &address, ConnectionOptions &connection) {
  ConnectionDefaults defaults = options.defaults;
  std::string message;
  if (connection_to(address, defaults, connection, message) != Status::OK) {
    note_trouble(Status::CONNECT, address + ": " + message);
    return false;
  }
  if (connection.address.user.empty()) connection.address.user = options.nodes.front().address.user;
  if (connection.address.password.empty())
    connection.address.password = options.nodes.front().address.password;
  return true;
}

void Instance::add_node(const std::string &address) {
  if (nodes_.size() >= 2 * kNodesMax)
    return note_trouble(Status::LIMIT, address + ": too many servers are known; open a new context");
  ConnectionOptions connection;
  if (!connection_like_nodes(address, connection)) return;
  nodes_.push_back(std::make_unique<Node>(*this, nodes_.size(), connection));
  nodes_.back()->start();
}

Node *Instance::add_candidate(const ConnectionOptions &connection) {
  const std::string address = connection.address.redacted();
  auto known =
      std::find_if(nodes_.begin(), nodes_.end(), [&](const auto &node) { return node->address == address; });
  if (known == nodes_.end()) {
    if (nodes_.size() >= 2 * kNodesMax) return nullptr;
    nodes_.push_back(std::make_unique<Node>(*this, nodes_.size(), connection));
    known = nodes_.end() - 1;
  }
  ++(*known)->candidacies;
  (*known)->start();
  return known->get();
}

void Instance::tell_node(const Node &node, int32_t kind, Status status, const std::string &text) {
  board.write(*this);
  events.emit_node(kind, status, text, node.address);
}

void Instance::nodes_changed() {
  board.write(*this);
  if (is_closing) return;
  for (const auto &node : nodes_) {
    if (node->is_ready()) cleaner.on_ready(*node);
  }
  recovery.look();
  if (opened_ != nullptr && membership.is_settled()) tell_opened();
  waiting.nodes_changed();
  if (has_heard_ || !membership.is_settled()) return;
  has_heard_ = true;
  // Whoever has noticed it may be going through the nodes, which a question may add to.
  run_once(*runtime, [kept = shared_from_this()] { kept->asking.servers_are_known(); });
}

void Instance::tell_opened() {
  const auto opened = std::exchange(opened_, nullptr);
  Status status = Status::OK;
  std::string text;
  const bool is_known = membership.is_known();
  const QuorumRule every = is_known ? membership.rule(kEveryNode, 0) : QuorumRule();
  const bool answers = is_known && every.is_reached(membership.ready());
  const bool are_most = answers && membership.has_most_of_what_is_named();
  std::vector<const Node *> done_without;
  for (const auto &node : nodes_) {
    if (node->state() != Node::State::Refused) continue;
    // Where others answer a replica, say, or one with another password, is done without, as one that is away; and so is
    // a node that was exchanged, by whoever still names it.
    const bool is_done_without = node->is_misnamed() ? answers && membership.was_exchanged(*node) : are_most;
    if (is_done_without) {
      done_without.push_back(node.get());
      continue;
    }
    if (status == Status::OK) status = node->trouble();
    text += (text.empty() ? "" : "; ") + node->why();
  }
  if (status == Status::OK && is_known) {
    NodeSet voting = 0;
    for (const auto &node : nodes_) {
      if (node->is_ready() && !node->is_silent(clock.now())) voting |= node->bit();
    }
    if (!answers)
      text = why_no_quorum(every).text;
    else if (!membership.is_vouched_for())
      text = membership.why_not_vouched_for().text;
    else if (!every.is_reached(voting))
      text = why_quarantined(every).text;
    else
      text = why_not_all(every);
    for (const Node *node : done_without) {
      if (text.find(node->why()) == std::string::npos) text = node->why() + (text.empty() ? "" : "; ") + text;
    }
  }
  if (status == Status::OK && !is_known) text = why_no_nodes().text;
  opened(status, text);
}

void Instance::listen() {
  for (const auto &node : nodes_) {
    if (!node->link.is_listening()) node->link.listen();
  }
}

// What was sent before was missed.
void Instance::on_listening(Node &) {
  waiting.may_be_taken_away({});
  waiting.look_at_all();
  passing_on.others_may_wait();
  verifying_all.messages_come();
}

void Instance::on_message(Node &node, Bytes message) {
  if (message.size() < 2) return;
  const Bytes what = message.substr(1);
  if (message[0] == 'c') return waiting.called(node, what);
  if (message[0] == 'd') return waiting.sent_away(what);
  if (message[0] == 'q') return passing_on.others_wait(what);
  if (message[0] == 's') return waiting.standing_sent_away(what);
  if (message[0] == 'l') {
    // Somebody took it away: ask, since a message may be late, or may lie; or be here before the grant that it means.
    waiting.may_be_taken_away(what);
    passing_on.may_be_taken_away(what);
    const std::vector<LeaseRef> named = keeper.find(what);
    if (!named.empty()) verify_leases(named, nullptr);
  }
}

uint64_t Instance::propose_token() const {
  const int64_t wall = std::clamp<int64_t>(wall_us_(), 0, int64_t{kNumbersMax});
  return std::max(static_cast<uint64_t>(wall), high_ + 1);
}

int64_t Instance::next_ticket() {
  high_ = propose_token();
  return static_cast<int64_t>(high_);
}

Failure Instance::why_no_nodes() const {
  std::string text = "no node of the quorum has said what it is";
  Status status = Status::CONNECT;
  bool passes = false;
  std::string unmarked;
  for (const auto &node : nodes_) {
    passes = passes || node->link.was_ever_connected();
    if (node->is_connected()) {
      unmarked += " " + node->address;
      continue;
    }
    text += "; " + node->why();
    status = node->trouble();
  }
  if (unmarked.empty()) return {status, false, text, passes};
  text += "; without a mark, and given one when as many answer as must vote and none is refused:" + unmarked;
  return {status == Status::CONNECT || status == Status::CLOSED ? Status::NO_QUORUM : status, false, text,
          true};
}

Failure Instance::why_no_quorum(const QuorumRule &rule) const {
  const NodeSet ready = membership.ready() & rule.nodes();
  std::string text = std::to_string(std::popcount(ready)) + " of " +
                     std::to_string(std::popcount(rule.nodes())) + " nodes answer, " +
                     std::to_string(rule.votes()) + " are needed";
  for (const auto &node : nodes_) {
    if ((rule.nodes() & node->bit()) != 0 && !node->is_ready()) text += "; " + node->why();
  }
  return {Status::NO_QUORUM, false, text, true};
}

// Why nodes stay silent whose time is over, or will be: those that would tell them the largest token are not there.
std::string Instance::why_no_floor() const {
  const QuorumRule rule = membership.knowing_rule();
  NodeSet knowing = 0, forgot = 0;
  std::string missing;
  for (const auto &node : nodes_) {
    if ((rule.nodes() & node->bit()) == 0) continue;
    if (!node->is_ready()) missing += " " + node->address;
    if (node->is_ready()) (node->hello().needs_floor ? forgot : knowing) |= node->bit();
  }
  // Where too many have forgotten, clocks stand in.
  const bool is_told = rule.meets_all(knowing) || !rule.meets_all(rule.nodes() & ~forgot);
  if (forgot == 0 || is_told || missing.empty()) return {};
  const auto all = static_cast<uint32_t>(std::popcount(rule.nodes()));
  return "they wait to be told the largest token, for which " + std::to_string(all - rule.votes() + 1) +
         " nodes must answer that have not forgotten it; these do not answer:" + missing;
}

Failure Instance::why_quarantined(const QuorumRule &rule) const {
  const Nanos now = clock.now();
  std::vector<Nanos> waits;
  size_t silent = 0;
  for (const auto &node : nodes_) {
    if ((rule.nodes() & node->bit()) == 0 || !node->is_ready()) continue;
    const Nanos until = std::max(node->is_silent(now) ? node->silent_until() : 0,
                                 node->is_stepped(now) ? node->stepped_until() : 0);
    silent += until > now || node->is_silent(now) ? 1 : 0;
    waits.push_back(std::max<Nanos>(0, until - now));
  }
  std::sort(waits.begin(), waits.end());
  const Nanos wait = waits.size() >= rule.votes() ? waits[rule.votes() - 1] : 0;
  std::string text = std::to_string(silent) + " of " + std::to_string(std::popcount(rule.nodes())) +
                     " nodes do not vote yet, since they restarted, are new, or their clocks jumped; ";
  if (const std::string why = why_no_floor(); !why.empty())
    text += why;
  else if (wait == 0)
    text += "that ends in a moment";
  else
    text += "each process counts that for itself: here that ends in " + std::to_string(wait / kMillisecond) + " ms";
  if (why_not_new(*this).empty()) text += ". A new quorum can begin at once: liblock_quorum_init";
  return {Status::QUARANTINED, false, text, true};
}

std::string Instance::why_not_all(const QuorumRule &rule) const {
  const Nanos now = clock.now();
  std::string text;
  for (const auto &node : nodes_) {
    if ((rule.nodes() & node->bit()) == 0 || (node->is_ready() && !node->is_silent(now))) continue;
    text += text.empty() ? "" : "; ";
    if (!node->is_ready()) {
      text += node->why();
      continue;
    }
    const Nanos left = std::max<Nanos>(0, node->silent_until() - now);
    text += node->address + ": it was restarted or is new, and does not vote " +
            (left == 0 ? "before it is told the largest token"
                       : "for " + std::to_string(left / kMillisecond) + " ms");
  }
  return text;
}

NodeSet Instance::keeping_up(NodeSet ready) const {
  for (const auto &node : nodes_) {
    if (node->link.commands_waiting() > kBehindMost) ready &= ~node->bit();
  }
  return ready;
}

NodeSet Instance::keeping_up(const QuorumRule &rule, NodeSet ready) const {
  const Nanos now = clock.now();
  const NodeSet others = keeping_up(ready);
  NodeSet voting = ready;
  for (const auto &node : nodes_) {
    if (node->is_silent(now) || node->is_stepped(now)) voting &= ~node->bit();
  }
  return rule.is_reached(others & voting) ? others : ready;
}

void Instance::begin_lease(const LeaseRef &lease, Nanos sent_at) {
  keeper.begin(std::static_pointer_cast<GrantLease>(lease), sent_at);
}

void Instance::set_leases(const std::vector<LeaseRef> &leases, const Extension &extension, AskDone done) {
  keeper.extend(leases, extension, std::move(done));
}

void Instance::close(bool leave, std::function<void()> closed) {
  is_closing = true;
  if (opened_ != nullptr) std::exchange(opened_, nullptr)(Status::CLOSED, "");
  end_all(leave);
  recovery.stop();
  closed_ = std::move(closed);  // not before: what ends at once above is not the end of all
  releases_.go_on();           // what was answered before does not count
  runtime->arm(close_timer_, runtime->now() + options.nodes.front().command_timeout);
  closing_goes_on();
}

void Instance::CloseTimer::fire(Nanos now) {
  if (instance.releases_.go_on()) {
    instance.runtime->arm(*this, now + instance.options.nodes.front().command_timeout);
    return;
  }
  instance.close_overdue_ = true;
  instance.closing_goes_on();
}

void Instance::closing_goes_on() {
  if (closed_ == nullptr) return;
  if (!close_overdue_ && (releases_open_ != 0 || attempts_open != 0 || !cleaner.empty())) return;
  std::function<void()> closed = std::exchange(closed_, nullptr);
  runtime->cancel(close_timer_);
  verifying_all.stop();
  passing_on.stop();
  for (const auto &node : nodes_) node->link.stop();  // first: calls under way are told of their end
  observers.stop();
  keeper.stop();
  cleaner.stop();
  // Whoever is told may let go of everything at once, and this is still on the stack of a connection.
  run_once(*runtime, [kept = shared_from_this(), closed = std::move(closed)] { closed(); });
}

}  // namespace liblock::quorum
