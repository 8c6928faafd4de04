// SPDX-License-Identifier: MIT
// Runs a body for each of many seeds, in as many processes as there are CPUs, and says what came of it: counters
// added up by name, the time, and each seed that failed, also when its process died or hung. Seeds are handed out
// one by one, so that a slow one holds nobody up; which process runs which changes nothing.
//
//   SeedsOptions options;                        // what is not said on the command line
//   options.to = scaled(3'600, 3'600, 100'000);
//   if (!options.read(argc, argv)) return 2;
//   const SeedsReport report = run_seeds("quorum", options, body);
//   Tap tap;
//   report.print(tap, options);                  // one line of TAP; the table as comments
//   tap.check(report.counters.get("raises") > 0, "raises_happen");
//   return tap.finish();
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace liblock_test {

// Sums by name; a name is one word.
class Counters {
 public:
  uint64_t &operator[](std::string_view name);
  uint64_t get(std::string_view name) const;
  void add(const Counters &other);
  const std::map<std::string, uint64_t, std::less<>> &all() const { return values_; }

 private:
  std::map<std::string, uint64_t, std::less<>> values_;
};

// Lines of TAP on standard output.
class Tap {
 public:
  bool check(bool holds, const std::string &name);
  void comment(const std::string &text) const;  // each of its lines
  int finish();                                 // prints the plan; what main returns

 private:
  int count_ = 0, failed_ = 0;
};

struct SeedsOptions {
  uint64_t from = 1, to = 1;      // both are run
  unsigned workers = 0;           // 0: one for each CPU
  bool verbose = false;           // one seed, in this process, which a debugger can look at
  std::string json;               // the report as a file; empty: none
  double seed_seconds_max = 300;  // more is a failure
  size_t failures_max = 20;       // then it ends

  // --seed N (verbose), --seeds A-B, --jobs K, --json FILE. False: says how it is used.
  bool read(int argc, char **argv);
};

struct SeedsReport {
  struct Failure {
    uint64_t seed;
    std::string what;
  };
  uint64_t seeds = 0;  // that were run to their end, or failed
  Counters counters;
  std::vector<Failure> failures;  // by seed
  double seconds = 0;             // on the wall
  double seed_seconds = 0;        // of all seeds, each by itself
  uint64_t slowest_seed = 0;
  double slowest_seconds = 0;
  std::string title;
  unsigned workers = 0;

  std::string to_json() const;
  // "every seed passes", with what failed and all that was counted; writes the file that options ask for.
  void print(Tap &tap, const SeedsOptions &options) const;
};

// For JSON. write_file: whether the file has the text.
std::string quoted(const std::string &text);
bool write_file(const std::string &name, const std::string &text);

// What is wrong with this seed; empty: nothing. An exception is a failure as well.
using SeedBody = std::function<std::string(uint64_t seed, Counters &counters, bool verbose)>;
// Forks: no other thread may run.
SeedsReport run_seeds(const std::string &title, const SeedsOptions &options, const SeedBody &body);

}  // namespace liblock_test
