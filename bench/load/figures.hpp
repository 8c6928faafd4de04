// SPDX-License-Identifier: MIT
// What one run found, printed as Google Benchmark prints its own, so that one reader serves all programs: a time, which
// is that of one operation, and counters beside it.
#pragma once

#include <cmath>
#include <cstdio>
#include <map>
#include <string>

#include "clocks.hpp"
#include "histogram.hpp"

namespace liblock_bench {

class Figures {
 public:
  void set(const std::string &name, double value) { values_[name] = value; }

  // Rates and CPU time of so many operations between two moments.
  void set_rates(uint64_t operations, const CpuTimes &spent) {
    const auto count = static_cast<double>(operations);
    set("operations", count);
    set("per_second", count * 1e9 / static_cast<double>(spent.at));
    set("client_ns", static_cast<double>(spent.own) / count);
    set("server_ns", static_cast<double>(spent.servers) / count);
    set("client_share", static_cast<double>(spent.own) / static_cast<double>(spent.at));
    set("server_share", static_cast<double>(spent.servers) / static_cast<double>(spent.at));
    time_ns_ = static_cast<double>(spent.at) / count;
  }

  void set_latencies(const std::string &what, const Histogram &latencies) {
    set(what + "_p50_ns", static_cast<double>(latencies.at(0.5)));
    set(what + "_p99_ns", static_cast<double>(latencies.at(0.99)));
    set(what + "_p999_ns", static_cast<double>(latencies.at(0.999)));
    set(what + "_max_ns", static_cast<double>(latencies.greatest()));
    if (time_ns_ == 0) time_ns_ = static_cast<double>(latencies.at(0.5));
  }

  // A figure that is none (of no operation at all) is said to be an error, and never taken for a good one.
  int print(const std::string &name) const {
    std::printf("{\"benchmarks\": [{\"name\": \"%s\", \"run_type\": \"iteration\", \"time_unit\": \"ns\"",
                name.c_str());
    bool fine = std::isfinite(time_ns_) && time_ns_ > 0;
    std::printf(", \"real_time\": %.6e", fine ? time_ns_ : 0);
    for (const auto &[counter, value] : values_) {
      fine = fine && std::isfinite(value);
      std::printf(", \"%s\": %.9e", counter.c_str(), std::isfinite(value) ? value : 0);
    }
    if (!fine) std::printf(", \"error_occurred\": true, \"error_message\": \"nothing was measured\"");
    std::printf("}]}\n");
    return fine ? 0 : 1;
  }

 private:
  std::map<std::string, double> values_;
  double time_ns_ = 0;
};

}  // namespace liblock_bench
