// SPDX-License-Identifier: MIT
// The command `lockctl ping`: does the server, or a quorum's majority, answer, and how quickly.
#include <poll.h>

#include <chrono>
#include <cstdio>

#include "commands.hpp"
#include "context.hpp"
#include "credentials.hpp"
#include "exit_code.hpp"
#include "server_news.hpp"
#include "text.hpp"

namespace lockctl {
namespace {

constexpr int kBetweenMs = 1000;

// Why locks may be evicted, or "". Nodes of a quorum that would do that give no vote.
std::string danger_of(liblock_context *context, const Settings &settings) {
  if (is_quorum(settings)) return "";
  ServerNews &news = ServerNews::of_process();
  news.ask(context);
  return news.danger();
}

void print_answer(liblock_context *context, const Settings &settings, int64_t took_us,
                  const std::string &danger) {
  liblock_quorum_state state;
  liblock_quorum_state_init(&state, sizeof state);
  const bool has_nodes = liblock_quorum_status(context, &state, nullptr, nullptr, nullptr) == LIBLOCK_OK;
  const std::string url = without_password(settings.url);
  if (settings.json) {
    Record record;
    record.set("url", url).set("round_trip_us", took_us);
    if (has_nodes) record.set("voting", uint64_t{state.voting}).set("nodes", uint64_t{state.nodes});
    if (!danger.empty()) record.set("warning", danger);
    std::puts(to_json(record).c_str());
    return;
  }
  std::printf("%s answers: %s us", printable(url).c_str(),
              with_commas(static_cast<uint64_t>(took_us)).c_str());
  if (has_nodes) std::printf(", %u of %u nodes vote", state.voting, state.nodes);
  std::puts("");
}

// danger: what was told of it before, and is from here on.
int ping_once(liblock_context *context, const Settings &settings, bool is_last, std::string &danger) {
  liblock_result result = LIBLOCK_RESULT_INIT;
  const auto began = std::chrono::steady_clock::now();
  const liblock_status status = liblock_ping(context, &result);
  const auto took = std::chrono::steady_clock::now() - began;
  if (status == LIBLOCK_OK) {
    const bool is_new = danger.empty();
    if (is_new) danger = danger_of(context, settings);
    print_answer(context, settings, std::chrono::duration_cast<std::chrono::microseconds>(took).count(), danger);
    std::fflush(stdout);
    if (is_new && !danger.empty() && !settings.json) say("warning: " + printable(danger));
  } else {
    if (is_last) expect(status, result);
    say(message_of(status, result));
  }
  std::fflush(stdout);
  return exit_code_of(status);
}

}  // namespace

int ping(const Arguments &arguments) {
  const Context context = open_context(arguments.settings);
  ServerNews::of_process().listen(context.get());
  // The first one would count the connection as well.
  int code = kDone;
  std::string danger;
  if (arguments.ping.count > 1) liblock_ping(context.get(), nullptr);
  for (int64_t n = 1; n <= arguments.ping.count; n++) {
    if (n > 1) poll(nullptr, 0, kBetweenMs);
    const int one = ping_once(context.get(), arguments.settings, n == arguments.ping.count, danger);
    if (one != kDone) code = one;
  }
  return code;
}

}  // namespace lockctl
