// SPDX-License-Identifier: MIT
// What calls that go over many keys have in common: the sizes of their steps, and the report.
#pragma once

#include <string>

#include "boundary.hpp"

namespace liblock::capi {

constexpr int64_t kBatchMax = 65'536;

inline Status read_batch(const char *name, int64_t given, int64_t otherwise, uint32_t &batch,
                         std::string &message) {
  const int64_t size = given == LIBLOCK_DEFAULT ? otherwise : given;
  batch = static_cast<uint32_t>(size);
  if (size >= 1 && size <= kBatchMax) return Status::OK;
  message = std::string(name) + " is " + std::to_string(size) + "; use 1 to 65,536, or LIBLOCK_DEFAULT";
  return Status::INVALID_ARGUMENT;
}

inline Status read_zombies_only(int32_t zombies_only, int32_t reserved, std::string &message) {
  if (zombies_only != 0 && zombies_only != 1)
    message = "zombies_only is " + std::to_string(zombies_only) + "; use 0 or 1";
  if (reserved != 0) message = "reserved is " + std::to_string(reserved) + "; use 0";
  return message.empty() ? Status::OK : Status::INVALID_ARGUMENT;
}

inline bool report_is_usable(const liblock_report *report) {
  return report == nullptr ||
         (report->struct_size >= sizeof(liblock_report) && report->struct_size <= 65'536);
}

inline constexpr char kReportSize[] = "report.struct_size is not set: its init function sets it";

inline void fill_report(liblock_report *report, const Tally &tally, Nanos took) {
  if (report == nullptr || !report_is_usable(report)) return;
  const liblock_report filled{
      0,           tally.locks,  tally.queues,   tally.locks + tally.queues, tally.waiters,
      tally.steps, took / 1'000, tally.instances};
  init_struct(report, report->struct_size, filled);
}

}  // namespace liblock::capi
