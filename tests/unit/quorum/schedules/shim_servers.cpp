// SPDX-License-Identifier: MIT
// Shim servers under one time that only wait_ms() moves; each has an offset of its own.
#include <set>

#include "lua_shim/server.hpp"
#include "servers.hpp"

namespace schedules {

namespace {

namespace lua_shim = liblock_test::lua_shim;

struct Shim {
  explicit Shim(size_t number) : server(&clock_us, "n" + std::to_string(number)) {
    server.on_publish = [this](std::string_view channel, std::string_view) {
      return channels.contains(std::string(channel)) ? 1 : 0;
    };
  }
  int64_t clock_us = 1'700'000'000'000'000;
  std::set<std::string> channels;
  lua_shim::Server server;
  lua_shim::Server::Snapshot snapshot;
};

class ShimServers final : public Servers {
 public:
  void begin(size_t count) override {
    shims_.clear();
    for (size_t i = 0; i < count; ++i) shims_.push_back(std::make_unique<Shim>(i + 1));
  }
  Reply command(size_t node, const Words &words) override { return at(node).server.command(words); }
  std::string boot(size_t node) override { return at(node).server.run_id(); }
  void restart(size_t node, Data data) override {
    Shim &shim = at(node);
    shim.channels.clear();
    if (data == Data::Lost) return shim.server.wipe();
    shim.server.restart();
    if (data == Data::RolledBack) shim.server.load(shim.snapshot);
  }
  void take_snapshot(size_t node) override { at(node).snapshot = at(node).server.save(); }
  void set_out_of_memory(size_t node, bool is_out) override { at(node).server.out_of_memory = is_out; }
  void move_clock(size_t node, int64_t ms) override { at(node).clock_us += ms * 1'000; }
  void wait_ms(int64_t ms) override {
    now_ += ms * liblock::kMillisecond;
    for (const auto &shim : shims_) shim->clock_us += ms * 1'000;
  }
  Nanos now() const override { return now_; }
  void subscribe(size_t node, const std::string &channel) override { at(node).channels.insert(channel); }
  bool is_real() const override { return false; }

 private:
  Shim &at(size_t node) { return *shims_.at(node); }

  Nanos now_ = 1'000 * liblock::kMillisecond;
  std::vector<std::unique_ptr<Shim>> shims_;
};

}  // namespace

std::unique_ptr<Servers> make_shim_servers() { return std::make_unique<ShimServers>(); }

}  // namespace schedules
