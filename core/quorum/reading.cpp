// SPDX-License-Identifier: MIT
// See reading.hpp.
#include "quorum/reading.hpp"

#include <algorithm>
#include <utility>

#include "quorum/instance.hpp"
#include "quorum/rounds.hpp"

namespace liblock::quorum {

namespace {

constexpr uint32_t kWaitersShown = 200;
constexpr size_t kRecordBytes = 16 * 1'024;  // with metadata, and room for the protocol
constexpr size_t kWaiterBytes = 1'024;

void put_read_arguments(ScriptCall &call, Bytes who, const ReadHow &how) {
  call.argument(who);
  call.argument(int64_t{how.waiters});
  call.argument(how.tells_unheard ? Bytes("1") : Bytes("0"));
}

void put_read(FanOut::Call &call, const std::vector<std::string> &lock_keys, const ReadHow &how) {
  call.begin_again(scripts::read);
  call.put_node_key();
  for (const std::string &key : lock_keys) call.put_key(key);
  put_read_arguments(call, call.who(), how);
}

bool fits_read(const Reply &reply, size_t keys) {
  if (!reply.at(0).is_time() || reply.elements.size() != 1 + keys) return false;
  return std::all_of(reply.elements.begin() + 1, reply.elements.end(),
                     [](const Reply &seen) { return seen.has_integers(1, 2) && seen.has_integers(4, 1); });
}

ReplyLimits limits_of(size_t keys, const ReadHow &how) {
  const size_t each = kRecordBytes + how.waiters * kWaiterBytes;
  return {keys * each, keys * (160 + how.waiters * 3) + 16, 4};
}

class QuorumRead final : public Rounds {
 public:
  QuorumRead(Instance &instance, std::vector<std::string> lock_keys, const ReadHow &how,
             std::function<void(KeysRead)> done)
      : Rounds(instance), lock_keys_(std::move(lock_keys)), how_(how), done_(std::move(done)) {}

 private:
  void round() override {
    read_.keys.clear();
    answered_ = 0;
    NodeSet nodes = 0;
    if (instance_.membership.is_known()) {
      for (const std::string &key : lock_keys_) {
        read_.keys.emplace_back(how_.rule ? *how_.rule : rule_of_key(instance_, key));
        nodes |= read_.keys.back().rule().nodes();
      }
    }
    ask_round(nodes & instance_.membership.ready());
  }
  void encode(Call &call) override { put_read(call, lock_keys_, how_); }
  bool fits(const Call &, const Reply &reply) const override { return fits_read(reply, lock_keys_.size()); }
  ReplyLimits limits() const override { return limits_of(lock_keys_.size(), how_); }
  void heard(Call &call, const Reply &reply) override {
    const Nanos now = instance_.clock.now();
    const bool may_have_forgotten = call.node.is_silent(now) || call.node.is_stepped(now);
    answered_ |= call.node.bit();
    for (size_t i = 0; i < lock_keys_.size(); ++i)
      read_.keys[i].seen(call.node.index, read_key_seen(reply.at(i + 1), reply.at(0).integer),
                         may_have_forgotten);
    const NodeSet others = open() & ~call.node.bit();
    if ((others == 0 || !how_.of_all) && is_decided(others)) end(Status::OK, "");
  }
  void not_heard(Call &, const Failure &) override {}
  bool is_decided(const KeyVotes &key, NodeSet unheard) const {
    const KeyVotes::Verdict verdict = key.verdict();
    // A lock on some of the nodes may be on those alone that have not answered yet.
    if (verdict == KeyVotes::Verdict::Free && unheard != 0) return false;
    if (verdict == KeyVotes::Verdict::Held && unheard != 0 && !key.has_one_token()) return false;
    if (how_.needs_value && verdict == KeyVotes::Verdict::Held) return key.is_agreed();
    return verdict != KeyVotes::Verdict::Unknown;
  }
  bool is_decided(NodeSet unheard) const {
    // Each that waits may stand in a line that only few have heard of.
    if (how_.waiters != 0 && unheard != 0 && !read_.keys.front().rule().is_reached(answered_)) return false;
    if (how_.tells_unheard && !read_.keys.front().rule().is_reached(answered_)) return false;
    return std::all_of(read_.keys.begin(), read_.keys.end(),
                       [&](const KeyVotes &key) { return is_decided(key, unheard); });
  }
  void undecided() override {
    if (answered_ != 0 && is_decided(0)) return end(Status::OK, "");
    if (pause()) return;
    if (instance_.is_closing) return closed();
    if (!instance_.membership.is_known() || lock_keys_.empty()) return end(instance_.why_no_nodes());
    const QuorumRule rule = read_.keys.front().rule();
    if (!rule.is_reached(answered_)) return end(instance_.why_no_quorum(rule));
    if (how_.takes_unknown) return end(Status::OK, "");
    const Nanos now = instance_.clock.now();
    const bool some_forgot =
        std::any_of(instance_.nodes().begin(), instance_.nodes().end(), [&](const auto &node) {
          return (answered_ & node->bit()) != 0 && (node->is_silent(now) || node->is_stepped(now));
        });
    if (some_forgot) return end(instance_.why_quarantined(rule));
    end(Status::NO_QUORUM, "the nodes that answer do not agree on this key; ask again");
  }
  void closed() override { end(Status::CLOSED, ""); }
  void end(const Failure &failure) { end(failure.status, failure.text); }
  void end(Status status, const std::string &why) {
    set_over();
    read_.status = status;
    read_.why = why;
    std::exchange(done_, nullptr)(std::move(read_));
  }

  const std::vector<std::string> lock_keys_;
  const ReadHow how_;
  std::function<void(KeysRead)> done_;
  KeysRead read_;
  NodeSet answered_ = 0;
};

// Whom one question goes to: a node that says who it is, or an observer.
struct Source {
  Link *link;
  Node *node;  // null: an observer
  std::string who;
  int64_t round_trip_us;
};

// One after the other, until one answers.
class DirtyRead final : public ServerCall {
 public:
  DirtyRead(Instance &instance, std::string lock_key, std::vector<Source> sources, bool with_waiters,
            Inspection &inspection)
      : instance_(instance),
        lock_keys_{std::move(lock_key)},
        sources_(std::move(sources)),
        inspection_(inspection) {
    how_.waiters = with_waiters ? kWaitersShown : 0;
  }
  void next() {
    if (sources_.empty() || instance_.is_closing) return end({});
    const Source source = std::move(sources_.front());
    sources_.erase(sources_.begin());
    begin(scripts::read);
    key(kNodeKey);
    put_names(*this, lock_keys_.front());
    put_read_arguments(*this, source.who, how_);
    asked_ = source.node;
    source.link->send(*this);
  }
  bool fits(const Reply &reply) const override { return reply.at(0).text == "CONFIG" || fits_read(reply, 1); }
  ReplyLimits limits() const override { return limits_of(1, how_); }
  void answered(const Reply &reply) override {
    if (reply.at(0).text == "CONFIG") {
      // Whoever does nothing but read hears of other nodes and observers by this alone.
      if (asked_ != nullptr) asked_->look_again();
      return next();
    }
    KeyVotes said(QuorumRule(1, 1));
    said.seen(0, read_key_seen(reply.at(1), reply.at(0).integer), false);
    std::vector<std::unique_ptr<KeyInfo>> infos;
    infos.push_back(said.info(instance_.keyspace, lock_keys_.front()));
    infos.front()->waiters = said.waiters();
    infos.front()->waiters_unnamed -= std::min(infos.front()->waiters.size(), infos.front()->waiters_unnamed);
    end(std::move(infos));
  }
  void failed(const Failure &failure) override {
    failure_ = failure;
    next();
  }

 private:
  void end(std::vector<std::unique_ptr<KeyInfo>> infos) {
    Inspection &inspection = inspection_;
    const Failure failure = failure_;
    delete this;
    if (!infos.empty()) return inspection.seen(std::move(infos));
    inspection.failed(failure.status, failure.text);
  }
  Instance &instance_;
  const std::vector<std::string> lock_keys_;
  std::vector<Source> sources_;
  Inspection &inspection_;
  ReadHow how_;
  Node *asked_ = nullptr;
  Failure failure_{Status::CONNECT, false, "no node of the quorum can be asked"};
};

// Those that answer, the quickest first; or the one that is named.
std::vector<Source> sources_for(const Instance &instance, const Ask &ask) {
  std::vector<Source> sources;
  const Nanos now = instance.clock.now();
  for (const auto &node : instance.nodes()) {
    const bool is_wanted =
        ask.node.empty() ? node->is_ready() : node->id == ask.node || node->address == ask.node;
    const bool votes = !node->is_silent(now) && !node->is_stepped(now);
    if (is_wanted && (votes || ask.from != Ask::From::Master))
      sources.push_back({&node->link, node.get(), node->who(), node->figures->round_trip_us.load()});
  }
  for (const auto &observer : instance.observers.all()) {
    const bool is_wanted = ask.node.empty() ? observer->is_up() : observer->address == ask.node;
    if (is_wanted && ask.from != Ask::From::Master)
      sources.push_back({&observer->link, nullptr, "", observer->figures->round_trip_us.load()});
  }
  const auto took = [](const Source &source) {
    return source.round_trip_us < 0 ? INT64_MAX : source.round_trip_us;
  };
  std::stable_sort(sources.begin(), sources.end(),
                   [&](const Source &a, const Source &b) { return took(a) < took(b); });
  return sources;
}

void add_own_knowledge(const Instance &instance, Bytes lock_key, KeyInfo &info) {
  for (const LeaseRef &lease : instance.keeper.find(lock_key)) {
    if (lease->id != info.attempt_id) continue;
    for (const Lease::Key &key : lease->keys) {
      if (key.lock_key == lock_key) info.hold_count = std::max(1u, key.handles);
    }
  }
}

// Those of this instance, behind all who stand in the lines of nodes.
void name_standing(const Instance &instance, Bytes lock_key, KeyInfo &info) {
  const int64_t now_us = instance.wall_us();
  for (WaiterInfo &waiter : instance.passing_on.shown(lock_key)) {
    waiter.instance = instance.id;
    waiter.since_us = now_us - waiter.waited_ms * 1'000;
    info.waiters.push_back(std::move(waiter));
    --info.waiters_unnamed;
  }
}

void show(Instance &instance, Bytes lock_key, const ReadHow &how, Inspection &inspection) {
  const auto seen = [&instance, lock_key = std::string(lock_key), how, &inspection](KeysRead read) {
    if (read.status != Status::OK) return inspection.failed(read.status, read.why);
    const KeyVotes &key = read.keys.front();
    std::vector<std::unique_ptr<KeyInfo>> infos;
    infos.push_back(key.info(instance.keyspace, lock_key));
    KeyInfo &info = *infos.front();
    if (how.needs_value) add_own_knowledge(instance, lock_key, info);
    info.is_zombie = how.tells_unheard && is_zombie(instance, key);
    info.waiters = key.waiters();
    info.waiters_unnamed -= std::min(info.waiters.size(), info.waiters_unnamed);
    info.waiters_unnamed += standing_for(instance, lock_key, key);
    if (how.waiters != 0) name_standing(instance, lock_key, info);
    inspection.seen(std::move(infos));
  };
  read_keys(instance, {std::string(lock_key)}, how, seen);
}

}  // namespace

void read_keys(Instance &instance, std::vector<std::string> lock_keys, const ReadHow &how,
               std::function<void(KeysRead)> done) {
  for (const Bytes lock_key : lock_keys) instance.passing_on.tell_now(lock_key);
  std::make_shared<QuorumRead>(instance, std::move(lock_keys), how, std::move(done))->begin();
}

QuorumRule rule_of_key(const Instance &instance, Bytes lock_key) {
  for (const LeaseRef &ref : instance.keeper.find(lock_key)) {
    const auto &lease = static_cast<const GrantLease &>(*ref);
    if (lease.subset != kEveryNode) return instance.membership.rule(lease.subset, lease.votes);
  }
  return instance.membership.knowing_rule();
}

QuorumRule changing_rule_of_key(const Instance &instance, Bytes lock_key) {
  for (const LeaseRef &ref : instance.keeper.find(lock_key)) {
    const auto &lease = static_cast<const GrantLease &>(*ref);
    if (lease.subset != kEveryNode) return instance.membership.rule(lease.subset, lease.votes);
  }
  return instance.membership.least_rule();
}

size_t standing_for(const Instance &instance, Bytes lock_key, const KeyVotes &key) {
  const size_t here = instance.passing_on.count_standing(lock_key);
  const bool is_elsewhere = key.verdict() == KeyVotes::Verdict::Held && key.record().instance != instance.id;
  return here + (is_elsewhere ? static_cast<size_t>(std::min(key.record().standing, Reply::kCountMost)) : 0);
}

bool is_zombie(const Instance &instance, const KeyVotes &key) {
  if (key.verdict() != KeyVotes::Verdict::Held || key.record().id.empty() || !key.is_unheard()) return false;
  // It listens from its first lock on, though not from the first moment.
  return key.held_for_us() >= instance.options.alive / 1'000;
}

void inspect(Instance &instance, Bytes lock_key, Inspection &inspection) {
  show(instance, lock_key, {}, inspection);
}

void inspect_in_detail(Instance &instance, Bytes lock_key, bool with_waiters, Inspection &inspection) {
  ReadHow how;
  how.needs_value = how.tells_unheard = true;
  how.waiters = with_waiters ? kWaitersShown : 0;
  show(instance, lock_key, how, inspection);
}

void read_as_asked(Instance &instance, const Ask &ask, Inspection &inspection) {
  const std::string lock_key = instance.keyspace.lock_key(ask.keys[0]);
  if (ask.from == Ask::From::Quorum) return inspect_in_detail(instance, lock_key, ask.flag, inspection);
  instance.passing_on.tell_now(lock_key);
  std::vector<Source> sources = sources_for(instance, ask);
  if (sources.empty() && !ask.node.empty() && !instance.knows_servers())
    return inspection.failed(Status::NO_QUORUM, "it is not known yet which nodes there are");
  if (sources.empty() && !ask.node.empty())
    return inspection.failed(
        Status::INVALID_ARGUMENT,
        ask.from == Ask::From::Master
            ? "no node of this quorum that votes has that id or address; see liblock_quorum_status"
            : "no node or observer of this quorum has that id or address; see liblock_quorum_status");
  (new DirtyRead(instance, lock_key, std::move(sources), ask.flag, inspection))->next();
}

}  // namespace liblock::quorum
