// SPDX-License-Identifier: MIT
// Real redis-servers, started when a schedule first needs so many and emptied for each.
#include <chrono>
#include <stdexcept>
#include <thread>

#include "../unit/quorum/schedules/servers.hpp"
#include "redis_process.hpp"

namespace schedules {

namespace {

using liblock_test::RedisProcess;

class RealServers final : public Servers {
 public:
  void begin(size_t count) override {
    while (all_.size() < count) all_.push_back(std::make_unique<RedisProcess>());
    for (size_t i = 0; i < count; ++i) {
      expect_ok(i, {"ACL", "SETUSER", "default", "resetkeys", "~*"});
      expect_ok(i, {"CONFIG", "SET", "maxmemory", "0"});
      expect_ok(i, {"FLUSHALL"});
      all_[i]->unsubscribe();
    }
  }
  Reply command(size_t node, const Words &words) override { return at(node).command(words); }
  std::string boot(size_t node) override {
    const std::string info = command(node, {"INFO", "server"}).text;
    const size_t from = info.find("run_id:");
    if (from == std::string::npos) throw std::runtime_error("INFO has no run_id");
    return info.substr(from + 7, 40);
  }
  void restart(size_t node, Data data) override {
    at(node).restart(data == Data::Kept   ? RedisProcess::Data::Kept
                     : data == Data::Lost ? RedisProcess::Data::Lost
                                          : RedisProcess::Data::RolledBack);
  }
  void take_snapshot(size_t node) override { at(node).take_snapshot(); }
  void set_out_of_memory(size_t node, bool is_out) override {
    expect_ok(node, {"CONFIG", "SET", "maxmemory", is_out ? "1" : "0"});
  }
  void move_clock(size_t, int64_t) override { throw std::runtime_error("the clock of a real server stays"); }
  void wait_ms(int64_t ms) override { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
  Nanos now() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  void subscribe(size_t node, const std::string &channel) override { at(node).subscribe(channel); }
  bool is_real() const override { return true; }

 private:
  RedisProcess &at(size_t node) { return *all_.at(node); }
  void expect_ok(size_t node, const Words &words) {
    const Reply reply = command(node, words);
    if (!reply.is_ok()) throw std::runtime_error(words.front() + ": " + reply.to_text());
  }

  std::vector<std::unique_ptr<RedisProcess>> all_;
};

}  // namespace

std::unique_ptr<Servers> make_real_servers() { return std::make_unique<RealServers>(); }

}  // namespace schedules
