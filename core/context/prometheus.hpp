// SPDX-License-Identifier: MIT
// Statistics as text for Prometheus.
#pragma once

#include <string>

#include "engine/histogram.hpp"

namespace liblock {

struct Measured {
  liblock_stats stats{};
  liblock_histogram acquire{};
  liblock_histogram hold{};
};

// instance: the label of every line.
std::string prometheus_text(const Measured &measured, const std::string &instance);

}  // namespace liblock
