// SPDX-License-Identifier: MIT
// `lockctl ping`: does the server, or a quorum's majority, answer, and how quickly.
#include <poll.h>

#include <chrono>
#include <cstdio>

#include "commands.hpp"
#include "context.hpp"
#include "credentials.hpp"
#include "exit_code.hpp"
#include "text.hpp"

namespace lockctl {
namespace {

constexpr int kBetweenMs = 1000;

int ping_once(liblock_context *context, const Settings &settings, bool is_last) {
  liblock_result result = LIBLOCK_RESULT_INIT;
  const auto began = std::chrono::steady_clock::now();
  const liblock_status status = liblock_ping(context, &result);
  const auto took = std::chrono::steady_clock::now() - began;
  const int64_t took_us = std::chrono::duration_cast<std::chrono::microseconds>(took).count();
  const std::string url = without_password(settings.url);
  if (status != LIBLOCK_OK) {
    if (is_last) expect(status, result);
    say(message_of(status, result));
  } else if (settings.json) {
    std::puts(to_json(Record()
                          .set("url", url)
                          .set("round_trip_us", took_us)
                          .set("votes", uint64_t{result.votes})
                          .set("nodes", uint64_t{result.nodes}))
                  .c_str());
  } else {
    const std::string nodes =
        std::to_string(result.votes) + " of " + std::to_string(result.nodes) + " nodes, ";
    std::printf("%s answers: %s%s us\n", printable(url).c_str(), is_quorum(settings) ? nodes.c_str() : "",
                with_commas(static_cast<uint64_t>(took_us)).c_str());
  }
  std::fflush(stdout);
  return exit_code_of(status);
}

}  // namespace

int ping(const Arguments &arguments) {
  const Context context = open_context(arguments.settings);
  // The first one would count the connection as well.
  int code = kDone;
  if (arguments.ping.count > 1) liblock_ping(context.get(), nullptr);
  for (int64_t n = 1; n <= arguments.ping.count; n++) {
    if (n > 1) poll(nullptr, 0, kBetweenMs);
    const int one = ping_once(context.get(), arguments.settings, n == arguments.ping.count);
    if (one != kDone) code = one;
  }
  return code;
}

}  // namespace lockctl
