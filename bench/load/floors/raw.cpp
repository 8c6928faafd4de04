// SPDX-License-Identifier: MIT
// Floors of one connection. `replay`: hand-written commands, one write and one reading loop for a batch of acquires,
// and the same for the batch of their releases, which are fewer commands where each gives back several. `sync`:
// hiredis, one command and its answer after the other, the same commands. `replay-once`: commands that each go out
// once, so many under way at any time, for what one kind of them costs the server.
#include <hiredis/hiredis.h>

#include <algorithm>

#include "../figures.hpp"
#include "../window.hpp"
#include "address.hpp"
#include "commands.hpp"
#include "floors.hpp"
#include "wire.hpp"

namespace liblock_bench {

void run_replay(const Settings &settings, Figures &figures) {
  const size_t depth = settings.count("depth", 64);
  const Commands acquires = read_commands(settings.text("acquires"), depth);
  const Commands releases = read_commands(settings.text("releases"), 1);
  const size_t calls = std::min(depth, releases.all.size());  // of all releases of a batch
  const std::string url = settings.text("url");
  Window window(settings);
  settings.must_all_be_read();
  Wire wire(url);
  const std::string acquire = acquires.joined(depth), release = releases.joined(calls);
  Histogram pairs;
  while (!window.is_over()) {
    const int64_t began = now_ns();
    wire.write(acquire);
    wire.read_exactly(depth * acquires.reply_size);
    acquires.must_succeed(wire.last());
    wire.write(release);
    wire.read_exactly(calls * releases.reply_size);
    releases.must_succeed(wire.last());
    const int64_t now = now_ns();
    for (size_t i = 0; i < depth && !window.is_over(); ++i) {
      if (window.ended(now)) pairs.record(static_cast<uint64_t>(now - began));
    }
  }
  window.tell(figures);
  figures.set_latencies("pair", pairs);
}

void run_replay_once(const Settings &settings, Figures &figures) {
  const size_t depth = settings.count("depth", 64);
  const Commands commands = read_commands(settings.text("commands"), depth);
  const std::string url = settings.text("url");
  const auto servers = settings.servers();
  settings.must_all_be_read();
  Wire wire(url);
  const size_t count = commands.all.size() / depth * depth;
  const CpuTimes before = cpu_times(servers);
  for (size_t at = 0; at < count; at += depth) {
    std::string batch;
    for (size_t i = 0; i < depth; ++i) batch += commands.all[at + i];
    wire.write(batch);
    wire.read_exactly(depth * commands.reply_size);
    commands.must_succeed(wire.last());
  }
  figures.set_rates(count, cpu_times(servers) - before);
}

namespace {

// Sends what is formatted already and waits for its answer, as redisCommand does with what it formats.
void ask(redisContext *context, const std::string &command) {
  void *reply = nullptr;
  if (redisAppendFormattedCommand(context, command.data(), command.size()) != REDIS_OK ||
      redisGetReply(context, &reply) != REDIS_OK)
    Settings::fail(std::string("hiredis: ") + context->errstr);
  const auto *answer = static_cast<redisReply *>(reply);
  if (answer->type == REDIS_REPLY_ERROR) Settings::fail(std::string("an error reply: ") + answer->str);
  freeReplyObject(reply);
}

}  // namespace

void run_sync(const Settings &settings, Figures &figures) {
  const Commands acquires = read_commands(settings.text("acquires"), 1);
  const Commands releases = read_commands(settings.text("releases"), 1);
  const Address address = read_address(settings.text("url"));
  Window window(settings);
  settings.must_all_be_read();
  redisContext *context = address.port == 0 ? redisConnectUnix(address.place.c_str())
                                            : redisConnect(address.place.c_str(), address.port);
  if (context == nullptr || context->err != 0) Settings::fail("hiredis cannot connect");
  Histogram acquired, pairs;
  while (!window.is_over()) {
    const int64_t began = now_ns();
    ask(context, acquires.all.front());
    const int64_t granted = now_ns();
    ask(context, releases.all.front());
    const int64_t now = now_ns();
    if (!window.ended(now)) continue;
    acquired.record(static_cast<uint64_t>(granted - began));
    pairs.record(static_cast<uint64_t>(now - began));
  }
  redisFree(context);
  window.tell(figures);
  figures.set_latencies("acquire", acquired);
  figures.set_latencies("pair", pairs);
}

}  // namespace liblock_bench
