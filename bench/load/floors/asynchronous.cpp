// SPDX-License-Identifier: MIT
// hiredis' asynchronous client on a libuv loop, with commands that are formatted beforehand, on one server or on
// several at once: then each pair sends its acquire to all, is granted with the answer that makes the majority, sends
// its release to all, and has ended with the majority of their answers, as the library's does. What the others answer
// comes later, and is looked at all the same: the next command goes out behind it on the same connection. That is a
// bare fan-out: no fencing, no clock, no undoing of what a minority granted.
#include <hiredis/adapters/libuv.h>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>

#include <deque>

#include "../window.hpp"
#include "address.hpp"
#include "commands.hpp"
#include "floors.hpp"

namespace liblock_bench {

namespace {

class FanOut {
 public:
  FanOut(const Settings &settings)
      : acquires_(read_commands(settings.text("acquires"), settings.count("depth", 64))),
        releases_(read_commands(settings.text("releases"), settings.count("depth", 64))),
        urls_(settings.list("url")),
        window_(settings) {
    settings.must_all_be_read();
    slots_.resize(settings.count("depth", 64));
  }

  void run(Figures &figures) {
    if (uv_loop_init(&loop_) != 0) Settings::fail("uv_loop_init");
    for (const auto &url : urls_) servers_.push_back(connect(url));
    for (size_t i = 0; i < slots_.size(); ++i) {
      slots_[i].fan_out = this;
      slots_[i].number = i;
      begin(slots_[i]);
    }
    while (!window_.is_over() || spare_.size() < asks_.size()) uv_run(&loop_, UV_RUN_ONCE);
    for (redisAsyncContext *server : servers_) redisAsyncDisconnect(server);
    uv_run(&loop_, UV_RUN_DEFAULT);
    window_.tell(figures);
    figures.set_latencies("acquire", acquired_);
    figures.set_latencies("pair", pairs_);
  }

 private:
  struct Slot {
    FanOut *fan_out = nullptr;
    size_t number = 0;
    int64_t began = 0;
  };
  // One command of a slot, until all servers have answered it.
  struct Ask {
    Slot *slot = nullptr;
    size_t answers = 0;
    bool releases = false;
  };

  redisAsyncContext *connect(const std::string &url) {
    const Address address = read_address(url);
    redisAsyncContext *server = address.port == 0 ? redisAsyncConnectUnix(address.place.c_str())
                                                  : redisAsyncConnect(address.place.c_str(), address.port);
    if (server == nullptr || server->err != 0) Settings::fail("hiredis cannot connect to " + url);
    if (redisLibuvAttach(server, &loop_) != REDIS_OK) Settings::fail("hiredis cannot be attached to a loop");
    return server;
  }

  void send(Slot &slot, bool releases) {
    const std::string &command = (releases ? releases_ : acquires_).all[slot.number];
    if (spare_.empty()) spare_.push_back(&asks_.emplace_back());
    Ask *const ask = spare_.back();
    spare_.pop_back();
    *ask = {&slot, 0, releases};
    for (redisAsyncContext *server : servers_)
      redisAsyncFormattedCommand(server, on_reply, ask, command.data(), command.size());
  }

  void begin(Slot &slot) {
    slot.began = now_ns();
    send(slot, false);
  }

  static void on_reply(redisAsyncContext *, void *reply, void *user_data) {
    Ask &ask = *static_cast<Ask *>(user_data);
    const auto *answer = static_cast<redisReply *>(reply);
    if (answer == nullptr) Settings::fail("a connection ended");
    // Of the commands that are used here none of success is an error, nil, or 0.
    if (answer->type == REDIS_REPLY_ERROR || answer->type == REDIS_REPLY_NIL ||
        (answer->type == REDIS_REPLY_INTEGER && answer->integer == 0))
      Settings::fail(std::string("refused: ") + (answer->str != nullptr ? answer->str : "nil"));
    ask.slot->fan_out->answered(ask);
  }

  void answered(Ask &ask) {
    Slot &slot = *ask.slot;
    const bool releases = ask.releases;
    const bool decides = ++ask.answers == servers_.size() / 2 + 1;
    if (ask.answers == servers_.size()) spare_.push_back(&ask);
    if (!decides) return;
    const int64_t now = now_ns();
    if (!releases) {
      if (window_.is_open()) acquired_.record(static_cast<uint64_t>(now - slot.began));
      return send(slot, true);
    }
    if (window_.ended(now)) pairs_.record(static_cast<uint64_t>(now - slot.began));
    if (!window_.is_over()) begin(slot);
  }

  const Commands acquires_, releases_;
  const std::vector<std::string> urls_;
  Window window_;
  uv_loop_t loop_{};
  std::vector<redisAsyncContext *> servers_;
  std::vector<Slot> slots_;
  std::deque<Ask> asks_;
  std::vector<Ask *> spare_;  // of asks_: nobody is to answer them any more
  Histogram acquired_, pairs_;
};

}  // namespace

void run_asynchronous(const Settings &settings, Figures &figures) { FanOut(settings).run(figures); }

}  // namespace liblock_bench
