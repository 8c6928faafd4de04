// SPDX-License-Identifier: MIT
// Very many acquires of one process at once in a simulated world, whose servers take a while over each request. What is
// asked of them stands here once, for one server and for a quorum.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "sim/process.hpp"

namespace unit {

template <typename Process>
struct Burst {
  Burst(World &world, Process &process, std::vector<Node *> servers)
      : world_(world), process_(process), servers_(std::move(servers)) {}

  void servers_take(Nanos time) {
    for (Node *server : servers_) server->set_work(time);
  }
  void acquire(size_t count, const AcquireParams &how = waiting_ms(60'000)) {
    for (size_t i = 0; i < count; ++i) wanted.push_back(&process_.acquire({"k" + std::to_string(i)}, how));
  }
  size_t count(Status status) const {
    return static_cast<size_t>(
        std::count_if(wanted.begin(), wanted.end(), [&](const auto *one) { return one->is(status); }));
  }
  bool all_ended() const {
    return std::all_of(wanted.begin(), wanted.end(), [](const auto *one) { return one->ended(); });
  }
  uint64_t greetings() const {
    uint64_t count = 0;
    for (const Node *server : servers_) count += server->count("info");
    return count;
  }
  uint64_t calls() const { return servers_.front()->script_calls(); }

  void is_granted(size_t count_of_it, int64_t most_ms, const AcquireParams &how = waiting_ms(60'000)) {
    acquire(count_of_it, how);
    EXPECT(world_.run_until([&] { return all_ended(); }, most_ms));
    EXPECT(count(Status::OK) == count_of_it);
  }
  // The last one waits for longer than a server may take to answer, and none of them is lost meanwhile.
  void is_served_over_one_connection(size_t count_of_it, int64_t most_ms, bool renews = true) {
    process_.take("first");  // all connections are made with it
    world_.run_ms(100);
    const uint64_t before = greetings();
    is_granted(count_of_it, most_ms, waiting_ms(60'000, 30'000, renews));
    EXPECT(greetings() == before);
    for (const auto *one : wanted) EXPECT(one->losses == 0 && process_.holds(one->grant().handle));
  }
  // Whose lease is a fraction of what the rest takes.
  void keeps_who_holds_a_lock(size_t count_of_it, int64_t ttl_ms, int64_t for_ms) {
    auto &held = process_.take("held", waiting_ms(0, ttl_ms));
    acquire(count_of_it);
    for (int64_t ms = 0; ms < for_ms; ms += 50) {
      world_.run_ms(50);
      EXPECT(held.losses == 0 && process_.holds(held.grant().handle));
    }
    EXPECT(!all_ended());
    end_all(Status::CANCELED);
  }
  void end_all(Status status) {
    for (auto *one : wanted) {
      if (!one->ended()) process_.cancel(*one, status);
    }
    world_.run_ms(5);
    EXPECT(all_ended());
  }
  // Those who were not asked for yet are not asked for any more.
  void ends_without_a_word(Status status, uint64_t calls_most, int64_t pause_ms) {
    EXPECT(all_ended());
    EXPECT(count(Status::OK) + count(status) == wanted.size() && count(status) > wanted.size() / 2);
    world_.run_ms(pause_ms);
    EXPECT(calls() <= calls_most);
  }

  std::vector<typename Process::Wanted *> wanted;

 private:
  World &world_;
  Process &process_;
  const std::vector<Node *> servers_;
};

}  // namespace unit
