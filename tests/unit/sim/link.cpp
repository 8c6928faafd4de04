// SPDX-License-Identifier: MIT
// See link.hpp.
#include "link.hpp"

#include "host.hpp"
#include "wire.hpp"
#include "world.hpp"

namespace liblock_test::sim {

template <typename Do>
void Link::for_each_wire(Do what) const {
  for (const std::shared_ptr<Wire> &wire : host_.wires_) {
    if (wire->link() == this) what(*wire);
  }
}

void Link::cut() {
  for (const Way way : kBothWays) cut(way);
}

void Link::mend() {
  for (const Way way : kBothWays) is_cut_[index(way)] = false;
  resume();
}

void Link::mend(Way way) {
  is_cut_[index(way)] = false;
  resume();
}

void Link::resume() {
  for (const auto &[wire, way] : std::exchange(held_, {})) wire->due(way);
}

void Link::set_delay(Nanos least, Nanos most) {
  for (const Way way : kBothWays) set_delay(way, least, most);
}

Nanos Link::delay(Way way) const {
  const auto &[least, most] = delays_[index(way)];
  return least < 0 ? host_.world().delay() : least + host_.world().random.up_to(most - least);
}

void Link::hold_up(Way way, Nanos time) {
  for_each_wire([&](Wire &wire) { wire.hold_up(way, host_.world().now() + time); });
}

void Link::break_connections() {
  for_each_wire([](Wire &wire) { wire.break_anyhow(); });
}

void Link::lose_answers() {
  for_each_wire([](Wire &wire) { wire.answers_are_lost = true; });
}

}  // namespace liblock_test::sim
