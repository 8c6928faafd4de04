// SPDX-License-Identifier: MIT
// See quorum_run.hpp. What processes do, and what is asked all the time.
#include "quorum_run.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace unit {

using liblock::quorum::GrantLease;
using liblock_test::Span;

namespace {

// No time of day: tokens are counted on from those that were seen.
constexpr int64_t kNoTime = -(int64_t{1} << 60);

}  // namespace

QuorumRun::QuorumRun(uint64_t seed, liblock_test::Counters &counters, bool is_verbose)
    : counters_(counters),
      is_verbose_(is_verbose),
      world_(seed),
      swarm_(world_.random),
      watch_(world_, counters) {
  world_.delay_least = 0;
  world_.delay_most = kMillisecond / 5;
  standing_.epoch = 0;
  for (size_t i = 0; i < swarm_.servers; ++i) {
    nodes_.push_back(&world_.add_node("n" + std::to_string(i + 1)));
    watch_.watch(*nodes_.back());
    if (swarm_.rates) nodes_.back()->set_rate(roll(9'000) - 4'500);
    if (swarm_.rollbacks) nodes_.back()->take_snapshots_every((50 + roll(2'000)) * kMillisecond);
  }
  voters_ = nodes_;
  votes_ = swarm_.votes;
  watch_.set_voters(voters_, votes_);
  if (swarm_.changes) watch_.on_configured = [this] { look_at_configuration(); };
  options_.votes = swarm_.asks_more ? static_cast<int32_t>(swarm_.votes) : 0;
  options_.max_ttl = swarm_.max_ttl();
  options_.first_lease = std::min(swarm_.first_lease_ms, swarm_.max_ttl_ms) * kMillisecond;
  options_.alive = swarm_.alive_ms * kMillisecond;
  if (swarm_.front) {
    const int64_t gaps_ms[] = {-1, 100, 1'000};
    options_.front_budget = roll(2) * roll(1'000) * kMillisecond;
    options_.foreign_gap_ms = gaps_ms[roll(3)];
    options_.front_tokens = static_cast<uint64_t>(1 + roll(4));  // so that none lasts for long
  }
  if (swarm_.trusts_disk) options_.restart = liblock::QuorumOptions::Restart::TrustFsync;
  name_nodes(nodes_);
  add_process();
  if (swarm_.founded) {
    world_.run_ms(20);
    const auto founded = processes_.front()->found(true);  // they may have begun to join
    world_.run_ms(20);
    if (!founded->is(Status::OK)) wrong("the quorum could not be founded");
  }
  while (processes_.size() < swarm_.clients) add_process();
  for (const auto &process : processes_) set_network(process->host());
}

QuorumRun::~QuorumRun() {
  is_over_ = true;
  // What is asked still ends now, and tells nobody.
  for (const Asked &asked : asked_) asked.wanted->on_end = nullptr;
  for (const Open &open : questions_) open.question->on_end = nullptr;
  // The world goes on until the last process has ended, when most of what is below it is gone.
  watch_.on_configured = nullptr;
}

void QuorumRun::say(const char *format, ...) {
  if (!is_verbose_) return;
  std::printf("# %10.3f ms  ", static_cast<double>(world_.now()) / 1e6);
  va_list arguments;
  va_start(arguments, format);
  std::vprintf(format, arguments);
  va_end(arguments);
  std::printf("\n");
}

void QuorumRun::wrong(const std::string &what) {
  say("WRONG: %s", what.c_str());
  if (wrong_.empty()) wrong_ = what + " at " + std::to_string(world_.now() / kMillisecond) + " ms";
}

void QuorumRun::add_process() {
  const int64_t ahead_us = swarm_.counters       ? kNoTime
                           : swarm_.wrong_clocks ? roll(20'000'000) - 10'000'000
                                                 : 0;
  processes_.push_back(
      std::make_unique<Process>(world_, "p" + std::to_string(processes_.size()), options_, ahead_us));
  Host &host = processes_.back()->host();
  if (swarm_.rates) host.set_rate(roll(9'000) - 4'500);
}

// As it is from the beginning of this life on.
void QuorumRun::set_network(Host &host) {
  for (const Node *node : nodes_) set_link(host, *node);
}

void QuorumRun::set_link(Host &host, const Node &node) {
  world_.link(host, node).breaks_one_in = swarm_.breaks_one_in;
  if (swarm_.delay_most_ms == 0) return;
  const Nanos most = (1 + roll(swarm_.delay_most_ms)) * kMillisecond;  // some are near, some far
  world_.link(host, node).set_delay(most / 4, most);
}

std::vector<size_t> QuorumRun::free_processes() const {
  std::vector<size_t> all;
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (!processes_[i]->host().is_killed() && !processes_[i]->host().is_paused()) all.push_back(i);
  }
  return all;
}

std::vector<std::string> QuorumRun::draw_keys() {
  const auto all = static_cast<int64_t>(swarm_.keys);
  std::set<std::string> keys{"k" + std::to_string(roll(all))};
  if (swarm_.many && one_in(4)) {
    for (int64_t more = 1 + roll(2); more > 0; --more) keys.insert("k" + std::to_string(roll(all)));
  }
  return {keys.begin(), keys.end()};
}

void QuorumRun::draw(AcquireParams &params) {
  const int64_t waits[] = {0, 0, 50, 1'000, 5'000}, ttls[] = {100, 200, 400, 1'000, 5'000};
  // One throw after the other: arguments are evaluated in an order that each compiler has for itself.
  const int64_t wait_ms = waits[roll(5)];
  const int64_t ttl_ms = std::min(ttls[roll(5)], swarm_.max_ttl_ms);
  params = waiting_ms(wait_ms, ttl_ms, !one_in(3));
  // Alike, so that one can have the other's.
  if (swarm_.front && !one_in(4)) params = waiting_ms(5'000, std::min<int64_t>(1'000, swarm_.max_ttl_ms));
  if (one_in(60)) {  // longer than it may be
    params.ttl = 3 * swarm_.max_ttl();
    params.renew = false;
  }
  if (one_in(10)) params.max_hold = 1'500 * kMillisecond;
  if (one_in(10)) params.min_remaining = 80 * kMillisecond;
  if (one_in(10)) params.queue_ttl = 300 * kMillisecond;
  if (swarm_.barges && one_in(3)) params.order = LIBLOCK_ORDER_ANY;
}

void QuorumRun::acquire() {
  const std::vector<size_t> able = free_processes();
  if (able.empty() || open_ >= swarm_.clients) return;
  const size_t at = able[static_cast<size_t>(roll(static_cast<int64_t>(able.size())))];
  AcquireParams params;
  draw(params);
  const std::vector<std::string> keys = draw_keys();
  std::string value, text;
  if (swarm_.values && one_in(2)) {
    if (keys.size() == 1) value = begin_value(keys.front());
    text = value.empty() ? "a value" : values_.at(value).newest;
    params.value = text;
  }
  want(at, keys, params, value);
}

Wanted &QuorumRun::want(size_t process, const std::vector<std::string> &keys, const AcquireParams &params,
                        const std::string &value) {
  Wanted &wanted = processes_[process]->acquire(keys, params);
  asked_.push_back({process, &wanted, keys, world_.now(), value});
  ++counters_["acquires"];
  ++open_;
  say("p%zu acquires %s…, ttl %lld, wait %lld", process, keys.front().c_str(),
      static_cast<long long>(params.ttl / kMillisecond), static_cast<long long>(params.wait / kMillisecond));
  Asked &asked = asked_.back();  // of a deque: stays where it is
  wanted.on_end = [this, &asked](Wanted &) { granted(asked); };
  return wanted;
}

// Many of one process want a key for a moment each.
void QuorumRun::crowd() {
  const std::vector<size_t> able = free_processes();
  if (able.empty() || open_ >= swarm_.clients + 12) return;
  const size_t at = able[static_cast<size_t>(roll(static_cast<int64_t>(able.size())))];
  const std::string key = "k" + std::to_string(roll(static_cast<int64_t>(swarm_.keys)));
  const AcquireParams params = waiting_ms(5'000, std::min<int64_t>(1'000, swarm_.max_ttl_ms), !one_in(3));
  for (int64_t more = 4 + roll(12); more > 0; --more) {
    const Nanos time = roll(20) * kMillisecond;
    Wanted &wanted = want(at, {key}, params, "");
    const auto noted = std::exchange(wanted.on_end, nullptr);
    wanted.on_end = [this, noted, time](Wanted &ended) {
      noted(ended);
      if (ended.is(Status::OK)) world_.after(time, [this, handle = &ended] { leave(*handle); });
    };
  }
}

void QuorumRun::leave(Wanted &wanted) {
  if (is_over_) return;
  const auto hold =
      std::find_if(holds_.begin(), holds_.end(), [&](const Hold &h) { return h.wanted == &wanted; });
  if (hold == holds_.end()) return;
  if (processes_[hold->process]->host().is_paused())
    return world_.after(20 * kMillisecond, [this, kept = &wanted] { leave(*kept); });
  give_back(static_cast<size_t>(hold - holds_.begin()));
}

bool QuorumRun::believes(const Hold &hold) const {
  const Process &process = *processes_[hold.process];
  return !const_cast<Process &>(process).host().is_killed() && process.holds(hold.wanted->grant().handle);
}

// When its attempt was sent at the earliest, in true time: by its host's clock, which may be a little wrong.
Nanos QuorumRun::asked_for(const Hold &hold, const Asked &asked) {
  liblock::quorum::Instance &instance = processes_[hold.process]->instance();
  const auto *held = instance.holds.find(hold.wanted->grant().handle);
  const auto lease = std::static_pointer_cast<GrantLease>(held->parts.front().lease);
  if (!lease->value.empty()) return asked.at;
  const Nanos ago = instance.clock.now() - lease->counts_from;
  return std::max(asked.at, world_.now() - ago - ago / 50 - kMillisecond);
}

// Runs inside the library, where nothing may be thrown: what is wrong is written down, and the life ends soon.
void QuorumRun::granted(const Asked &asked) {
  const liblock::Grant &grant = asked.wanted->grant();
  open_ -= open_ == 0 ? 0 : 1;
  ++counters_["ends_" + std::string(liblock::status_name(static_cast<liblock_status>(grant.status)))];
  if (grant.status != Status::OK) return;
  ++counters_["grants"];
  if (grant.waited > 0) ++counters_["grants_after_a_wait"];
  Hold hold{asked.process, asked.wanted, asked.keys, {}, grant.token, world_.now(), 0, world_.now()};
  hold.id = processes_[asked.process]->instance().holds.find(grant.handle)->parts.front().lease->id;
  // Whoever has it from another one of its process has it from now on; several may have had it at this very moment. Its
  // token was reserved when the first one asked: where nobody is alone, others may have got larger ones since.
  const auto [first, is_first] = ids_asked_.try_emplace(hold.id, 0);
  if (is_first) first->second = asked_for(hold, asked);
  hold.asked = is_first || swarm_.is_outside() ? first->second : world_.now() - 1;
  hold.value = asked.value;
  if (!hold.value.empty()) value_granted(hold.value, hold.id);
  say("p%zu has %s under %llu, %d of %d votes, id %.6s", asked.process, asked.keys.front().c_str(),
      static_cast<unsigned long long>(grant.token), grant.votes, grant.nodes, hold.id.c_str());
  if (!believes(hold)) wrong("p" + std::to_string(asked.process) + " is granted what is over");
  check_alone(hold);
  for (const std::string &key : hold.keys) check_token(hold, key);
  check_reserved(hold);
  if (one_in(12)) hold.keeps_until = world_.now() + 2 * world_.random.up_to(swarm_.max_ttl());
  holds_.push_back(std::move(hold));
}

void QuorumRun::check_alone(const Hold &hold) {
  if (is_taken(hold)) return;
  for (const Hold &other : holds_) {
    const bool shares = std::any_of(hold.keys.begin(), hold.keys.end(), [&](const std::string &key) {
      return std::find(other.keys.begin(), other.keys.end(), key) != other.keys.end();
    });
    if (!shares || is_taken(other) || !believes(other) || !believes(hold)) continue;
    ++counters_[swarm_.is_outside() ? "double_grants_outside" : "double_grants"];
    say("DOUBLE GRANT: p%zu has it since %.3f", other.process, static_cast<double>(other.from) / 1e6);
    if (!swarm_.is_outside())
      wrong("two at once: p" + std::to_string(other.process) + " and p" + std::to_string(hold.process) +
            " on " + hold.keys.front());
  }
}

void QuorumRun::check_token(const Hold &hold, const std::string &key) {
  uint64_t &largest = largest_[key];
  const bool rises = hold.token > largest;
  if (!rises && watch_.is_by_clock()) ++counters_["tokens_behind_by_clock"];
  // Where nobody may be alone, those who get it at once get their tokens in any order.
  if (!rises && !watch_.is_by_clock() && !swarm_.is_outside())
    wrong("p" + std::to_string(hold.process) + " has " + key + " under " + std::to_string(hold.token) +
          ", behind " + std::to_string(largest));
  largest = std::max(largest, hold.token);
}

// Whether nobody else could have this server's vote for the key now.
bool QuorumRun::is_reserved(Node &node, const std::string &key, const Hold &hold) {
  const auto mark = node.ask({"HMGET", "ll1:node", "who", "boot", "silent_until", "needs_floor"});
  if (mark.items.at(0).is_nil() || mark.items[3].is("1")) return true;
  const bool is_booted = !mark.items[1].is(node.server().run_id());
  if ((is_booted && !swarm_.trusts_disk) || std::stoll(mark.items[2].text) > node.clock_us()) return true;
  return node.ask({"GET", "liblock:" + key}).text.starts_with("ll1|" + hold.id);
}

// A lease never counts longer here than on a quorum.
void QuorumRun::check_reserved(const Hold &hold) {
  if (swarm_.is_outside() || is_taken(hold)) return;
  for (const std::string &key : hold.keys) {
    const auto reserved = std::count_if(voters_.begin(), voters_.end(),
                                        [&](Node *node) { return is_reserved(*node, key, hold); });
    const auto least = static_cast<long>(votes_ - (swarm_.evictions || swarm_.steps ? swarm_.liars() : 0));
    if (reserved >= least) continue;
    for (Node *node : nodes_)
      say("n%d has %s of %s", node->port(), node->ask({"GET", "liblock:" + key}).text.c_str(),
          node->ask({"HGET", "ll1:node", "who"}).text.c_str());
    wrong("p" + std::to_string(hold.process) + " believes in " + key + ", but only " +
          std::to_string(reserved) + " servers keep it for him");
  }
}

void QuorumRun::check_beliefs() {
  for (Hold &hold : holds_) {
    if (!believes(hold)) {
      hold.is_over = true;
    } else if (hold.is_over) {
      wrong("p" + std::to_string(hold.process) + " believes again in what was lost");
    } else {
      hold.believed_until = world_.now();
    }
  }
}

void QuorumRun::check_expiries() {
  if (!swarm_.steps && !watch_.carried_out_late().empty()) wrong(watch_.carried_out_late());
  for (Node *node : nodes_) {
    const auto all = node->ask({"SCAN", "0", "COUNT", "100000"});
    for (const auto &key : all.items.at(1).items) {
      if (key.text != "ll1:node" && node->ask({"PTTL", key.text}).integer == -1)
        wrong("a key without an expiry: " + key.text);
    }
  }
}

void QuorumRun::close_span(const Hold &hold) {
  auto &spans = watch_.is_by_clock() ? spans_by_clock_ : spans_;
  Nanos until = hold.believed_until;
  if (is_taken(hold)) until = std::clamp(takings_.at(hold.id).since, hold.from, until);
  for (const std::string &key : hold.keys)
    spans.push_back({key, "p" + std::to_string(hold.process) + "." + hold.id.substr(0, 6), hold.token,
                     hold.from, until, hold.asked});
}

// By somebody of that process.
bool QuorumRun::is_kept(size_t process, const std::string &id) const {
  for (size_t key = 0; key < swarm_.keys; ++key) {
    const auto leases = processes_[process]->instance().keeper.find("liblock:k" + std::to_string(key));
    if (std::any_of(leases.begin(), leases.end(), [&](const auto &lease) { return lease->id == id; }))
      return true;
  }
  return false;
}

void QuorumRun::follow(size_t process, const std::shared_ptr<Answered> &answered, const std::string &name,
                       const std::string &gives_back) {
  calls_.push_back({process, answered, name, gives_back});
}

void QuorumRun::ask(size_t process, const char *name, Ask::What what, const std::function<void(Ask &)> &fill,
                    const std::function<void(Question &)> &then) {
  const std::string called = name;
  const auto on_end = [this, called, then](Question &ended) {
    ++counters_[called + "_" + liblock::status_name(static_cast<liblock_status>(ended.status))];
    if (ended.ends > 1) wrong("a question ended twice: " + called);
    std::erase_if(questions_, [&](const Open &open) { return open.question == &ended; });
    then(ended);
  };
  questions_.push_back({process, &processes_[process]->question(what, fill, on_end), called});
}

void QuorumRun::count_ends() {
  std::erase_if(calls_, [&](const Call &call) {
    if (call.answered->times == 0) return false;
    // By now it was sent, and nothing of that lock can have been sent behind it.
    const Nanos late = 2 * options_.nodes.front().command_timeout + 50 * kMillisecond;
    if (!call.gives_back.empty() && !is_kept(call.process, call.gives_back))
      watch_.gave_back(call.gives_back, world_.now() + late);
    if (call.answered->times > 1) wrong("a call ended twice: " + call.name);
    ++counters_[call.name + "_" + liblock::status_name(static_cast<liblock_status>(call.answered->status))];
    return true;
  });
}

void QuorumRun::give_back(size_t index) {
  const Hold hold = holds_[index];
  holds_.erase(holds_.begin() + static_cast<ptrdiff_t>(index));
  close_span(hold);
  if (processes_[hold.process]->host().is_killed()) return;
  say("p%zu releases %s", hold.process, hold.keys.front().c_str());
  follow(hold.process, processes_[hold.process]->release(hold.wanted->grant().handle), "release", hold.id);
}

void QuorumRun::act_on(Hold &hold) {
  Process &process = *processes_[hold.process];
  const Handle handle = hold.wanted->grant().handle;
  const bool is_his = believes(hold);
  if (is_his) check_reserved(hold);
  // He writes; who has lost it may try as well, late.
  for (const std::string &key : hold.keys) {
    const bool accepted = resource_.accept(key, hold.token);
    ++counters_[accepted ? "writes" : "writes_refused"];
    if (!accepted && is_his && !is_taken(hold) && !swarm_.is_outside() && !watch_.is_by_clock())
      wrong("a holder's write is refused");
  }
  if (!hold.value.empty() && (is_his || one_in(8))) act_on_value(hold);
  if (!swarm_.extends || !one_in(4)) return;
  const int64_t ttl_ms = std::min(swarm_.max_ttl_ms, 50 + roll(2'000));
  const bool renews = one_in(3), adds = one_in(8);
  say("p%zu extends %s to %lld", hold.process, hold.keys.front().c_str(), static_cast<long long>(ttl_ms));
  follow(hold.process, process.extend(handle, ttl_ms, renews, adds), "extend");
}

void QuorumRun::cancel_one() {
  const Asked &asked = asked_[static_cast<size_t>(roll(static_cast<int64_t>(asked_.size())))];
  const Host &host = processes_[asked.process]->host();
  if (asked.wanted->ended() || host.is_paused() || host.is_killed()) return;
  say("p%zu cancels", asked.process);
  processes_[asked.process]->cancel(*asked.wanted);
}

void QuorumRun::act() {
  if (swarm_.front && one_in(6)) return crowd();
  const int64_t what = roll(10);
  if (what < 5) return acquire();
  if (what < 9 && !holds_.empty()) {
    const auto index = static_cast<size_t>(roll(static_cast<int64_t>(holds_.size())));
    const Host &host = processes_[holds_[index].process]->host();
    if (host.is_killed()) return give_back(index);
    if (host.is_paused()) return;
    act_on(holds_[index]);
    return world_.now() >= holds_[index].keeps_until && one_in(2) ? give_back(index) : void();
  }
  if (what == 9 && !asked_.empty() && one_in(2)) cancel_one();
}

std::string QuorumRun::run(int64_t ms) {
  say("%s", story().c_str());
  const Nanos until = world_.now() + ms * kMillisecond;
  Nanos next_fault = world_.now(), next_look = 0;
  while (world_.now() < until && wrong_.empty()) {
    world_.run_for(roll(swarm_.act_gap_ms) * kMillisecond);
    check_beliefs();
    count_ends();
    act();
    if (world_.now() >= next_look) {
      check_expiries();
      next_look = world_.now() + 1'000 * kMillisecond;
    }
    if (swarm_.changes && world_.now() >= next_change_) change_nodes();
    if (world_.now() < next_fault) continue;
    befall();
    next_fault = world_.now() + roll(2 * swarm_.fault_gap_ms) * kMillisecond;
  }
  if (wrong_.empty()) finish();
  if (wrong_.empty()) judge_spans();
  if (wrong_.empty()) judge_values();
  add_counts();
  if (!wrong_.empty()) wrong_ += " (" + story() + ")";
  return wrong_;
}

}  // namespace unit
