// SPDX-License-Identifier: MIT
// Servers that never vote and are told what the nodes have agreed on: who writes feeds them, some changes at a time, a
// moment after a quorum has them; what they miss they learn by the next renewal. What several writers tell of one lock
// may arrive in any order: scripts/observe.lua puts it right. A server that has become a node is told nothing, by
// whatever name it was an observer: what it is told would take the place of its votes. Loop thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "quorum/grant_lease.hpp"
#include "quorum/node_figures.hpp"
#include "redis/link.hpp"

namespace liblock::quorum {

class Instance;
class KeyVotes;

class Observer final : private Link::User {
 public:
  Observer(Instance &instance, const ConnectionOptions &options);
  bool is_up() const { return link.is_connected() && !is_node(); }
  // It is one of the configuration's, by whatever name.
  bool is_node() const;
  const std::string address;
  std::string why() const;
  const std::shared_ptr<NodeFigures> figures = std::make_shared<NodeFigures>();
  Link link;

 private:
  void on_connected(const ServerInfo &info, bool another) override;
  void on_disconnected(Status status, const std::string &text) override;
  void on_listening() override {}
  void on_message(Bytes) override {}
  bool needs_server() override;
  bool needs_messages() override { return false; }

  Instance &instance_;
  std::string why_;
  std::string boot_;
};

class Observers final : private Timer {
 public:
  explicit Observers(Instance &instance) : instance_(instance) {}
  ~Observers() override;

  // Those that the caller has named: until the configuration has any.
  void start(const std::vector<ConnectionOptions> &named);
  // How these are reached, where the configuration has them.
  void know(const std::vector<ConnectionOptions> &named);
  // Those of a configuration; of those that the caller has named none that is a node of it.
  void follow(const Configuration &configuration);
  const std::vector<std::unique_ptr<Observer>> &all() const { return observers_; }

  // A quorum has it so; one key of it, or all that are held.
  void held(const GrantLease &lease);
  void released(const GrantLease &lease, const LockKeys &lock_keys);
  // Of anybody's lock, by its attempt: no quorum has it any more; its value or its end is another one.
  void taken_away(Bytes lock_key, Bytes id);
  void changed(Bytes lock_key, Bytes id);
  void stop();

 private:
  class FeedCall;
  // Those that are fed from now on, by their addresses; those that stay keep their connections.
  void set(const std::vector<ConnectionOptions> &named);
  struct Change {
    std::string id, record, metadata;
    uint64_t token = 0;
    Nanos ends_at = 0;
    Nanos since = 0;
  };
  using Place = std::pair<std::string, std::string>;
  void note(Place place, Change change);
  void look();
  void seen(const Place &place, const KeyVotes &key, Nanos asked_at);
  void fire(Nanos now) override;

  Instance &instance_;
  std::vector<std::unique_ptr<Observer>> observers_;
  std::vector<std::unique_ptr<Observer>> gone_;  // reads may still mean to ask them
  std::map<std::string, ConnectionOptions> known_;
  std::vector<ConnectionOptions> wanted_;  // those that are no nodes are fed
  bool has_followed_ = false;
  // By lock key: the last of each. Of what others hold, behind it, by lock key and attempt.
  std::map<Place, Change> changes_;
  std::map<std::string, std::string>
      looks_;  // attempts by lock keys: what a quorum says of them is to be told
};

}  // namespace liblock::quorum
