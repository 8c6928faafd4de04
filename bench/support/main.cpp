// SPDX-License-Identifier: MIT
// The main function of every benchmark program. It parks one thread for the whole run: in a process that has
// never had a second thread glibc replaces the atomic operations of a mutex by plain ones, and a floor
// measured there would be five times too low for any program that has something to lock.
#include <benchmark/benchmark.h>

#include <semaphore>
#include <string>
#include <thread>

#include "placement.hpp"

#ifdef LIBLOCK_BENCH_WITH_LIBRARY
#include <liblock/liblock.h>
#endif

int main(int argc, char **argv) {
  std::binary_semaphore ended(0);
  std::thread parked([&] { ended.acquire(); });

  std::string cpus;
  for (int cpu : liblock_bench::allowed_cpus()) {
    if (!cpus.empty()) cpus.push_back(',');
    cpus.append(std::to_string(cpu));
  }
  benchmark::AddCustomContext("allowed_cpus", cpus);
#ifdef LIBLOCK_BENCH_WITH_LIBRARY
  benchmark::AddCustomContext("liblock_version", liblock_version_string());
#endif

  benchmark::Initialize(&argc, argv);
  const bool understood = !benchmark::ReportUnrecognizedArguments(argc, argv);
  const size_t ran = understood ? benchmark::RunSpecifiedBenchmarks() : 0;
  benchmark::Shutdown();
  ended.release();
  parked.join();
  return understood && ran > 0 ? 0 : 1;
}
