// SPDX-License-Identifier: MIT
// One connection between a host and a node, as the host's stream of bytes. What each side has written arrives at
// the other in order, some time later; what the host had written before it closed still arrives.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <string>

#include "link.hpp"
#include "runtime/byte_stream.hpp"

namespace liblock_test::sim {

class Node;

class Wire final : public liblock::ByteStream, public std::enable_shared_from_this<Wire> {
 public:
  Wire(Host &host, Listener &listener) : host_(host), listener_(&listener) {}

  void open(const liblock::StreamTarget &target) override;
  void request_fill() override;
  void close() override;

  // What the host has to say, and what has arrived for it while it was paused. False: nothing.
  bool turn();
  // Nothing is to be done for it by the host any more.
  bool is_closed() const { return listener_ == nullptr; }
  const Link *link() const { return link_; }
  // Both ends are told. What the host had written arrives nevertheless, as far as it comes until then.
  void break_off(Nanos requests_until);
  void break_anyhow();  // all of it arrives, or nothing, or what comes until some moment
  // The host is gone; what it had written may arrive nevertheless.
  void orphan(bool delivers);
  // The first piece of what is under way should arrive now.
  void due(Way way);
  // Nothing arrives before.
  void hold_up(Way way, Nanos until) { held_until_[index(way)] = until; }

  // The node's side.
  void reply(std::string bytes);
  // What is answered from now on leaves no earlier than then.
  void hold_answers(Nanos until);
  void end_by_node(const std::string &why);
  std::set<std::string, std::less<>> channels;
  bool answers_are_lost = false;  // from now on, on this connection

 private:
  struct Parcel {
    enum class Kind : uint8_t { Opened, Bytes, Ended } kind;
    std::string text;
  };
  static size_t index(Way way) { return static_cast<size_t>(way); }
  void try_to_open(Node *node);
  bool is_held(Way way) const;
  void send(Way way, Parcel parcel);
  void send_bytes(Way way, std::string bytes);
  void arrive_at_host(Parcel parcel);
  void arrive_at_node(Parcel parcel);
  Nanos next_arrival(Way way);

  Host &host_;
  Listener *listener_;    // nullptr: the host has closed it
  Link *link_ = nullptr;  // nullptr: nobody is there
  Node *node_ = nullptr;  // that has accepted it
  bool wants_fill_ = false;
  bool orphaned_ = false;
  bool node_ended_ = false;
  Nanos requests_until_ = liblock::kNever;  // what comes later to the node is lost
  std::string requests_;                    // at the node, not whole yet
  std::deque<Parcel> arrived_;              // at the host, not told yet
  std::deque<Parcel> under_way_[2];         // each has one event, or one entry of those that a cut holds
  Nanos last_[2] = {0, 0};                  // arrival
  Nanos held_until_[2] = {0, 0};
};

}  // namespace liblock_test::sim
