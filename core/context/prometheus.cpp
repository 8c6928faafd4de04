// SPDX-License-Identifier: MIT
// See prometheus.hpp. Text exposition format 0.0.4: one HELP and one TYPE line per metric, counters end in _total,
// durations are seconds, the buckets of a histogram count everything below their bound.
#include "context/prometheus.hpp"

#include <cstdio>

namespace liblock {

namespace {

struct Metric {
  const char *name;
  const char *type;
  const char *help;
  uint64_t liblock_stats::*value;
};

constexpr Metric kMetrics[] = {
    {"locks_held", "gauge", "Keys that are held.", &liblock_stats::locks_held},
    {"waiters", "gauge", "Requests that wait.", &liblock_stats::waiters},
    {"acquired_total", "counter", "Grants, reentries included.", &liblock_stats::acquired},
    {"released_total", "counter", "Locks given back by their holders.", &liblock_stats::released},
    {"contended_total", "counter", "Acquires that had to queue.", &liblock_stats::contended},
    {"handed_off_total", "counter", "Grants made directly to a waiter.", &liblock_stats::handed_off},
    {"passed_on_total", "counter", "Of the grants by a hand-over, those that no server was asked for.",
     &liblock_stats::passed_on},
    {"expired_total", "counter", "Leases that ended while held.", &liblock_stats::expired},
    {"taken_away_total", "counter", "Locks taken away by an administrator.", &liblock_stats::taken_away},
    {"taken_over_total", "counter", "Overdue locks ended by who wanted the key.", &liblock_stats::taken_over},
    {"timeouts_total", "counter", "Waits that ended by time or retries.", &liblock_stats::timeouts},
    {"canceled_total", "counter", "Waits that were canceled.", &liblock_stats::canceled},
    {"deadlocks_total", "counter", "Cycles of owners that were found.", &liblock_stats::deadlocks},
    {"deadlock_searches_total", "counter", "Searches for such cycles.", &liblock_stats::deadlock_searches},
    {"renewals_total", "counter", "Renewals of leases.", &liblock_stats::renewals},
    {"sweeps_total", "counter", "Whole passes over the table.", &liblock_stats::sweeps},
    {"sweep_entries_total", "counter", "Entries that sweeps looked at.", &liblock_stats::sweep_entries},
    {"dropped_notices_total", "counter", "Losses that found their completion queue full.",
     &liblock_stats::dropped_notices},
    {"dropped_events_total", "counter", "Events that found too many others waiting.",
     &liblock_stats::dropped_events},
};

void add_head(std::string &text, const std::string &name, const char *type, const char *help) {
  text += "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}

// Backslash, quote and line break stand for something in a label.
std::string escaped(const std::string &label) {
  std::string text;
  for (const char c : label) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return text;
}

std::string seconds(uint64_t us) {
  char text[32];
  std::snprintf(text, sizeof text, "%llu.%06llu", static_cast<unsigned long long>(us / 1'000'000),
                static_cast<unsigned long long>(us % 1'000'000));
  return text;
}

void add_histogram(std::string &text, const std::string &name, const char *help,
                   const liblock_histogram &histogram, const std::string &label) {
  add_head(text, name, "histogram", help);
  uint64_t count = 0;
  for (size_t i = 0; i < Histogram::kBuckets; ++i) {
    count += histogram.buckets[i];
    const bool is_last = i + 1 == Histogram::kBuckets;
    const std::string bound = is_last ? std::string("+Inf") : seconds(uint64_t{1} << i);
    text += name + "_bucket{" + label + ",le=\"" + bound + "\"} " + std::to_string(count) + "\n";
  }
  text += name + "_sum{" + label + "} " + seconds(histogram.sum_us) + "\n";
  text += name + "_count{" + label + "} " + std::to_string(count) + "\n";
}

}  // namespace

std::string prometheus_text(const Measured &measured, const std::string &instance) {
  const std::string label = "instance_id=\"" + escaped(instance) + "\"";
  std::string text;
  for (const Metric &metric : kMetrics) {
    const std::string name = std::string("liblock_") + metric.name;
    add_head(text, name, metric.type, metric.help);
    text += name + "{" + label + "} " + std::to_string(measured.stats.*metric.value) + "\n";
  }
  add_histogram(text, "liblock_acquire_seconds", "From the call to the grant, of granted acquires.",
                measured.acquire, label);
  add_histogram(text, "liblock_hold_seconds", "From the grant to its end.", measured.hold, label);
  return text;
}

}  // namespace liblock
