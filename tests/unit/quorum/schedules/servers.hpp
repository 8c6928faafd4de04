// SPDX-License-Identifier: MIT
// The nodes of a schedule: shim servers whose clocks are moved by hand, or real redis-servers, whose clocks are the
// computer's. Nodes are numbered from 0.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "lua_shim/reply.hpp"

namespace schedules {

using liblock::Nanos;
using liblock_test::lua_shim::Reply;
using Words = std::vector<std::string>;

class Servers {
 public:
  enum class Data : uint8_t { Kept, Lost, RolledBack };

  virtual ~Servers() = default;
  // Empty servers, so many, as if nothing had happened to any.
  virtual void begin(size_t count) = 0;
  virtual Reply command(size_t node, const Words &words) = 0;
  // The run id of its process.
  virtual std::string boot(size_t node) = 0;
  virtual void restart(size_t node, Data data) = 0;
  virtual void take_snapshot(size_t node) = 0;
  virtual void set_out_of_memory(size_t node, bool is_out) = 0;
  // Only where clocks are moved by hand.
  virtual void move_clock(size_t node, int64_t ms) = 0;
  virtual void wait_ms(int64_t ms) = 0;
  // Of clients.
  virtual Nanos now() const = 0;
  // Until its restart.
  virtual void subscribe(size_t node, const std::string &channel) = 0;
  virtual bool is_real() const = 0;
};

std::unique_ptr<Servers> make_shim_servers();
std::unique_ptr<Servers> make_real_servers();

}  // namespace schedules
