// SPDX-License-Identifier: MIT
// See world.hpp.
#include "world.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "host.hpp"
#include "node.hpp"

namespace liblock_test::sim {

World::World(uint64_t seed) : random(seed) {}

World::~World() = default;

void World::at(Nanos when, std::function<void()> what) {
  events_.emplace(std::pair(std::max(when, now_), events_made_++), std::move(what));
}

Host &World::add_host(const std::string &name) {
  hosts_.push_back(std::make_shared<Host>(*this, name));
  return *hosts_.back();
}

Node &World::add_node(const std::string &name) {
  const auto port = static_cast<uint16_t>(nodes_.size() + 1);
  nodes_.push_back(std::make_unique<Node>(*this, name, port));
  return *nodes_.back();
}

Node *World::node_at(uint16_t port) {
  return port >= 1 && port <= nodes_.size() ? nodes_[port - 1].get() : nullptr;
}

void World::turn_hosts() {
  for (const auto &host : hosts_) host->turn();
}

Nanos World::next_wake() const {
  Nanos next = events_.empty() ? liblock::kNever : events_.begin()->first.first;
  for (const auto &host : hosts_) next = std::min(next, host->next_wake());
  return next;
}

bool World::step(Nanos until) {
  turn_hosts();
  const Nanos next = next_wake();
  if (next > until) return false;
  now_ = std::max(now_, next);
  if (!events_.empty() && events_.begin()->first.first <= now_) {
    const auto event = events_.extract(events_.begin());
    event.mapped()();
  }
  turn_hosts();
  return true;
}

void World::run_for(Nanos time) {
  const Nanos until = now_ + time;
  while (step(until)) {}
  now_ = until;
  turn_hosts();
}

bool World::run_until(const std::function<bool()> &holds, int64_t ms_max) {
  const Nanos until = now_ + ms_max * kMillisecond;
  turn_hosts();
  while (!holds()) {
    if (step(until)) continue;
    now_ = until;
    turn_hosts();
    return holds();
  }
  return true;
}

}  // namespace liblock_test::sim
