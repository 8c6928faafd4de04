// SPDX-License-Identifier: MIT
// What a process has of memory. What is measured as growth is only the library's where everything else was touched
// before the first reading, and where nothing that was given back to the allocator before is used again.
#pragma once

#include <unistd.h>

#include <cstdio>

namespace liblock_bench {

// Negative: it cannot be read.
inline double resident_bytes() {
  long pages_total = 0;
  long pages_resident = 0;
  std::FILE *file = std::fopen("/proc/self/statm", "r");
  const bool read = file != nullptr && std::fscanf(file, "%ld %ld", &pages_total, &pages_resident) == 2;
  if (file != nullptr) std::fclose(file);
  return read ? double(pages_resident) * double(sysconf(_SC_PAGESIZE)) : -1;
}

}  // namespace liblock_bench
