// SPDX-License-Identifier: MIT
// Whether the server answers, as the library tells it while it renews: asking would hold up what must end in time. And
// whether it may evict locks, which it tells once, when the server is reached.
// Heard on the library's callback thread, read on ours. What was told before a context is freed may still be heard: so
// there is one in a process, and it is never freed.
#pragma once

#include <liblock/liblock.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>

#include "context.hpp"
#include "wording.hpp"

namespace lockctl {

class ServerNews {
 public:
  static ServerNews &of_process() {
    static ServerNews &news = *new ServerNews;
    return news;
  }

  void listen(liblock_context *context) {
    constexpr uint64_t kAnswers = 1 << LIBLOCK_EVENT_CONNECTED | 1 << LIBLOCK_EVENT_SERVER_CHANGED;
    constexpr uint64_t kOthers = 1 << LIBLOCK_EVENT_DISCONNECTED | 1 << LIBLOCK_EVENT_MAY_EVICT;
    liblock_set_events(context, kAnswers | kOthers, hear, this);
  }

  // Asks the server for an answer, which is heard behind what is told when the server is reached.
  void ask(liblock_context *context) {
    set_asked(true);
    if (liblock_ping_async(context, nullptr, hear_answer, this, nullptr) != LIBLOCK_OK) set_asked(false);
  }

  // Why locks may be evicted, heard by the answer to ask(); empty: they are not, as far as is known.
  std::string danger() {
    constexpr std::chrono::seconds kPatience(1);  // a server that goes now is not waited for
    std::unique_lock lock(mutex_);
    has_answer_.wait_for(lock, kPatience, [this] { return !is_asked_; });
    return danger_;
  }

  // Why it does not answer, or too few nodes of the quorum vote; empty: it does, as far as is known.
  std::string trouble(liblock_context *context) const {
    const std::string of_quorum = why_none_is_granted(context, "");
    const std::lock_guard lock(mutex_);
    return of_quorum.empty() ? trouble_ : of_quorum;
  }

 private:
  ServerNews() = default;
  static void hear(const liblock_event *event, void *user_data) {
    auto &news = *static_cast<ServerNews *>(user_data);
    const bool is_gone = event->kind == LIBLOCK_EVENT_DISCONNECTED;
    const std::lock_guard lock(news.mutex_);
    if (event->kind == LIBLOCK_EVENT_MAY_EVICT) {
      news.danger_ = event->message;
      return;
    }
    news.trouble_ = is_gone && event->message != nullptr ? reworded(event->message) : "";
  }

  static void hear_answer(const liblock_completion *, void *user_data) {
    static_cast<ServerNews *>(user_data)->set_asked(false);
  }
  void set_asked(bool is_asked) {
    const std::lock_guard lock(mutex_);
    is_asked_ = is_asked;
    has_answer_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable has_answer_;
  bool is_asked_ = false;
  std::string trouble_, danger_;
};

}  // namespace lockctl
