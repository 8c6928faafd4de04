// SPDX-License-Identifier: MIT
// See quorum_run.hpp. The faults are over: everything must end, everybody must get the lock, and little may stay.
#include <algorithm>

#include "quorum_run.hpp"

namespace unit {

void QuorumRun::finish() {
  world_.run_ms(5'100);  // the last fault is over
  swarm_.steps ? world_.run_for(swarm_.max_ttl()) : void();
  heal();
  give_all_back();
  // The silence of the last restart, and the longest lease and wait of then.
  world_.run_for(swarm_.max_ttl() * 21 / 10 + 2'000 * kMillisecond);
  open_forgotten_anew();  // what it asked for may wait for as long as it takes
  world_.run_until(
      [&] {
        return std::all_of(asked_.begin(), asked_.end(),
                           [&](const Asked &asked) {
                             return asked.wanted->ended() || processes_[asked.process]->host().is_killed();
                           }) &&
               std::all_of(questions_.begin(), questions_.end(),
                           [&](const Open &open) { return processes_[open.process]->host().is_killed(); });
      },
      10'000);
  count_ends();
  for (const Asked &asked : asked_) {
    if (processes_[asked.process]->host().is_killed()) continue;
    if (!asked.wanted->ended()) wrong("a request of p" + std::to_string(asked.process) + " never ends");
    if (asked.wanted->losses > 1) wrong("a loss was told twice");
    counters_["losses_told"] += static_cast<uint64_t>(asked.wanted->losses);
  }
  for (const Call &call : calls_) {
    if (!processes_[call.process]->host().is_killed()) wrong("a call never ends: " + call.name);
  }
  for (const Open &open : questions_) {
    if (!processes_[open.process]->host().is_killed()) wrong("a question never ends: " + open.name);
  }
  if (wrong_.empty()) finish_change();
  if (wrong_.empty()) everybody_gets_it();
  if (wrong_.empty()) nothing_stays_unheard_of();
  if (wrong_.empty()) the_next_gets_it();
  if (wrong_.empty()) check_rest();
}

void QuorumRun::give_all_back() {
  say("the faults are over");
  while (!holds_.empty()) give_back(holds_.size() - 1);
  for (const Asked &asked : asked_) {
    // What is granted now goes back at once.
    Process *process = processes_[asked.process].get();
    const Asked *of = &asked;
    asked.wanted->on_end = [this, process, of](Wanted &ended) {
      granted(*of);
      if (ended.grant().status != Status::OK) return;
      close_span(holds_.back());
      holds_.pop_back();
      process->release(ended.grant().handle);
    };
  }
}

void QuorumRun::everybody_gets_it() {
  for (size_t i = 0; i < processes_.size(); ++i) {
    Process &process = *processes_[i];
    if (process.host().is_killed()) continue;
    for (size_t key = 0; key < swarm_.keys; ++key) {
      const std::string name = "k" + std::to_string(key);
      Wanted &lock = process.acquire({name}, waiting_ms(5'000, swarm_.max_ttl_ms));
      asked_.push_back({i, &lock, {name}, world_.now()});
      Asked &asked = asked_.back();
      lock.on_end = [this, &asked](Wanted &) { granted(asked); };
      world_.run_until([&] { return lock.ended(); }, 6'000);
      if (!lock.is(Status::OK))
        return wrong("p" + std::to_string(i) + " does not get " + name +
                     " in peace: " + liblock::status_name(static_cast<liblock_status>(lock.grant().status)) +
                     ", " + process.instance().last_trouble());
      const auto released = process.release(lock.grant().handle);
      close_span(holds_.back());
      holds_.pop_back();
      world_.run_ms(20);
      if (!released->is(Status::OK)) wrong("a release in peace is not confirmed");
      for (Node *node : nodes_) {
        if (!node->ask({"EXISTS", "liblock:" + name}).is(int64_t{0}))
          wrong(name + " was released and is there");
      }
    }
  }
}

// One holds it and dies, one who waits dies as well: all others get it, one after the other.
void QuorumRun::the_next_gets_it() {
  const std::vector<size_t> alive = free_processes();
  if (alive.size() < 4) return;
  const int64_t lease_ms = std::min<int64_t>(swarm_.max_ttl_ms, 800);
  Wanted &held = processes_[alive[0]]->acquire({"k0"}, waiting_ms(5'000, lease_ms, false));
  world_.run_until([&] { return held.ended(); }, 6'000);
  std::vector<Wanted *> waiting;
  for (size_t i = 1; i < alive.size(); ++i) {
    Process &process = *processes_[alive[i]];
    waiting.push_back(&process.acquire({"k0"}, waiting_ms(15'000, swarm_.max_ttl_ms)));
    world_.run_ms(3);
    waiting.back()->on_end = [&process](Wanted &ended) {
      if (ended.is(Status::OK)) process.release(ended.grant().handle);
    };
  }
  world_.run_ms(20);
  processes_[alive[0]]->host().kill();
  processes_[alive[1]]->host().kill();
  waiting.erase(waiting.begin());
  const Nanos begun = world_.now();
  world_.run_until(
      [&] { return std::all_of(waiting.begin(), waiting.end(), [](auto *w) { return w->ended(); }); },
      16'000);
  for (size_t i = 0; i < waiting.size(); ++i) {
    waiting[i]->on_end = nullptr;
    if (waiting[i]->is(Status::OK)) continue;
    wrong("p" + std::to_string(alive[i + 2]) + " waits behind the dead and does not get it: " +
          processes_[alive[i + 2]]->instance().last_trouble());
  }
  const Nanos most = (lease_ms + 2 * swarm_.alive_ms + 2'000) * kMillisecond;
  if (world_.now() - begun > most)
    wrong("the dead held it up for " + std::to_string((world_.now() - begun) / kMillisecond) + " ms");
}

// A request that comes late, on a connection that has ended: what it is granted is undone, long before its lease ends.
void QuorumRun::nothing_stays_unheard_of() {
  const Nanos time_out = options_.nodes.front().command_timeout;
  const std::vector<size_t> alive = free_processes();
  // Contexts ask for as many as in the beginning, where there are so many.
  const bool needs_all = votes_ == voters_.size() || (swarm_.asks_more && swarm_.votes >= voters_.size());
  if (alive.empty() || needs_all || swarm_.max_ttl() < 6 * time_out) return;
  Process &process = *processes_[alive.back()];
  Node &late = *voters_[static_cast<size_t>(roll(static_cast<int64_t>(voters_.size())))];
  world_.link(process.host(), late).hold_up(liblock_test::sim::Way::ToNode, time_out + time_out / 5);
  Wanted &lock = process.acquire({"k0"}, without_waiting(swarm_.max_ttl_ms, false));
  world_.run_ms(20);
  if (!lock.is(Status::OK))
    return wrong("a lock is not granted without one server: " + process.instance().last_trouble());
  world_.run_for(time_out);  // its connection is given up, and what went over it arrives nevertheless
  process.release(lock.grant().handle);
  world_.run_for(4 * time_out);
  for (Node *node : nodes_) {
    if (!node->ask({"EXISTS", "liblock:k0"}).is(int64_t{0})) wrong("what came late stays there");
  }
}

void QuorumRun::check_rest() {
  world_.run_for(std::max(swarm_.max_ttl(), swarm_.alive_ms * kMillisecond) + 100 * kMillisecond);
  check_expiries();
  for (Node *node : voters_) {
    const auto all = node->ask({"SCAN", "0", "COUNT", "100000"});
    for (const auto &key : all.items.at(1).items) {
      const bool stays =
          key.text == "ll1:node" || key.text.starts_with("ll1:f:") || key.text.starts_with("ll1:p:");
      if (!stays) wrong(key.text + " is left behind");
    }
  }
  for (const auto &process : processes_) {
    if (process->host().is_killed()) continue;
    if (!process->instance().cleaner.empty()) wrong("the cleaner never comes to its end");
    if (!process->instance().keeper.empty()) wrong("a lease is kept that nobody holds");
  }
}

void QuorumRun::judge_spans() {
  for (const Hold &hold : holds_) close_span(hold);
  for (const std::string &bad : liblock_test::bad_tokens(spans_)) {
    ++counters_["bad_tokens"];
    wrong(bad);
  }
  counters_["bad_tokens_by_clock"] += liblock_test::bad_tokens(spans_by_clock_).size();
  std::vector<liblock_test::Span> all = spans_;
  all.insert(all.end(), spans_by_clock_.begin(), spans_by_clock_.end());
  for (const std::string &bad : liblock_test::overlaps(all)) {
    ++counters_[swarm_.is_outside() ? "overlaps_outside" : "overlaps"];
    if (!swarm_.is_outside()) wrong(bad);
  }
}

void QuorumRun::add_counts() {
  for (const auto &process : processes_) {
    const auto &of_quorum = process->instance().counts_quorum;
    const auto &common = process->instance().counts;
    const std::pair<const char *, uint64_t> all[] = {{"won_at_once", of_quorum.won_at_once},
                                                     {"won_by_raise", of_quorum.won_by_raise},
                                                     {"raises", of_quorum.raises},
                                                     {"floors", of_quorum.floors},
                                                     {"floors_by_clock", of_quorum.clock_derived},
                                                     {"quarantines_seen", of_quorum.quarantines},
                                                     {"steps_seen", of_quorum.steps},
                                                     {"surplus_grants", of_quorum.surplus},
                                                     {"kept_by_silent", of_quorum.kept_by_silent},
                                                     {"undone", of_quorum.undone},
                                                     {"undone_again", of_quorum.undone_again},
                                                     {"orphans_undone", of_quorum.orphans},
                                                     {"won_too_late", of_quorum.too_late},
                                                     {"lost_by_time", common.expired},
                                                     {"lost_by_taking", common.taken_away},
                                                     {"renewals", common.renewals},
                                                     {"passed_on", common.passed_on}};
    for (const auto &[name, value] : all) counters_[name] += value;
  }
  for (const Node *node : nodes_) {
    counters_["messages"] += node->messages;
    counters_["script_calls"] += node->script_calls();
  }
  counters_["simulated_ms"] += static_cast<uint64_t>(world_.now() / kMillisecond);
  ++counters_[swarm_.is_outside() ? "lives_outside" : "lives_inside"];
}

}  // namespace unit
