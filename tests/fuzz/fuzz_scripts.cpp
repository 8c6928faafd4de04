// SPDX-License-Identifier: MIT
// The scripts of one server in any order, with any time in between, told to a server in memory: clients that acquire,
// stay, extend, release and leave, administrators, foreign clients, a server that forgets. Whatever comes: no script
// fails by itself, nothing stays without an expiry, a queue and its entries agree, who is told that he has the lock
// has it and nobody had it before, and tokens rise. Two bytes are a step.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "base/assert.hpp"
#include "lua_shim/server.hpp"
#include "redis/scripts.hpp"

using liblock_test::lua_shim::Reply;
using Words = std::vector<std::string>;
namespace scripts = liblock::scripts;

namespace {

constexpr const char *kLock = "liblock:k";
const Words kNames = {kLock, "fence", "queue", "entries", "anyone", "metadata", "gap"};
constexpr size_t kClients = 6, kStepsMax = 300;
constexpr int64_t kMillisecondUs = 1'000;

class Life {
 public:
  Life() {
    server_.on_publish = [this](std::string_view, std::string_view) { return is_deaf_ ? 0 : 1; };
    server_.on_numsub = [this](std::string_view) { return is_deaf_ ? 0 : 1; };
  }

  void step(uint8_t what, uint8_t how) {
    const size_t who = how % kClients;
    const uint8_t more = how / kClients;
    switch (what % 16) {
      case 0:
      case 1:
      case 2:
      case 3:
        return acquire(who, more);
      case 4:
      case 5:
        return release(who, more % 2 == 1);
      case 6:
        return stay(who);
      case 7:
        return static_cast<void>(run(scripts::extend, {kLock, "metadata"},
                                     {soon(), "1", lease(more), more % 2 == 0 ? "set" : "renew",
                                      number(++changes_), "ll1|" + ids_[who]}));
      case 8:
        return static_cast<void>(run(scripts::force_release, kNames, {more % 2 == 0 ? "0" : "1", ""}));
      case 9:
        return static_cast<void>(
            run(scripts::by_value, kNames, {more % 2 == 0 ? "update" : "release", "v", "w"}));
      case 10:
        if (more % 2 == 0) return pass_on(who);
        return static_cast<void>(run(scripts::update, {kLock}, {number(++changes_), "v", ids_[who]}));
      case 11:
        return look();
      case 12:
        return pass(int64_t{1} << (how % 16));
      case 13:
        return foreign(how);
      case 14:
        is_deaf_ = !is_deaf_;
        return;
      default:
        return trouble(how);
    }
  }

  void check() {
    for (const char *key : {kLock, "queue", "entries", "anyone", "metadata", "gap", "fence"})
      LIBLOCK_ASSERT(ask({"PTTL", key}).integer != -1);
    // Beside those of waiters there are fields of instances and of the time.
    int64_t entries = 0;
    for (const Reply &field : ask({"HKEYS", "entries"}).items)
      entries += field.text.size() == ids_[0].size() ? 1 : 0;
    LIBLOCK_ASSERT(ask({"ZCARD", "queue"}).integer == entries);
    const std::string token = token_of(holder());
    if (!token.empty()) rises(std::stoull(token), true);
  }

 private:
  static std::string number(uint32_t value) {
    char text[9];
    std::snprintf(text, sizeof text, "%08x", value);
    return text;
  }
  std::string soon() const { return std::to_string(now_us_ + 1'000'000); }
  static std::string lease(uint8_t more) { return std::to_string(50 << more % 12); }
  Reply ask(const Words &words) { return server_.command(words); }
  std::string holder() { return ask({"GET", kLock}).text; }
  bool has(size_t who) { return holder().starts_with("ll1|" + ids_[who]); }

  // The fourth field of a record of ours.
  static std::string token_of(const std::string &record) {
    if (!record.starts_with("ll1|")) return {};
    size_t at = 0;
    for (int field = 0; field < 3; ++field) at = record.find('|', at) + 1;
    return record.substr(at, record.find('|', at) - at);
  }

  void rises(uint64_t token, bool may_stay) {
    LIBLOCK_ASSERT(forgot_ || token > last_token_ || (may_stay && token == last_token_));
    last_token_ = token;
    forgot_ = false;
  }

  // A script has errors of its own for what others did to its keys, and none else.
  Reply run(const liblock::Script &script, const Words &keys, const Words &arguments) {
    Reply reply = server_.eval(script.body, keys, arguments);
    if (reply.is_error()) LIBLOCK_ASSERT(reply.is_error("WRONGTYPE") && is_broken_);
    return reply;
  }

  void acquire(size_t who, uint8_t more) {
    static const char *const kModes[] = {"queue", "try", "any", "barge", "queue", "queue"};
    static const char *const kOrders[] = {"0", "1", "2"};
    const bool had = has(who);
    const bool was_free = holder().empty();
    // A request asks in one way for as long as it lives: who has a place in the queue does not go past it.
    const bool has_place = !ask({"ZSCORE", "queue", ids_[who]}).text.empty();
    const std::string wanted = kModes[more % 6];
    const std::string mode = has_place && (wanted == "any" || wanted == "barge") ? "queue" : wanted;
    const std::string rest = mode + " 3000 " + (more % 3 == 0 ? "1" : "0") + " 3000 " + kOrders[more % 3] + " " +
                             std::to_string(more) + " 0 0 0 " + std::to_string(++attempts_) + " " +
                             (more % 5 == 0 ? "1" : "0") + " " + (waits_[who] ? "1" : "0") + " 1 " +
                             (more % 2 == 0 ? "1" : "0") + " 0 0";
    Words arguments = {ids_[who], "owner|i" + std::to_string(who % 3), soon(), lease(more),
                       more % 4 == 0 ? "256" : "1", "v", rest};
    // Who asks in no special way leaves it out.
    const bool has_metadata = more % 7 == 0;
    if (has_metadata || waits_[who] || mode == "any" || more % 11 == 0)
      arguments.push_back(has_metadata ? "1:a1:b" : "");
    const Reply reply = run(scripts::acquire, kNames, arguments);
    if (reply.is_error()) return;
    const std::string answer = reply.items.empty() ? "OK" : reply.items[0].text;
    LIBLOCK_ASSERT(answer == "OK" || answer == "BUSY" || answer == "LATE");
    LIBLOCK_ASSERT((answer == "OK") == has(who));
    waits_[who] = answer == "BUSY" && mode == "queue";
    if (answer == "OK") LIBLOCK_ASSERT(had || was_free);
  }

  void release(size_t who, bool leaves) {
    const bool had = has(who);
    Words arguments = {"100", ids_[who]};
    if (leaves) arguments.push_back("1");
    const Reply reply = run(scripts::release, kNames, arguments);
    if (reply.is_error()) return;
    const bool is_freed = reply.items.empty() || reply.items[1].integer == 1;
    LIBLOCK_ASSERT(is_freed == had && !has(who));
    if (leaves) waits_[who] = false;
  }

  void stay(size_t who) {
    static_cast<void>(
        run(scripts::stay, kNames,
            {soon(), "i" + std::to_string(who % 3), "3000", "1", is_deaf_ ? "0" : "1", "1", ids_[who]}));
  }

  // Its holder goes on under another token, of those that were reserved for it.
  void pass_on(size_t who) {
    const std::string token = has(who) ? token_of(holder()) : "1";
    const std::string next = std::to_string(std::stoull(token) + 1);
    const Reply reply = run(scripts::pass_on, {kLock, "fence", "queue"},
                            {ids_[who], next, "owner", "i" + std::to_string(who % 3), "256", "2"});
    if (!reply.is_error()) LIBLOCK_ASSERT((reply.items[1].integer == 1) == has(who));
  }

  void look() {
    const Reply seen = run(scripts::inspect, {kLock, "anyone", "queue", "metadata"}, {"3"});
    LIBLOCK_ASSERT(seen.is_error() || (seen.items.size() == 2 && seen.items[1].items.size() == 7));
    LIBLOCK_ASSERT(run(scripts::queue, {"queue", "entries"}, {"0", "10"}).items.size() >= 2 || is_broken_);
  }

  void pass(int64_t ms) {
    now_us_ += ms * kMillisecondUs;
    // A fence may be forgotten once it has outlived its last grant by a day; the clock is ahead of its tokens then.
  }

  // Foreign clients take and give back as they do; some write what is no lock.
  void foreign(uint8_t how) {
    if (how % 4 == 0) {
      ask({"SET", kLock, "foreign", "NX", "PX", std::to_string(1 + how)});
    } else if (how % 4 == 1) {
      ask({"DEL", kLock});
    } else if (how % 4 == 2 && holder().empty()) {
      ask({"HSET", kLock, "field", "value"});
      ask({"PEXPIRE", kLock, "100"});
      is_broken_ = true;
    }
  }

  void trouble(uint8_t how) {
    switch (how % 3) {
      case 0:
        ask({"SCRIPT", "FLUSH"});
        return;
      case 1:
        server_.wipe();
        forgot_ = true;
        return;
      default:
        server_.restart();
    }
  }

  int64_t now_us_ = 1'700'000'000'000'000;
  liblock_test::lua_shim::Server server_{&now_us_};
  std::vector<std::string> ids_ = [] {
    std::vector<std::string> ids;
    for (size_t n = 0; n < kClients; ++n) ids.push_back(std::string(31, '0') + static_cast<char>('1' + n));
    return ids;
  }();
  bool waits_[kClients] = {};
  bool is_deaf_ = false, is_broken_ = false, forgot_ = true;
  uint64_t last_token_ = 0;
  uint32_t changes_ = 0, attempts_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Life life;
  for (size_t at = 0; at + 1 < size && at < 2 * kStepsMax; at += 2) {
    life.step(data[at], data[at + 1]);
    life.check();
  }
  return 0;
}
