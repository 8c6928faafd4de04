// SPDX-License-Identifier: MIT
// Do the tests bite? Every fault on purpose (mutation.cpp) must be found by random lives with a quorum, or there is a
// written reason why nothing can find it. And without a fault the same lives pass. Usage: sim-mutants [--mutant NAME]
// [--schedules COMMAND] [--seed N | --seeds A-B] [--jobs K] [--json FILE]: of one mutant, or of all; the command runs
// the directed schedules of tests/unit/quorum/schedules
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "mutation.hpp"
#include "quorum_run.hpp"
#include "seeds.hpp"

using namespace unit;

namespace {

using liblock_test::Counters;
using liblock_test::SeedsOptions;
using liblock_test::SeedsReport;

SeedsReport live(const std::string &name, const SeedsOptions &options) {
  return liblock_test::run_seeds(name, options, [](uint64_t seed, Counters &counters, bool is_verbose) {
    QuorumRun life(seed, counters, is_verbose);
    return life.run(40'000);
  });
}

// The first line, without the story of the life.
std::string shown(const std::string &what) {
  std::string text = what.substr(0, what.find(" ("));
  for (char &c : text) c = c == '\n' ? ' ' : c;
  return text.substr(0, 100);
}

struct Found {
  std::string by;  // empty: nothing has noticed
  uint64_t seeds = 0;
  double seconds = 0;
};

Found look(const Mutant &mutant, const SeedsOptions &asked) {
  SeedsOptions options = asked;
  options.failures_max = 1;
  options.seed_seconds_max = 60;
  switch_on(&mutant);
  const SeedsReport report = live(mutant.name, options);
  switch_on(nullptr);
  Found found{{}, report.seeds, report.seconds};
  if (!report.failures.empty())
    found.by = "seed " + std::to_string(report.failures[0].seed) + ": " + shown(report.failures[0].what);
  return found;
}

// How the directed schedules end: what they print is for those who run them alone.
int run_quietly(const std::string &command) {
  const pid_t child = fork();
  if (child < 0) return -1;
  if (child == 0) {
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Whether a directed schedule notices: only of what is in a script.
bool is_in_schedules(const Mutant &mutant, const std::string &command) {
  if (command.empty() || mutant.changes.empty()) return false;
  std::string changes;
  for (const Mutant::Change &change : mutant.changes)
    changes +=
        std::string(changes.empty() ? "" : "\n") + change.script + ": " + change.from + " => " + change.to;
  setenv("LIBLOCK_MUTANT_LUA", changes.c_str(), 1);
  const int status = run_quietly(command);
  unsetenv("LIBLOCK_MUTANT_LUA");
  return status == 1;
}

// As one object of the JSON.
std::string told(const Mutant &mutant, const std::string &by, bool in_schedules) {
  using liblock_test::quoted;
  return "  {\"name\": " + quoted(mutant.name) + ", \"what\": " + quoted(mutant.what) +
         ", \"equivalent\": " + quoted(mutant.why_equivalent) +
         ", \"schedules\": " + (in_schedules ? "true" : "false") + ", \"life\": " + quoted(by) + "}";
}

// Whether it is found, or cannot be; what is to be told of it goes into json.
void try_one(const Mutant &mutant, SeedsOptions options, const std::string &schedules, liblock_test::Tap &tap,
             std::string &json) {
  const bool in_schedules = is_in_schedules(mutant, schedules);
  // It is found already: a few lives are enough to see whether they find it as well.
  if (in_schedules && !options.verbose) options.to = std::min<uint64_t>(options.to, 60);
  const Found found = look(mutant, options);
  const bool is_fine = (in_schedules || !found.by.empty()) == mutant.why_equivalent.empty();
  tap.check(is_fine, mutant.name + (mutant.why_equivalent.empty() ? "_is_found" : "_changes_nothing"));
  char head[120];
  std::snprintf(head, sizeof head, "%-22s %4llu seeds %6.1f s  %-10s", mutant.name.c_str(),
                static_cast<unsigned long long>(found.seeds), found.seconds,
                in_schedules ? "schedules; " : "");
  tap.comment(head + (found.by.empty() ? std::string("no life") : found.by));
  tap.comment("                       " + mutant.what);
  if (!mutant.why_equivalent.empty()) tap.comment("                       " + mutant.why_equivalent);
  json += (json.empty() ? "" : ",\n") + told(mutant, found.by, in_schedules);
}

}  // namespace

int main(int argc, char **argv) {
  SeedsOptions options;
  options.to = scaled(200, 600, 20'000);
  std::string only, schedules;
  std::vector<char *> rest;
  for (int i = 0; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (std::strcmp(argv[i], "--mutant") == 0 && has_value) {
      only = argv[++i];
    } else if (std::strcmp(argv[i], "--schedules") == 0 && has_value) {
      schedules = argv[++i];
    } else {
      rest.push_back(argv[i]);
    }
  }
  if (!options.read(static_cast<int>(rest.size()), rest.data())) return 2;
  liblock_test::Tap tap;
  std::string json;
  const std::string file = std::exchange(options.json, {});  // of all mutants, not of the lives of one
  for (const Mutant &mutant : all_mutants()) {
    if (only.empty() || mutant.name == only) try_one(mutant, options, schedules, tap, json);
  }
  if (!file.empty()) tap.check(liblock_test::write_file(file, "{\"mutants\": [\n" + json + "\n]}\n"), "json");
  if (only.empty()) {
    options.to = std::min<uint64_t>(options.to, 60);
    tap.check(live("none", options).failures.empty(), "without_a_mutant_the_same_lives_pass");
    if (!schedules.empty()) tap.check(run_quietly(schedules) == 0, "without_a_mutant_all_schedules_pass");
  }
  return tap.finish();
}
