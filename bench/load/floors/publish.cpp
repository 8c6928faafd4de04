// SPDX-License-Identifier: MIT
// How long it takes at least until another process runs that a server tells of something: one process sleeps, then
// sends a command that publishes; the other one sits in read() on its subscription. From before the one's write to
// after the other's read. Both sleep beforehand, as those of a hand-over do.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "../window.hpp"
#include "floors.hpp"
#include "wire.hpp"

namespace liblock_bench {

namespace {

constexpr std::string_view subscribe = "*2\r\n$9\r\nSUBSCRIBE\r\n$5\r\nfloor\r\n";
constexpr std::string_view subscribed = "*3\r\n$9\r\nsubscribe\r\n$5\r\nfloor\r\n:1\r\n";
constexpr std::string_view publish = "*3\r\n$7\r\nPUBLISH\r\n$5\r\nfloor\r\n$1\r\nx\r\n";
constexpr std::string_view published = ":1\r\n";
constexpr std::string_view message = "*3\r\n$7\r\nmessage\r\n$5\r\nfloor\r\n$1\r\nx\r\n";

struct Shared {
  std::atomic<int64_t> sent_at;
  std::atomic<size_t> heard;  // 1 = subscribed, and one more with each message
  Histogram wakes;
};

void listen_to(const std::string &url, size_t count, Shared &shared) {
  Wire wire(url);
  wire.write(subscribe);
  wire.read_exactly(subscribed.size());
  shared.heard = 1;
  for (size_t nth = 0; nth < count; ++nth) {
    wire.read_exactly(message.size());
    shared.wakes.record(static_cast<uint64_t>(now_ns() - shared.sent_at.load()));
    shared.heard.fetch_add(1);
  }
}

}  // namespace

void run_publish(const Settings &settings, Figures &figures) {
  const std::string url = settings.text("url");
  const size_t count = settings.count("count", 400);
  const auto hold = static_cast<int64_t>(settings.number("hold-ms", 2) * 1e6);
  settings.must_all_be_read();
  void *const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) Settings::fail("mmap");
  auto &shared = *new (memory) Shared{};
  const pid_t child = fork();
  if (child < 0) Settings::fail("fork");
  if (child == 0) {
    listen_to(url, count, shared);
    _exit(0);
  }
  Wire wire(url);
  for (size_t nth = 0; nth < count; ++nth) {
    do {
      sleep_ns(hold);
      if (waitpid(child, nullptr, WNOHANG) != 0 && shared.heard.load() <= nth)
        Settings::fail("the listener ended");
    } while (shared.heard.load() <= nth);
    shared.sent_at = now_ns();
    wire.write(publish);
    wire.read_exactly(published.size());
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) Settings::fail("the listener failed");
  figures.set("operations", static_cast<double>(shared.wakes.count()));
  figures.set_latencies("wake", shared.wakes);
}

}  // namespace liblock_bench
