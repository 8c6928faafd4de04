// SPDX-License-Identifier: MIT
// The way between one host and one node, and what can go wrong on it alone: each direction can be cut, slowed down
// or held up by itself, and its connections break. TCP loses no byte of a connection that lives, so nothing here
// does: what is cut or held up arrives later, whoever has given up meanwhile; loss is the end of a connection.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace liblock_test::sim {

using liblock::Nanos;

class Host;
class Wire;
class World;

enum class Way : uint8_t { ToHost, ToNode };
inline constexpr Way kBothWays[] = {Way::ToHost, Way::ToNode};

class Link {
 public:
  explicit Link(Host &host) : host_(host) {}

  // Nothing arrives that way any more, and nobody is told; what was sent arrives when it is mended. A connection
  // opens only where both ways are whole.
  void cut(Way way) { is_cut_[index(way)] = true; }
  void mend(Way way);
  void cut();
  void mend();
  bool is_cut(Way way) const { return is_cut_[index(way)]; }

  // How long bytes take, instead of what the world says.
  void set_delay(Way way, Nanos least, Nanos most) { delays_[index(way)] = {least, most}; }
  void set_delay(Nanos least, Nanos most);
  void set_delay_of_world() { set_delay(-1, -1); }
  // What is under way, and what is sent until then, on the connections that there are now, arrives no earlier than
  // after this time. Of requests: they are carried out long after their sender has closed the connection.
  void hold_up(Way way, Nanos time);

  // One in so many pieces that are sent breaks its connection; 0: none does.
  int64_t breaks_one_in = 0;
  // All connections end as by a reset: of what is under way to the node some, all or nothing arrives, and of the
  // answers nothing.
  void break_connections();
  // What is carried out from now on is not answered, on the connections that there are now.
  void lose_answers();

 private:
  friend class Host;
  friend class Wire;
  static size_t index(Way way) { return static_cast<size_t>(way); }
  Nanos delay(Way way) const;
  void hold(std::shared_ptr<Wire> wire, Way way) { held_.emplace_back(std::move(wire), way); }
  // What a cut has held up goes on, as far as nothing else holds it up.
  void resume();
  template <typename Do>
  void for_each_wire(Do what) const;

  Host &host_;
  bool is_cut_[2] = {false, false};
  std::pair<Nanos, Nanos> delays_[2] = {{-1, -1}, {-1, -1}};  // -1: as in the world
  std::vector<std::pair<std::shared_ptr<Wire>, Way>> held_;   // one for each piece, in their order
};

}  // namespace liblock_test::sim
