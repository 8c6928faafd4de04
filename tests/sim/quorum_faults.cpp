// SPDX-License-Identifier: MIT
// See quorum_run.hpp. What befalls servers, processes and the network between them.
#include <algorithm>

#include "quorum_run.hpp"

namespace unit {

using liblock_test::sim::Way;

// Whether something was asked that has not ended: a fault that finds nothing under way proves little.
bool QuorumRun::is_in_flight() const {
  const Nanos lately = world_.now() - 2 * swarm_.time_out_ms * kMillisecond;
  const auto is_open = [&](const Asked &asked) { return asked.at > lately && !asked.wanted->ended(); };
  const size_t last = std::min<size_t>(asked_.size(), 20);
  return std::any_of(asked_.end() - static_cast<ptrdiff_t>(last), asked_.end(), is_open) ||
         std::any_of(calls_.begin(), calls_.end(),
                     [](const Call &call) { return call.answered->times == 0; });
}

void QuorumRun::fault(const char *name) {
  ++counters_["faults"];
  ++counters_[std::string("fault_") + name];
  if (is_in_flight()) ++counters_["faults_in_flight"];
  say("FAULT: %s %s", name, cause_.c_str());
}

void QuorumRun::crash(Node &node, Node::Data data, Nanos time) {
  if (!node.is_up()) return;
  const char *const names[] = {"restart", "loss", "rollback"};
  fault(names[static_cast<size_t>(data)]);
  if (data != Node::Data::Kept) ++counters_["restarts_with_loss"];
  node.stop(data);
  // Who does not trust its disk has forgotten by any restart, as far as anybody can tell.
  if (data != Node::Data::Kept || !swarm_.trusts_disk) watch_.forgot(node);
  world_.after(time / 4, [&node] { node.start(); });
}

// Others must not have lied within the lease that this could touch.
bool QuorumRun::may_lie(const Node &node) {
  if (swarm_.liars() == 0) return true;  // outside of the model
  const Nanos window = swarm_.max_ttl() * 11 / 10 + 1'000 * kMillisecond;
  size_t others = 0;
  for (const auto &[other, at] : lied_at_) others += other != &node && world_.now() - at < window ? 1 : 0;
  if (others >= swarm_.liars()) return false;
  lied_at_[&node] = world_.now();
  return true;
}

bool QuorumRun::befall_node(Node &node, Nanos time) {
  using Data = Node::Data;
  const auto does = [&](bool is, auto what) {
    if (is) what();
    return is;
  };
  const int64_t kind = roll(13);
  const bool forgets = kind <= 5 || kind == 7 || (kind == 10 && swarm_.evictions);
  if (forgets && swarm_.spares_tokens && watch_.is_last_to_know(node)) return false;
  switch (kind) {
    case 0:
      return does(swarm_.restarts, [&] { crash(node, Data::Kept, time); });
    case 1:
    case 2:
      return does(swarm_.losses, [&] { crash(node, Data::Lost, time); });
    case 3:
    case 4:
      return does(swarm_.rollbacks, [&] { crash(node, Data::RolledBack, time); });
    case 5:
      return does(swarm_.flushes, [&] {
        fault("flush");
        node.flush_data();
        watch_.forgot(node);
      });
    case 6:
      return does(swarm_.script_flushes, [&] {
        fault("script_flush");
        node.flush_scripts();
      });
    case 7:
      return does(swarm_.replacements && node.is_up(), [&] {
        fault("replacement");
        node.become_another(one_in(2) || swarm_.trusts_disk || swarm_.changes
                                ? nullptr
                                : nodes_[static_cast<size_t>(roll(static_cast<int64_t>(nodes_.size())))]);
        watch_.forgot(node);
      });
    case 8:
      return does(swarm_.replicas, [&] {
        fault("replica");
        node.set_replica(true);
        node.end_connections(false);
        world_.after(time, [&node] {
          node.set_replica(false);
          node.end_connections(false);
        });
      });
    case 9:
      return does(swarm_.freezes, [&] {
        fault("freeze");
        node.freeze();
        world_.after(time, [&node] { node.thaw(); });
      });
    case 10:
      return forgets_unseen(node);
    case 11:
      return does(swarm_.fences, [&] {  // as an hour later
        fault("fence_expired");
        const std::string lock = "liblock:k" + std::to_string(roll(static_cast<int64_t>(swarm_.keys)));
        if (node.ask({"EXISTS", lock}).is(int64_t{0})) node.ask({"DEL", "ll1:f:{" + lock + "}"});
      });
    default:
      return does(swarm_.deaf || swarm_.silent, [&] {
        fault(swarm_.deaf ? "deaf" : "silent");
        swarm_.deaf ? node.end_connections(one_in(2)) : node.lose_answers();
      });
  }
}

bool QuorumRun::forgets_unseen(Node &node) {
  const bool evicts = swarm_.evictions && (!swarm_.steps || one_in(2));
  if (!evicts && !swarm_.steps) return false;
  if (!may_lie(node)) return false;
  if (evicts) {
    fault("eviction");
    if (one_in(2)) {
      node.ask({"DEL", "liblock:k" + std::to_string(roll(static_cast<int64_t>(swarm_.keys)))});
    } else if (node.evict_any() == "ll1:node") {
      watch_.forgot(node);
    }
  } else {
    const int64_t ms = roll(4'000) - 2'000;
    fault(ms > 0 ? "step_ahead" : "step_back");
    node.step_clock_ms(ms);
  }
  return true;
}

bool QuorumRun::befall_host(Host &host, Nanos time) {
  if (host.is_killed() || host.is_paused()) return false;
  switch (roll(4)) {
    case 0:
      if (!swarm_.pauses) return false;
      fault("pause");
      host.pause();
      world_.after(time, [&host] { host.is_killed() ? void() : host.go_on(); });
      return true;
    case 1:
      if (!swarm_.suspends) return false;
      fault("suspend");
      host.suspend();
      world_.after(time, [&host] { host.is_killed() ? void() : host.go_on(); });
      return true;
    case 2:
      if (!swarm_.kills || free_processes().size() <= 2) return false;
      fault("kill");
      host.kill();
      open_ = static_cast<size_t>(std::count_if(asked_.begin(), asked_.end(), [&](const Asked &asked) {
        return !asked.wanted->ended() && !processes_[asked.process]->host().is_killed();
      }));
      return true;
    default:
      if (!swarm_.arrivals || processes_.size() >= 10) return false;
      fault("arrival");
      add_process();
      set_network(processes_.back()->host());
      return true;
  }
}

bool QuorumRun::befall_link(Host &host, Node &node, Nanos time) {
  if (host.is_killed()) return false;
  liblock_test::sim::Link &link = world_.link(host, node);
  const Way way = one_in(2) ? Way::ToHost : Way::ToNode;
  const int64_t what = roll(6);
  const bool is_on[] = {swarm_.cuts,   swarm_.half_cuts, swarm_.hold_ups,
                        swarm_.breaks, swarm_.lossy,     swarm_.rings};
  if (!is_on[what]) return false;
  const char *const names[] = {"cut", "half_cut", "hold_up", "break", "lossy", "ring"};
  fault(names[what]);
  if (what == 0 && one_in(3)) {
    host.cut();
    world_.after(time, [&host] { host.is_killed() ? void() : host.mend(); });
  } else if (what == 0) {
    link.cut();
    world_.after(time, [&link] { link.mend(); });
  } else if (what == 1) {
    link.cut(way);
    world_.after(time, [&link, way] { link.mend(way); });
  } else if (what == 2) {
    link.hold_up(way, time);
  } else if (what == 3) {
    one_in(2) ? host.break_connections() : link.break_connections();
  } else if (what == 4) {
    link.breaks_one_in = 2 + roll(5);
    world_.after(time, [this, &link] { link.breaks_one_in = swarm_.breaks_one_in; });
  } else {
    ring(time);
  }
  return true;
}

// Each process reaches a majority, and each another one.
void QuorumRun::ring(Nanos time) {
  const size_t reached = nodes_.size() / 2 + 1;
  for (size_t p = 0; p < processes_.size(); ++p) {
    for (size_t i = reached; i < nodes_.size(); ++i) {
      liblock_test::sim::Link &link = world_.link(processes_[p]->host(), *nodes_[(p + i) % nodes_.size()]);
      link.cut();
      world_.after(time, [&link] { link.mend(); });
    }
  }
}

// One fault, of those that this life knows.
void QuorumRun::befall() {
  for (int tries = 0; tries < 8; ++tries) {
    const auto p = static_cast<size_t>(roll(static_cast<int64_t>(processes_.size())));
    const auto n = static_cast<size_t>(roll(static_cast<int64_t>(nodes_.size())));
    const Nanos time = (1 + roll(one_in(6) ? 5'000 : 400)) * kMillisecond;
    const int64_t what = roll(3);
    cause_ = what == 0 ? "n" + std::to_string(n + 1) : "p" + std::to_string(p) + " n" + std::to_string(n + 1);
    Host &host = processes_[p]->host();
    const bool did = what == 0   ? befall_node(*nodes_[n], time)
                     : what == 1 ? befall_host(host, time)
                                 : befall_link(host, *nodes_[n], time);
    if (did) return;
  }
}

void QuorumRun::heal() {
  for (Node *node : nodes_) {
    node->start();
    node->thaw();
    // Who was brought here with another node's data is refused until somebody sees to it.
    const std::string who = node->ask({"HGET", "ll1:node", "who"}).text;
    if (!swarm_.changes && !who.empty() && !who.ends_with("|n" + std::to_string(node->port())))
      node->flush_data();
    node->set_replica(false);
    node->end_connections(false);
  }
  world_.delay_most = kMillisecond;
  for (const auto &process : processes_) {
    if (process->host().is_killed()) continue;
    process->host().mend_if_alive();
    for (const Node *node : nodes_) {
      liblock_test::sim::Link &link = world_.link(process->host(), *node);
      link.breaks_one_in = 0;
      link.set_delay_of_world();
      link.mend();
    }
  }
}

}  // namespace unit
