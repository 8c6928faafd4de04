// SPDX-License-Identifier: MIT
// See random_run.hpp. Not among the faults: a server whose clock jumps ahead, since it ends leases early, which no
// client can know (docs/safety.md). A server that forgets takes mutual exclusion with it, and is only let loose where
// that is not asked for.
#include "random_run.hpp"

#include <algorithm>

// Inside the library nothing may be thrown: what is wrong is written down, and the run ends soon.
#define NOTE(condition) note((condition), #condition, __LINE__)

namespace unit {

Swarm::Swarm(liblock::Random &random) {
  const auto one_in = [&](int64_t n) { return random.up_to(n - 1) == 0; };
  const int64_t delays[] = {0, 1, 5, 40};
  delay_most_ms = delays[random.up_to(3)];
  for (bool *fault :
       {&pieces, &breaks,  &deaf,   &silent, &freezes, &cuts,      &pauses,   &kills, &restarts, &rates,
        &steps,  &foreign, &orders, &owners, &many,    &half_cuts, &hold_ups, &lossy, &suspends, &front})
    *fault = one_in(2);
  forgets = one_in(10);
  steps = steps && !forgets;  // no fence and an old clock: the tokens begin again
}

std::string Swarm::to_text() const {
  std::string text = "delays of " + std::to_string(delay_most_ms) + " ms";
  const auto add = [&](bool is, const char *name) { text += is ? std::string(", ") + name : std::string(); };
  add(pieces, "pieces"), add(breaks, "breaks"), add(deaf, "deaf"), add(silent, "silent"),
      add(freezes, "freezes");
  add(cuts, "cuts"), add(pauses, "pauses"), add(kills, "kills"), add(restarts, "restarts"),
      add(forgets, "forgets");
  add(rates, "rates"), add(steps, "steps"), add(foreign, "foreign"), add(orders, "orders"),
      add(owners, "owners");
  add(many, "many"), add(half_cuts, "half cuts"), add(hold_ups, "hold-ups"), add(lossy, "lossy"),
      add(suspends, "suspends"), add(front, "front");
  return text;
}

RandomRun::RandomRun(uint64_t seed) : world_(seed), swarm_(world_.random), node_(world_.add_node("server")) {
  world_.delay_least = 0;
  world_.delay_most = kMillisecond / 5 + swarm_.delay_most_ms * kMillisecond;
  if (swarm_.pieces) world_.piece_bytes_max = static_cast<size_t>(1 + roll(200));
  for (size_t i = 0; i < kProcesses; ++i) {
    liblock::InstanceOptions options;
    options.connection.command_timeout = (100 + roll(900)) * kMillisecond;
    options.connection.connect_timeout = (100 + roll(900)) * kMillisecond;
    options.first_lease = (300 + roll(2'700)) * kMillisecond;
    options.alive = (300 + roll(2'700)) * kMillisecond;
    // Three of them are longer than any lease here: with less, a flush ends leases early (docs/safety.md).
    options.zombie_interval = 7'000 * kMillisecond;
    if (swarm_.front) options.front_budget = roll(2) * roll(300) * kMillisecond;
    processes_.push_back(std::make_unique<Process>(world_, "p" + std::to_string(i), node_, options));
    if (swarm_.rates) processes_.back()->host().set_rate(roll(9'000) - 4'500);
    for (const char *name : {"first", "second"}) owners_.push_back(processes_.back()->owner(name));
  }
}

RandomRun::~RandomRun() {
  // What is asked still ends now, and tells nobody.
  for (const auto &[process, wanted] : asked_) wanted->on_end = nullptr;
}

uint64_t RandomRun::passed_on() const {
  uint64_t count = 0;
  for (const auto &process : processes_) count += process->instance().counts.passed_on.load();
  return count;
}

size_t RandomRun::alive() const {
  return static_cast<size_t>(std::count_if(processes_.begin(), processes_.end(),
                                           [](const auto &p) { return !p->host().is_killed(); }));
}

std::vector<std::string> RandomRun::draw_keys() {
  std::set<std::string> keys{"k" + std::to_string(roll(kKeys))};
  if (swarm_.many && roll(4) == 0) {
    for (int64_t more = 1 + roll(2); more > 0; --more) keys.insert("k" + std::to_string(roll(kKeys)));
  }
  return {keys.begin(), keys.end()};
}

bool RandomRun::believes(const Hold &hold) const {
  const Process &process = *processes_[hold.process];
  return !const_cast<Process &>(process).host().is_killed() && process.holds(hold.wanted->grant().handle);
}

void RandomRun::note(bool holds, const char *what, int line) {
  if (!holds && wrong_.empty()) wrong_ = std::to_string(line) + ": not true: " + what;
}

void RandomRun::acquire() {
  // With a front most come from one process, or somebody outside would always wait.
  const size_t draws = swarm_.front && roll(4) != 0 ? 1 : kProcesses;
  const auto at = static_cast<size_t>(roll(static_cast<int64_t>(draws)));
  Process &process = *processes_[at];
  if (process.host().is_killed() || process.host().is_paused()) return;
  const int64_t waits[] = {0, 0, 50, 1'000, 10'000};
  // Alike, so that one can have what the other had.
  const int64_t ttls[] = {100, 300, 1'000, 5'000, swarm_.front ? 5'000 : 20'000};
  // One throw after the other: arguments are evaluated in an order that each compiler has for itself.
  const int64_t wait_ms = waits[roll(5)];
  const int64_t ttl_ms = ttls[swarm_.front && roll(2) == 0 ? 4 : roll(5)];
  AcquireParams params = waiting_ms(wait_ms, ttl_ms, roll(3) != 0);
  if (swarm_.orders) {
    const int32_t orders[] = {LIBLOCK_ORDER_FIFO, LIBLOCK_ORDER_LIFO, LIBLOCK_ORDER_PRIORITY,
                              LIBLOCK_ORDER_ANY};
    params.order = orders[roll(4)];
    params.priority = static_cast<int32_t>(roll(5));
  }
  if (roll(8) == 0) params.max_hold = 1'500 * kMillisecond;
  if (roll(8) == 0) params.min_remaining = 80 * kMillisecond;
  if (roll(10) == 0) {
    params.replicas = 1;
    params.replicas_timeout = roll(300) * kMillisecond;
  }
  std::shared_ptr<liblock::RemoteOwner> owner;
  if (swarm_.owners && roll(3) == 0) {
    owner = owners_[2 * at + static_cast<size_t>(roll(2))];
    const int32_t conflicts[] = {LIBLOCK_ON_CONFLICT_REENTER, LIBLOCK_ON_CONFLICT_REENTER_EXTEND,
                                 LIBLOCK_ON_CONFLICT_FAIL};
    params.on_conflict = conflicts[roll(3)];
    params.on_deadlock = static_cast<int32_t>(roll(3));
  }
  const std::vector<std::string> keys = draw_keys();
  Wanted &wanted = process.acquire(keys, params, owner);
  asked_.emplace_back(at, &wanted);
  wanted.on_end = [this, at, keys, owner](Wanted &ended) {
    if (ended.grant().status == Status::OK) granted(at, ended, keys, owner.get());
  };
}

void RandomRun::granted(size_t at, Wanted &wanted, const std::vector<std::string> &keys,
                        const liblock::RemoteOwner *owner) {
  ++grants_;
  for (const std::string &key : keys) {
    for (const Hold &other : holds_) {
      const bool is_same = owner != nullptr && owner == other.owner;
      if (is_same || std::find(other.keys.begin(), other.keys.end(), key) == other.keys.end()) continue;
      NOTE(swarm_.forgets || !believes(other));
    }
    for (const Foreign &other : foreign_)
      NOTE(swarm_.forgets || other.key != key || world_.now() >= other.until);
    // What an owner holds already goes on under the token of his newest lock on it.
    auto &[largest, whose] = largest_[key];
    const bool is_his = owner != nullptr && owner == whose;
    const uint64_t token = wanted.grant().token;
    NOTE(swarm_.forgets || (is_his ? token >= largest : token > largest));
    largest = std::max(largest, token);
    whose = owner;
  }
  holds_.push_back({at, &wanted, keys, owner});
}

void RandomRun::act_on(Hold &hold, size_t index) {
  Process &process = *processes_[hold.process];
  if (process.host().is_killed() || process.host().is_paused()) return;
  const Handle handle = hold.wanted->grant().handle;
  if (believes(hold)) {
    const uint64_t token = process.instance().holds.view(handle).token;
    for (const std::string &key : hold.keys) NOTE(swarm_.forgets || resource_.accept(key, token));
    // A lease never counts for longer here than on the server.
    const Nanos left = process.instance().holds.view(handle).deadline - process.host().clock().now();
    for (const std::string &key : hold.keys) {
      const int64_t there = node_.ask({"PTTL", "liblock:" + key}).integer;
      NOTE(swarm_.forgets || there == -1 || left <= there * kMillisecond);
    }
  }
  const int64_t what = roll(8);
  if (what < 4) {
    process.release(handle);
    holds_.erase(holds_.begin() + static_cast<ptrdiff_t>(index));
  } else if (what == 4) {
    const int64_t ttl_ms = 100 + roll(5'000);
    process.extend(handle, ttl_ms, roll(2) == 0);
  }
}

void RandomRun::foreign_acts() {
  const std::string key = "k" + std::to_string(roll(kKeys));
  if (roll(2) == 0 && node_.is_up()) {
    const int64_t ttl_ms = 20 + roll(500);
    const std::string value = "theirs" + std::to_string(world_.now());
    if (node_.ask({"SET", "liblock:" + key, value, "NX", "PX", std::to_string(ttl_ms)}).is_ok()) {
      for (const Hold &hold : holds_) {
        const bool has = std::find(hold.keys.begin(), hold.keys.end(), key) != hold.keys.end();
        NOTE(swarm_.forgets || !has || !believes(hold));
      }
      foreign_.push_back({key, value, world_.now() + ttl_ms * kMillisecond});
    }
  } else if (!foreign_.empty()) {
    const Foreign last = foreign_.back();
    foreign_.pop_back();
    if (node_.ask({"GET", "liblock:" + last.key}).is(last.value)) node_.ask({"DEL", "liblock:" + last.key});
  }
}

void RandomRun::act() {
  const int64_t what = roll(10);
  if (what < 4) return acquire();
  if (what < 8 && !holds_.empty()) {
    const auto index = static_cast<size_t>(roll(static_cast<int64_t>(holds_.size())));
    return act_on(holds_[index], index);
  }
  if (what == 8 && !asked_.empty()) {
    const auto &[at, wanted] = asked_[static_cast<size_t>(roll(static_cast<int64_t>(asked_.size())))];
    if (!wanted->ended() && !processes_[at]->host().is_paused()) processes_[at]->cancel(*wanted);
    return;
  }
  if (swarm_.foreign && roll(4) == 0) foreign_acts();
}

// One fault, of those that this seed knows.
void RandomRun::befall() {
  Host &host = processes_[static_cast<size_t>(roll(kProcesses))]->host();
  const Nanos time = (1 + roll(roll(4) == 0 ? 5'000 : 300)) * kMillisecond;
  const int64_t what = roll(14);
  if (what == 0 && swarm_.breaks) host.break_connections();
  if (what == 1 && swarm_.deaf) node_.end_connections(true);
  if (what == 2 && swarm_.silent) node_.lose_answers();
  if (what == 3 && swarm_.freezes) {
    node_.freeze();
    world_.after(time, [this] { node_.thaw(); });
  }
  if (what == 4 && swarm_.cuts && !host.is_killed()) {
    host.cut();
    world_.after(time, [&host] { host.mend_if_alive(); });
  }
  if (what == 5 && swarm_.pauses && !host.is_killed()) {
    host.pause();
    world_.after(time, [&host] { host.mend_if_alive(); });
  }
  if (what == 6 && swarm_.kills && alive() > 2) host.kill();
  if (what == 7 && swarm_.restarts) {
    node_.stop(Node::Data::Kept);
    world_.after(time / 4, [this] { node_.start(); });
  }
  if (what == 8 && swarm_.forgets) {
    node_.stop(Node::Data::Lost);
    world_.after(time / 4, [this] { node_.start(); });
  }
  if (what == 9 && swarm_.steps) node_.step_clock_ms(-roll(3'000));
  if (what == 10 && swarm_.suspends && !host.is_killed()) {
    host.suspend();
    world_.after(time, [&host] { host.mend_if_alive(); });
  }
  if (what > 10) befall_link(host, time);
}

void RandomRun::befall_link(Host &host, Nanos time) {
  liblock_test::sim::Link &link = world_.link(host, node_);
  const auto way = roll(2) == 0 ? liblock_test::sim::Way::ToHost : liblock_test::sim::Way::ToNode;
  const int64_t what = roll(3);
  if (what == 0 && swarm_.half_cuts) {
    link.cut(way);
    world_.after(time, [&link, way] { link.mend(way); });
  }
  if (what == 1 && swarm_.hold_ups) link.hold_up(way, time);
  if (what == 2 && swarm_.lossy) {
    link.breaks_one_in = 1 + roll(30);
    world_.after(time, [&link] { link.breaks_one_in = 0; });
  }
}

void RandomRun::run(int64_t ms) {
  const Nanos until = world_.now() + ms * kMillisecond;
  Nanos next_fault = 0;
  while (world_.now() < until && wrong_.empty()) {
    world_.run_for(roll(10) * kMillisecond);
    act();
    if (world_.now() < next_fault) continue;
    befall();
    next_fault = world_.now() + roll(400) * kMillisecond;
  }
  if (!wrong_.empty()) throw Failure{wrong_};
}

void RandomRun::finish() {
  world_.run_ms(6'000);  // the last faults are over
  for (const auto &process : processes_) process->host().mend_if_alive();
  for (const Hold &hold : holds_) {
    if (!processes_[hold.process]->host().is_killed())
      processes_[hold.process]->release(hold.wanted->grant().handle);
  }
  holds_.clear();
  // What is granted now goes back at once.
  for (const auto &[at, wanted] : asked_) {
    Process *process = processes_[at].get();
    wanted->on_end = [process](Wanted &ended) {
      if (ended.grant().status == Status::OK) process->release(ended.grant().handle);
    };
  }
  world_.run_ms(45'000);  // the longest wait, and the longest lease of the dead
  for (const auto &[at, wanted] : asked_) {
    EXPECT(wanted->ended() || processes_[at]->host().is_killed());
    EXPECT(wanted->losses <= 1);
  }
  for (size_t key = 0; key < kKeys; ++key) {
    const std::string lock_key = "liblock:k" + std::to_string(key);
    std::vector<std::string> names{"EXISTS", lock_key};
    for (const char side : {'q', 'e', 'w', 'm'})
      names.push_back(std::string("ll1:") + side + ":{" + lock_key + "}");
    EXPECT(node_.ask(names).is(0));
    EXPECT(node_.ask({"PTTL", "ll1:f:{" + lock_key + "}"}).integer != -1);
  }
  for (const auto &process : processes_) {
    if (process->host().is_killed()) continue;
    EXPECT(process->instance().cleaner.empty() && process->instance().keeper.empty());
    Wanted &lock = process->take("k0");
    process->release(lock.grant().handle);
  }
  world_.run_ms(100);
}

}  // namespace unit
