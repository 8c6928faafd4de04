// SPDX-License-Identifier: MIT
// How a moment reads. Keys stand last in their lines, where they may be long; holders are cut, their instance's name is
// told whole by `lockctl info`.
#include "view.hpp"

#include <algorithm>
#include <cstdio>

#include "text.hpp"

namespace lockctl {
namespace {

constexpr size_t kNumberColumns = 27;  // before the holder
constexpr size_t kKeyColumns = 20;     // that a key has at least; the holder is cut for them
constexpr size_t kHolderColumnsMin = 8, kHolderColumnsMax = 34;
constexpr size_t kBarColumns = 24;

std::string padded(const std::string &text, size_t columns) {
  std::string out = clipped(text, columns);
  out.append(columns - columns_of(out), ' ');
  return out;
}

std::string rate(double per_second) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f/s", per_second);
  return text;
}

using Entry = Snapshot::value_type;

std::vector<const Entry *> sorted(const Snapshot &keys, Sort sort) {
  std::vector<const Entry *> out;
  for (const Entry &entry : keys) out.push_back(&entry);
  if (sort == Sort::key) return out;  // as the map has them
  std::stable_sort(out.begin(), out.end(), [sort](const Entry *a, const Entry *b) {
    if (sort == Sort::waiting) return a->second.waiters > b->second.waiters;
    // Those held longest first, those not held last.
    const auto since = [](const Entry *one) {
      return one->second.since_us > 0 ? one->second.since_us : INT64_MAX;
    };
    return since(a) < since(b);
  });
  return out;
}

const char *name_of(Sort sort) {
  return sort == Sort::waiting ? "waiting" : sort == Sort::held ? "held" : "key";
}

size_t holder_columns(size_t columns) {
  const size_t others = kNumberColumns + 2 + kKeyColumns;
  return std::clamp(columns > others ? columns - others : 0, kHolderColumnsMin, kHolderColumnsMax);
}

std::string line_of(const Entry &entry, int64_t at_us, size_t columns) {
  const KeyState &state = entry.second;
  const int64_t held_ms = state.since_us > 0 ? std::max<int64_t>(0, (at_us - state.since_us) / 1000) : -1;
  const std::string left = state.remaining_ms < 0 ? "none" : for_people(state.remaining_ms);
  return padded(with_commas(state.waiters), 9) + padded(state.is_held ? for_people(held_ms) : "-", 9) +
         padded(state.is_held ? left : "-", 9) +
         padded(state.is_held ? state.holder : "-", holder_columns(columns)) + "  " + printable(entry.first);
}

std::string wait_line(const View &view, size_t bucket) {
  const uint64_t most = std::max<uint64_t>(1, *std::max_element(view.waits.begin(), view.waits.end()));
  const std::string name =
      bucket < kWaitsBelowMs.size()
          ? "< " + (kWaitsBelowMs[bucket] < 1000 ? std::to_string(kWaitsBelowMs[bucket]) + "ms"
                                                 : std::to_string(kWaitsBelowMs[bucket] / 1000) + "s")
          : "longer";
  const uint64_t count = view.waits[bucket];
  const size_t bar = count == 0 ? 0 : std::max<size_t>(1, count * kBarColumns / most);
  return padded(name, 8) + padded(std::string(bar, '#'), kBarColumns) + " " + with_commas(count);
}

}  // namespace

Sort next_of(Sort sort) {
  return sort == Sort::waiting ? Sort::held : sort == Sort::held ? Sort::key : Sort::waiting;
}

size_t wait_bucket(int64_t waited_ms) {
  const auto found = std::upper_bound(kWaitsBelowMs.begin(), kWaitsBelowMs.end(), waited_ms);
  return static_cast<size_t>(found - kWaitsBelowMs.begin());
}

Record record_of(const View &view, size_t keys_max) {
  std::vector<Record> waits, keys;
  for (size_t n = 0; n < view.waits.size(); n++) {
    const bool is_last = n == kWaitsBelowMs.size();
    waits.push_back(Record()
                        .set("below_ms", is_last ? Value(std::monostate()) : Value(kWaitsBelowMs[n]))
                        .set("count", view.waits[n]));
  }
  for (const Entry *entry : sorted(view.keys, Sort::waiting)) {
    if (keys.size() == keys_max) break;
    keys.push_back(Record()
                       .set("key", entry->first)
                       .set("held", entry->second.is_held)
                       .set("holder", entry->second.holder)
                       .set("token", entry->second.token)
                       .set("remaining_ms", entry->second.remaining_ms)
                       .set("waiters", entry->second.waiters));
  }
  return Record()
      .set("at_us", view.at_us)
      .set("locks", view.locks)
      .set("queues", view.queues)
      .set("waiters", view.waiters)
      .set("granted_per_s", view.granted_per_s)
      .set("ended_per_s", view.ended_per_s)
      .set("trouble", view.trouble.empty() ? Value(std::monostate()) : Value(view.trouble))
      .set("missing", view.missing.empty() ? Value(std::monostate()) : Value(view.missing))
      .set("waits", std::move(waits))
      .set("keys", std::move(keys));
}

std::vector<std::string> lines_of(const View &view, Sort sort, size_t first, size_t columns, size_t rows) {
  std::vector<std::string> lines;
  lines.push_back("lockctl top  " + view.url + "  " + time_of_day(view.at_us));
  lines.push_back(with_commas(view.locks) + " locks held, " + with_commas(view.waiters) + " waiting in " +
                  with_commas(view.queues) + " queues; seen " + rate(view.granted_per_s) + " granted, " +
                  rate(view.ended_per_s) + " ended");
  const std::string noted = !view.trouble.empty()   ? "NO ANSWER, this is old: " + view.trouble
                            : !view.missing.empty() ? "THERE MAY BE MORE: " + view.missing
                                                    : "waiting now, for";
  lines.push_back(printable(noted));
  for (size_t n = 0; n < view.waits.size(); n++) lines.push_back(wait_line(view, n));
  lines.push_back(padded("WAITING", 9) + padded("HELD", 9) + padded("LEFT", 9) +
                  padded("HOLDER", holder_columns(columns)) + "  KEY");
  const auto entries = sorted(view.keys, sort);
  const size_t room = rows > lines.size() + 1 ? rows - lines.size() - 1 : 0;
  for (size_t n = first; n < std::min(entries.size(), first + room); n++) {
    lines.push_back(clipped(line_of(*entries[n], view.at_us, columns), columns));
  }
  while (lines.size() + 1 < rows) lines.push_back("");
  lines.push_back("q quit   s sort (by " + std::string(name_of(sort)) + ")   up, down: scroll");
  return lines;
}

}  // namespace lockctl
