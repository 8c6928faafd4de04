// SPDX-License-Identifier: MIT
// One connection between a host and a node, as the host's stream of bytes. What each side has written arrives at
// the other in order, some time later; what the host had written before it closed still arrives.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <string>

#include "runtime/byte_stream.hpp"
#include "world.hpp"

namespace liblock_test::sim {

class Wire final : public liblock::ByteStream, public std::enable_shared_from_this<Wire> {
 public:
  Wire(Host &host, Listener &listener) : host_(host), listener_(&listener) {}

  void open(const liblock::StreamTarget &target) override;
  void request_fill() override { wants_fill_ = true; }
  void close() override;
  int descriptor() const override { return -1; }

  // What the host has to say, and what has arrived for it while it was paused. False: nothing.
  bool turn();
  bool is_closed() const { return listener_ == nullptr; }
  // Nothing is to be done for it by the host any more.
  bool is_done() const { return is_closed() && held_[0].empty() && held_[1].empty(); }
  // Both ends are told. delivers: what the host had written arrives nevertheless.
  void break_off(bool delivers);
  // The host is gone; what it had written may arrive nevertheless.
  void orphan(bool delivers);
  // The host can be reached again.
  void resume();

  // The node's side.
  void reply(const std::string &bytes);
  // What is answered from now on leaves no earlier than then.
  void hold_answers(Nanos until) { last_[0] = std::max(last_[0], until); }
  void end_by_node(const std::string &why);
  std::set<std::string> channels;
  bool answers_are_lost = false;  // from now on, on this connection

 private:
  struct Arrival {
    enum class Kind { Opened, Bytes, Ended } kind;
    std::string text;
  };
  void send_pieces(const std::string &bytes, bool to_node);
  void deliver(bool to_node, std::string piece);
  void arrive(Arrival arrival);
  Nanos next_arrival(bool to_node);

  Host &host_;
  Listener *listener_;  // nullptr: the host has closed it
  Node *node_ = nullptr;
  bool wants_fill_ = false;
  bool drops_requests_ = false;
  bool orphaned_ = false;
  bool node_ended_ = false;
  std::string requests_;             // at the node, not whole yet
  std::deque<Arrival> arrived_;      // at the host, not told yet
  std::deque<std::string> held_[2];  // by a cut: to the host, to the node
  Nanos last_[2] = {0, 0};           // arrival to the host, to the node
};

}  // namespace liblock_test::sim
