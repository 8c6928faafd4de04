// SPDX-License-Identifier: MIT
// `lockctl top`: looks at all keys every interval, and shows them on a screen, or prints each look where there is none.
// Rates are of changes that two looks can tell apart: a key that went through many hands in between counts once.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

#include "child.hpp"
#include "commands.hpp"
#include "credentials.hpp"
#include "exit_code.hpp"
#include "screen.hpp"
#include "text.hpp"
#include "view.hpp"

namespace lockctl {
namespace {

constexpr size_t kQueuesLookedAt = 20;  // whose waiters are counted one by one: the longest
constexpr size_t kKeysToldMax = 1000;   // of a line of JSON
constexpr int64_t kFrameMs = 100;       // between two looks at the size of the terminal

using Clock = std::chrono::steady_clock;

class Top {
 public:
  explicit Top(const Arguments &arguments)
      : arguments_(arguments), context_(open_context(arguments.settings, false, &notice_)) {
    view_.url = printable(without_password(arguments.settings.url));
  }

  int perform() {
    const bool is_shown =
        !arguments_.settings.json && is_terminal(STDOUT_FILENO) && is_terminal(STDIN_FILENO);
    if (is_shown) screen_.emplace();
    int64_t rounds = arguments_.top.rounds;
    if (rounds < 0 && !is_shown && !arguments_.settings.json) rounds = 1;
    for (int64_t n = 0; n != rounds; n++) {
      look();
      if (!is_shown) print();
      if (n + 1 == rounds) break;
      if (!rest()) break;
    }
    return view_.trouble.empty() ? kDone : kUnavailable;
  }

 private:
  void look() {
    const auto now = Clock::now();
    try {
      Snapshot keys = take_snapshot(context_.get());
      const double seconds = looked_at_ ? std::chrono::duration<double>(now - *looked_at_).count() : 0;
      const Changes changes =
          compare(view_.keys, keys, [](const std::string &, const KeyState &, const KeyState &) {});
      view_.granted_per_s = seconds > 0 ? double(changes.granted) / seconds : 0;
      view_.ended_per_s = seconds > 0 ? double(changes.ended) / seconds : 0;
      view_.keys = std::move(keys);
      count();
      view_.trouble.clear();
      view_.missing = why_none_is_granted(context_.get(), looked_at_ ? "" : notice_);
      looked_at_ = now;
    } catch (const Failure &failure) {
      // What was seen last stays; a server that never answered is a mistake of the caller's.
      if (failure.code != kUnavailable || !looked_at_) throw;
      view_.trouble = failure.what();
      view_.granted_per_s = view_.ended_per_s = 0;
    }
    view_.at_us = std::chrono::duration_cast<std::chrono::microseconds>(
                      std::chrono::system_clock::now().time_since_epoch())
                      .count();
  }

  void count() {
    std::vector<const Snapshot::value_type *> queues;
    view_.locks = view_.waiters = 0;
    view_.waits = {};
    for (const auto &entry : view_.keys) {
      view_.locks += entry.second.is_held;
      view_.waiters += entry.second.waiters;
      if (entry.second.waiters > 0) queues.push_back(&entry);
    }
    view_.queues = queues.size();
    const auto longer = [](const auto *a, const auto *b) { return a->second.waiters > b->second.waiters; };
    const size_t looked_at = std::min(queues.size(), kQueuesLookedAt);
    std::partial_sort(queues.begin(), queues.begin() + static_cast<ptrdiff_t>(looked_at), queues.end(),
                      longer);
    for (size_t n = 0; n < looked_at; n++) {
      const Info info = inspect(context_.get(), queues[n]->first, true);
      for (size_t place = 0; place < liblock_info_waiter_count(info.get()); place++) {
        const int64_t waited_ms = liblock_info_waiter_waited_ms(info.get(), place);
        if (waited_ms >= 0) view_.waits[wait_bucket(waited_ms)]++;
      }
    }
  }

  void print() const {
    if (arguments_.settings.json) {
      std::puts(to_json(record_of(view_, kKeysToldMax)).c_str());
    } else {
      auto lines = lines_of(view_, sort_, 0, 200, kHeadingLine + 2 + view_.keys.size());
      lines.pop_back();  // keys to press
      for (const auto &line : lines) std::puts(line.c_str());
    }
    std::fflush(stdout);
  }

  void draw() {
    const Size size = terminal_size();
    first_ = view_.keys.empty() ? 0 : std::min(first_, view_.keys.size() - 1);
    screen_->draw(lines_of(view_, sort_, first_, size.columns, size.rows), kHeadingLine);
  }

  // Until the next look; false = somebody wants to leave.
  bool rest() {
    const auto end = Clock::now() + std::chrono::milliseconds(arguments_.top.interval_ms);
    while (Clock::now() < end) {
      if (screen_) draw();
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count() + 1;
      std::array<pollfd, 2> news = {pollfd{signals_.descriptor(), POLLIN, 0},
                                    pollfd{STDIN_FILENO, POLLIN, 0}};
      poll(news.data(), screen_ ? 2 : 1, static_cast<int>(std::min<int64_t>(kFrameMs, left)));
      if (!take_signals()) return false;
      if (screen_ && !take_keys()) return false;
    }
    return true;
  }

  bool take_signals() {
    for (int signal = signals_.next(); signal != 0; signal = signals_.next()) {
      if (signal == SIGTSTP) {
        if (screen_) screen_->give_back();
        // By the same signal, or a `lockctl run` around it would not stop with it.
        if (!signals_.stop(SIGTSTP) && screen_) screen_->take();
      } else if (signal == SIGCONT) {
        if (screen_) screen_->take();
      } else if (signal != SIGCHLD) {
        return false;
      }
    }
    return true;
  }

  bool take_keys() {
    for (int key = screen_->pressed(); key != 0; key = screen_->pressed()) {
      if (key == 'q') return false;
      if (key == 's') sort_ = next_of(sort_);
      if (key == Screen::kUp && first_ > 0) first_--;
      if (key == Screen::kDown) first_++;
    }
    return true;
  }

  const Arguments &arguments_;
  const Signals signals_;
  std::string notice_;  // of a quorum that could not grant
  const Context context_;
  std::optional<Screen> screen_;
  std::optional<Clock::time_point> looked_at_;
  View view_;
  Sort sort_ = Sort::waiting;
  size_t first_ = 0;
};

}  // namespace

int top(const Arguments &arguments) { return Top(arguments).perform(); }

}  // namespace lockctl
