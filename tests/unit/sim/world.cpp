// SPDX-License-Identifier: MIT
// See world.hpp.
#include "world.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "host.hpp"
#include "node.hpp"

namespace liblock_test::sim {

World::World(uint64_t seed) : random(seed), kernel_random_(seed) {}

World::~World() = default;

Host &World::add_host(const std::string &name) {
  hosts_.push_back(std::make_shared<Host>(*this, name));
  return *hosts_.back();
}

Node &World::add_node(const std::string &name) {
  const auto port = static_cast<uint16_t>(nodes_.size() + 1);
  nodes_.push_back(std::make_unique<Node>(*this, name, port));
  by_port_.push_back(nodes_.back().get());
  return *nodes_.back();
}

Node *World::node_at(uint16_t port) {
  return port >= 1 && port <= by_port_.size() ? by_port_[port - 1] : nullptr;
}

void World::redirect(const Node &from, Node &to) { by_port_[from.port() - 1] = &to; }

Link &World::link(Host &host, const Node &node) { return host.link_to(node); }

void World::turn_hosts() {
  for (size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i]->has_to_turn()) hosts_[i]->turn();
  }
}

Nanos World::next_wake() const {
  Nanos next = happenings_.earliest();
  for (const auto &host : hosts_) next = std::min(next, host->next_wake());
  return next;
}

void World::move_to(Nanos time) {
  if (time <= now_) return;
  now_ = time;
  for (const auto &host : hosts_) host->show_time();
}

bool World::step(Nanos until) {
  turn_hosts();
  const Nanos next = next_wake();
  if (next > until) return false;
  move_to(next);
  trace.add(static_cast<uint64_t>(now_));
  if (happenings_.earliest() <= now_) happenings_.run_first();
  turn_hosts();
  return true;
}

void World::run_for(Nanos time) {
  const Nanos until = now_ + time;
  while (step(until)) {}
  move_to(until);
  turn_hosts();
}

bool World::run_until(const std::function<bool()> &holds, int64_t ms_max) {
  const Nanos until = now_ + ms_max * kMillisecond;
  turn_hosts();
  while (!holds()) {
    if (step(until)) continue;
    move_to(until);
    turn_hosts();
    return holds();
  }
  return true;
}

}  // namespace liblock_test::sim
