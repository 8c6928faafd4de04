// SPDX-License-Identifier: MIT
// Where threads run. On a machine with few cores placement alone moves a contended figure forty-fold, so each
// benchmark either pins its threads or says in its label that it leaves them to the scheduler. CPUs are
// counted in the set that the process was given when it started.
#pragma once

#include <sched.h>

#include <string>
#include <vector>

namespace liblock_bench {

// The allowed CPUs at the first call, which main makes before anything is pinned.
inline const std::vector<int> &allowed_cpus() {
  static const std::vector<int> cpus = [] {
    std::vector<int> found;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return found;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) found.push_back(cpu);
    }
    return found;
  }();
  return cpus;
}

// Pins the calling thread to the n-th allowed CPU. Threads that it starts later inherit that.
inline void pin_to(size_t nth) {
  const auto &cpus = allowed_cpus();
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpus[nth % cpus.size()], &set);
  sched_setaffinity(0, sizeof set, &set);
}

inline void unpin() {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int cpu : allowed_cpus()) CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

// The last CPU: interrupts and short-lived processes tend to land on the first.
inline size_t quiet_cpu() { return allowed_cpus().empty() ? 0 : allowed_cpus().size() - 1; }

// Pins for the length of a single-threaded benchmark.
class Pinned {
 public:
  Pinned() { pin_to(quiet_cpu()); }
  ~Pinned() { unpin(); }
  Pinned(const Pinned &) = delete;
  Pinned &operator=(const Pinned &) = delete;

  static std::string label() {
    return "pinned to CPU " + (allowed_cpus().empty() ? "?" : std::to_string(allowed_cpus()[quiet_cpu()]));
  }
};

}  // namespace liblock_bench
