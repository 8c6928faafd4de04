// SPDX-License-Identifier: MIT
// Whether the server answers, as the library tells it while it renews: asking would hold up what must end in time.
// Heard on the library's callback thread, read on ours. What was told before a context is freed may still be heard: so
// there is one in a process, and it is never freed.
#pragma once

#include <liblock/liblock.h>

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
    liblock_set_events(context, kAnswers | 1 << LIBLOCK_EVENT_DISCONNECTED, hear, this);
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
    news.trouble_ = is_gone && event->message != nullptr ? reworded(event->message) : "";
  }

  mutable std::mutex mutex_;
  std::string trouble_;
};

}  // namespace lockctl
