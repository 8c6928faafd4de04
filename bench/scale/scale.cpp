// SPDX-License-Identifier: MIT
// See scale.hpp.
#include "scale/scale.hpp"

#include <time.h>

#include <algorithm>
#include <cstdio>

namespace liblock_bench {
namespace {

constexpr size_t under_way_max = 2'000;

}  // namespace

void mark(const char *name) {
  std::printf("mark %s\n", name);
  std::fflush(stdout);
  for (int c = std::getchar(); c != '\n' && c != EOF;) c = std::getchar();
}

double Passed::cpu_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) * 1e9 + double(now.tv_nsec);
}

// A server that is asked for 100,000 things at once answers the last of them late.
Context::Context(const std::string &url, int64_t front_ms) {
  auto options = context_options();
  options.front_ms = front_ms;
  if (!is_local(url)) options.command_timeout_ms = 60'000;
  must(liblock_open(url.c_str(), &options, &context_, nullptr), "liblock_open");
  must(liblock_ping(context_, nullptr), "liblock_ping");
}

Figures found_quorum(const std::string &url, size_t) {
  auto options = context_options();
  options.max_ttl_ms = long_lease_ms;
  liblock_context *context = nullptr;
  must(liblock_open(url.c_str(), &options, &context, nullptr), "liblock_open");
  must(liblock_quorum_init(context, 0, nullptr), "liblock_quorum_init");
  liblock_context_free(context);
  return {};
}

Context::~Context() {
  liblock_close(context_);
  liblock_context_free(context_);
}

liblock_stats Context::stats() const {
  liblock_stats stats;
  liblock_stats_init(&stats, sizeof stats);
  must(liblock_stats_get(context_, &stats), "liblock_stats_get");
  return stats;
}

void Calls::ended(const liblock_completion *completion, void *user_data) {
  Slot &slot = *static_cast<Slot *>(user_data);
  Calls &calls = *slot.calls;
  if (completion->status != LIBLOCK_OK) calls.failure_ = completion->status;
  slot.lock = completion->lock;
  if (slot.releases_at_once && completion->status == LIBLOCK_OK) {
    const auto status = liblock_release_async(slot.context, slot.lock, nullptr, nullptr, nullptr, nullptr);
    if (status != LIBLOCK_OK) calls.failure_ = status;
  }
  calls.ended_.fetch_add(1);
  calls.ended_.notify_one();
}

void Calls::acquire(liblock_context *context, const Key16 &key, const liblock_acquire_options *options,
                    Slot &slot) {
  slot.calls = this;
  slot.context = context;
  liblock_request request;  // nobody cancels
  must(liblock_acquire_async(context, key.data(), key.size(), options, ended, &slot, &request),
       "liblock_acquire_async");
}

void Calls::release(liblock_context *context, Slot &slot) {
  must(liblock_release_async(context, slot.lock, nullptr, ended, &slot, nullptr), "liblock_release_async");
}

void Calls::await(uint64_t count) {
  for (uint64_t now = ended_.load(); now < count; now = ended_.load()) ended_.wait(now);
  ended_ -= count;
  must(failure_.load(), "the end of an asynchronous call");
}

void acquire_all(liblock_context *context, std::span<const Key16> keys,
                 const liblock_acquire_options &options, std::span<Calls::Slot> slots) {
  Calls calls;
  for (size_t first = 0; first < slots.size(); first += under_way_max) {
    const size_t end = std::min(slots.size(), first + under_way_max);
    for (size_t i = first; i < end; ++i) calls.acquire(context, keys[i], &options, slots[i]);
    calls.await(end - first);
  }
}

void release_all(liblock_context *context, std::vector<Calls::Slot> &slots) {
  Calls calls;
  for (size_t first = 0; first < slots.size(); first += under_way_max) {
    const size_t end = std::min(slots.size(), first + under_way_max);
    for (size_t i = first; i < end; ++i) slots[i].calls = &calls;
    for (size_t i = first; i < end; ++i) calls.release(context, slots[i]);
    calls.await(end - first);
  }
}

}  // namespace liblock_bench
