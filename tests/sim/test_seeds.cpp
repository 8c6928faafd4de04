// SPDX-License-Identifier: MIT
// Seeds in many processes: all are run once, and whatever happens to one is told with its number.
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <set>
#include <stdexcept>

#include "seeds.hpp"
#include "unit/support/unit.hpp"

using namespace liblock_test;

namespace {

SeedsOptions hundred() {
  SeedsOptions options;
  options.from = 7;
  options.to = 106;
  options.workers = 3;
  return options;
}

}  // namespace

UNIT_TEST(each_seed_is_run_once_and_what_it_counted_is_added_up) {
  const SeedsReport report = run_seeds("sums", hundred(), [](uint64_t seed, Counters &counters, bool) {
    ++counters["seeds"];
    counters["sum"] += seed;
    if (seed % 10 == 0) ++counters["tens"];
    return std::string();
  });
  EXPECT(report.failures.empty() && report.seeds == 100 && report.workers == 3);
  EXPECT(report.counters.get("seeds") == 100 && report.counters.get("tens") == 10);
  EXPECT(report.counters.get("sum") == (7 + 106) * 50 && report.counters.get("never") == 0);
}

UNIT_TEST(a_seed_that_fails_throws_dies_or_hangs_is_told_with_its_number_and_all_others_are_run) {
  SeedsOptions options = hundred();
  options.seed_seconds_max = 0.5;
  const SeedsReport report = run_seeds("bad", options, [](uint64_t seed, Counters &counters, bool) {
    ++counters["begun"];
    if (seed == 20) return std::string("two\nlines");
    if (seed == 30) throw std::runtime_error("thrown");
    if (seed == 40) raise(SIGKILL);
    if (seed == 50) _exit(7);
    while (seed == 60) pause();
    ++counters["ended"];
    return std::string();
  });
  EXPECT(report.seeds == 100 && report.failures.size() == 5 && report.counters.get("ended") == 95);
  const std::string told[] = {"two\nlines", "exception: thrown", "its process died: Killed",
                              "its process ended with 7", "it did not end in time"};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT(report.failures[i].seed == 20 + 10 * i);
    EXPECT(report.failures[i].what == told[i]);
  }
  EXPECT(report.to_json().find("{\"seed\": 20, \"what\": \"two\\u000alines\"}") != std::string::npos);
}

UNIT_TEST(after_many_failures_it_ends) {
  SeedsOptions options = hundred();
  options.failures_max = 5;
  options.to = 1'000'000;
  const SeedsReport report =
      run_seeds("hopeless", options, [](uint64_t, Counters &, bool) { return std::string("no"); });
  EXPECT(report.failures.size() >= 5 && report.seeds < 1'000'000);
}

UNIT_TEST(one_seed_runs_in_this_process) {
  const char *words[] = {"program", "--seed", "42"};
  SeedsOptions options;
  EXPECT(options.read(3, const_cast<char **>(words)) && options.verbose);
  std::set<uint64_t> seen;
  run_seeds("one", options, [&](uint64_t seed, Counters &, bool verbose) {
    if (verbose) seen.insert(seed);
    return std::string();
  });
  EXPECT(seen == std::set<uint64_t>{42});
}

UNIT_TEST(the_command_line_is_read_or_refused) {
  const char *words[] = {"program", "--seeds", "5-9", "--jobs", "2", "--json", "file"};
  SeedsOptions options;
  EXPECT(options.read(7, const_cast<char **>(words)));
  EXPECT(options.from == 5 && options.to == 9 && options.workers == 2 && options.json == "file");
  for (const char *wrong : {"9-5", "5", "-1-3", "x", ""}) {
    const char *bad[] = {"program", "--seeds", wrong};
    EXPECT(!SeedsOptions().read(3, const_cast<char **>(bad)));
  }
  const char *unknown[] = {"program", "--speed"};
  EXPECT(!SeedsOptions().read(2, const_cast<char **>(unknown)));
}

UNIT_MAIN(
    "seeds", cmocka_unit_test(each_seed_is_run_once_and_what_it_counted_is_added_up),
    cmocka_unit_test(a_seed_that_fails_throws_dies_or_hangs_is_told_with_its_number_and_all_others_are_run),
    cmocka_unit_test(after_many_failures_it_ends), cmocka_unit_test(one_seed_runs_in_this_process),
    cmocka_unit_test(the_command_line_is_read_or_refused))
