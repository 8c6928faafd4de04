// SPDX-License-Identifier: MIT
// One thread that asks asynchronously. Closed: so many pairs at once, each key's next begins when its last has ended;
// the figure is how many end in a second. Open: pairs start when they are due, whether or not earlier ones have ended;
// the figure is how long they take from when they were due, so that a stall counts for all whom it made wait.
#include <liblock/liblock.h>

#include <deque>

#include "client.hpp"
#include "clocks.hpp"
#include "modes.hpp"
#include "pace.hpp"
#include "window.hpp"

namespace liblock_bench {

void run_closed(const Settings &settings, Figures &figures) {
  const size_t depth = settings.count("depth", 64);
  const auto client = make_client(settings, depth);
  Window window(settings);
  settings.must_all_be_read();
  std::vector<int64_t> began(depth);
  std::vector<End> ends;
  Histogram acquires, pairs;
  size_t under_way = depth;
  for (size_t slot = 0; slot < depth; ++slot) {
    began[slot] = now_ns();
    client->acquire(slot);
  }
  while (under_way > 0) {
    ends.clear();
    client->take(ends);
    const int64_t now = now_ns();
    for (const End &end : ends) {
      const auto taken = static_cast<uint64_t>(now - began[end.slot]);
      if (end.kind == LIBLOCK_KIND_ACQUIRE) {
        if (window.is_open()) acquires.record(taken);
        client->release(end.slot, end.lock);
        continue;
      }
      if (window.ended(now)) pairs.record(taken);
      if (window.is_over()) {
        --under_way;
        continue;
      }
      began[end.slot] = now;
      client->acquire(end.slot);
    }
  }
  window.tell(figures);
  figures.set_latencies("acquire", acquires);
  figures.set_latencies("pair", pairs);
}

namespace {

// Arrivals that found all slots taken stand in `due_`, where their time goes on.
class OpenLoop {
 public:
  OpenLoop(const Settings &settings, size_t slots)
      : client_(settings, slots),
        pace_(settings.number("rate", 1000),
              settings.choice("arrivals", {"poisson", "fixed"}) == 0 ? Arrivals::Poisson : Arrivals::Fixed,
              1),
        window_(settings),
        due_at_(slots) {
    settings.must_all_be_read();
    for (size_t slot = 0; slot < slots; ++slot) free_.push_back(slot);
  }

  void run(Figures &figures) {
    const int64_t began = now_ns();
    const size_t slots = free_.size();
    int64_t next = began + pace_.next();
    while (!window_.is_over() || free_.size() < slots) {
      const bool goes_on = !window_.is_over();
      for (; goes_on && next <= now_ns(); next = began + pace_.next()) due_.push_back(next);
      start_due(goes_on);
      ends_.clear();
      client_.take_until(ends_, goes_on ? next : now_ns() + 1'000'000);
      take_ends();
    }
    window_.tell(figures);
    figures.set_latencies("acquire", acquires_);
    figures.set_latencies("pair", pairs_);
  }

 private:
  void start_due(bool goes_on) {
    for (; goes_on && !due_.empty() && !free_.empty(); due_.pop_front(), free_.pop_back()) {
      due_at_[free_.back()] = due_.front();
      client_.acquire(free_.back());
    }
  }
  void take_ends() {
    for (const End &end : ends_) {
      const int64_t now = now_ns();
      const auto taken = static_cast<uint64_t>(now - due_at_[end.slot]);
      if (end.kind == LIBLOCK_KIND_ACQUIRE) {
        if (window_.is_open()) acquires_.record(taken);
        client_.release(end.slot, end.lock);
        continue;
      }
      if (window_.ended(now)) pairs_.record(taken);
      free_.push_back(end.slot);
    }
  }

  QueueClient client_;
  Pace pace_;
  Window window_;
  std::vector<int64_t> due_at_;  // by slot
  std::vector<size_t> free_;
  std::deque<int64_t> due_;
  std::vector<End> ends_;
  Histogram acquires_, pairs_;
};

}  // namespace

void run_open(const Settings &settings, Figures &figures) {
  OpenLoop(settings, settings.count("slots", 4096)).run(figures);
}

}  // namespace liblock_bench
