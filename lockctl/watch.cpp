// SPDX-License-Identifier: MIT
// `lockctl watch`: a line for each change of hands. One key is waited for by the library, which looks every 50 ms at
// least; all keys are listed every interval and compared. A server that does not answer is told once and waited for.
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

#include "commands.hpp"
#include "exit_code.hpp"
#include "snapshot.hpp"
#include "text.hpp"

namespace lockctl {
namespace {

constexpr int64_t kRetryMs = 200;
constexpr int64_t kLookAgainMs = 1000;  // a wait goes on in silence while the server is away; a look notices

class Watch {
 public:
  explicit Watch(const Arguments &arguments)
      : arguments_(arguments),
        context_(open_context(arguments.settings, false, &notice_)),
        end_ms_(arguments.watch.for_ms) {}

  int perform() {
    if (!notice_.empty()) say_what_may_be_missing(context_.get(), notice_);
    do {
      try {
        if (arguments_.watch.key.empty()) {
          look_at_all();
        } else {
          look_at_one();
        }
      } catch (const Failure &failure) {
        if (failure.code != kUnavailable) throw;
        if (is_reachable_) print("unreachable", "", failure.what());
        is_reachable_ = false;
        pause(kRetryMs);
      }
    } while (rest_ms() != 0);
    return has_answered_ ? kDone : kUnavailable;
  }

 private:
  using Clock = std::chrono::steady_clock;

  // Milliseconds until it is to end; -1 = never.
  int64_t rest_ms() const {
    if (end_ms_ < 0) return -1;
    const auto gone = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began_).count();
    return std::max<int64_t>(0, end_ms_ - gone);
  }

  int64_t upto_rest(int64_t ms) const { return rest_ms() < 0 ? ms : std::min(ms, rest_ms()); }
  void pause(int64_t ms) const { poll(nullptr, 0, static_cast<int>(upto_rest(ms))); }

  void note_answer() {
    if (!is_reachable_) print("answers", "", "the server answers again");
    is_reachable_ = has_answered_ = true;
  }

  void look_at_one() {
    const std::string &key = arguments_.watch.key;
    const Info info = inspect(context_.get(), key, false);
    note_answer();
    const KeyState now = info ? state_of(info.get()) : KeyState();
    if (!last_ || !is_same_hold(*last_, now)) tell(key, last_.value_or(KeyState()), now);
    last_ = now;
    const auto wait = now.is_held ? liblock_wait_released : liblock_wait_held;
    liblock_result result = LIBLOCK_RESULT_INIT;
    const liblock_status status =
        wait(context_.get(), key.data(), key.size(), upto_rest(kLookAgainMs), &result);
    if (status != LIBLOCK_TIMEOUT) expect(status, result, LIBLOCK_NOT_HELD);
  }

  void look_at_all() {
    const Snapshot now = take_snapshot(context_.get());
    note_answer();
    compare(all_, now, [this](const std::string &key, const KeyState &old, const KeyState &state) {
      if (!is_same_hold(old, state)) tell(key, old, state);
    });
    all_ = now;
    pause(arguments_.watch.interval_ms);
  }

  void tell(const std::string &key, const KeyState &old, const KeyState &now) const {
    if (!now.is_held) return print("free", key, old.is_held ? "was held by " + old.holder : "", &now);
    print("held", key, "by " + now.holder + ", token " + std::to_string(now.token), &now);
  }

  void print(const char *event, const std::string &key, const std::string &text,
             const KeyState *state = nullptr) const {
    const int64_t at_us = std::chrono::duration_cast<std::chrono::microseconds>(
                              std::chrono::system_clock::now().time_since_epoch())
                              .count();
    if (arguments_.settings.json) {
      Record record;
      record.set("at_us", at_us).set("event", std::string(event));
      if (state == nullptr) {
        record.set("message", text);
      } else {
        record.set("key", key);
        if (state->is_held) record.set("token", state->token).set("holder", state->holder);
      }
      std::puts(to_json(record).c_str());
    } else {
      const Colour colour = state == nullptr ? Colour::red : state->is_held ? Colour::yellow : Colour::green;
      std::string line = time_of_day(at_us) + " " + coloured(colour, event);
      if (!key.empty()) line += " " + printable(key);
      if (!text.empty()) line += "  " + text;
      std::puts(line.c_str());
    }
    std::fflush(stdout);
  }

  const Arguments &arguments_;
  std::string notice_;  // of a quorum that could not grant
  const Context context_;
  const int64_t end_ms_;
  const Clock::time_point began_ = Clock::now();
  std::optional<KeyState> last_;
  Snapshot all_;
  bool is_reachable_ = true, has_answered_ = false;
};

}  // namespace

int watch(const Arguments &arguments) { return Watch(arguments).perform(); }

}  // namespace lockctl
