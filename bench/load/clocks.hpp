// SPDX-License-Identifier: MIT
// Time, and CPU time of this process and of servers: of those by the clock that the system keeps for a process, which
// needs no question to the server and has nanoseconds.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace liblock_bench {

inline int64_t read_clock(clockid_t clock) {
  timespec now{};
  if (clock_gettime(clock, &now) != 0) {
    std::perror("clock_gettime");  // such as of a server that is gone
    std::exit(2);
  }
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

inline int64_t now_ns() { return read_clock(CLOCK_MONOTONIC); }

inline void sleep_ns(int64_t length) {
  const timespec wanted{length / 1'000'000'000, length % 1'000'000'000};
  nanosleep(&wanted, nullptr);
}

struct CpuTimes {
  int64_t at = 0;
  int64_t own = 0;
  int64_t servers = 0;

  CpuTimes operator-(const CpuTimes &other) const {
    return {at - other.at, own - other.own, servers - other.servers};
  }
};

// As they are now, of this process and of these servers together.
inline CpuTimes cpu_times(const std::vector<pid_t> &servers) {
  CpuTimes times{now_ns(), read_clock(CLOCK_PROCESS_CPUTIME_ID), 0};
  for (const pid_t server : servers) {
    clockid_t clock{};
    if (clock_getcpuclockid(server, &clock) != 0) {
      std::fprintf(stderr, "no process %d\n", int(server));
      std::exit(2);
    }
    times.servers += read_clock(clock);
  }
  return times;
}

}  // namespace liblock_bench
