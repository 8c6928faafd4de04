// SPDX-License-Identifier: MIT
// Plays schedules: schedules [--real] [--only NAME] [--mutant-lua "SCRIPT: OLD => NEW"]… [--bites] [--table] FILE…
//   --real        on real redis-servers; else on shim servers with manual clocks
//   --mutant-lua  with that text in a script; LIBLOCK_MUTANT_LUA does the same, one replacement in a line
//   --bites       each schedule with each mutant that it names: it must fail
//   --table       prints the table of README.md
// Ends with 1 when a schedule failed, or one of an open hole did not, with 2 when it was called wrongly or a
// replacement finds nothing.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "play.hpp"

namespace {

using namespace schedules;

constexpr char kUsage[] =
    "\nusage: schedules [--real] [--only NAME] [--mutant-lua \"SCRIPT: OLD => NEW\"]… [--bites] [--table] "
    "FILE…";

struct Options {
  bool is_real = false, bites = false, table = false;
  std::string only;
  std::vector<Replacement> replacements;
  std::vector<Schedule> schedules;
};

Options read_options(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_next = i + 1 < argc;
    if (word == "--real") {
      options.is_real = true;
    } else if (word == "--bites") {
      options.bites = true;
    } else if (word == "--table") {
      options.table = true;
    } else if (word == "--only" && has_next) {
      options.only = argv[++i];
    } else if (word == "--mutant-lua" && has_next) {
      options.replacements.push_back(Replacement::parse(argv[++i]));
    } else if (word.starts_with("--")) {
      throw std::runtime_error("no such option: " + word + kUsage);
    } else {
      for (Schedule &schedule : read_schedules(word)) options.schedules.push_back(std::move(schedule));
    }
  }
  if (const char *given = std::getenv("LIBLOCK_MUTANT_LUA"); given != nullptr) {
    for (const std::string &line : split(given, '\n'))
      options.replacements.push_back(Replacement::parse(line));
  }
  std::erase_if(options.schedules, [&](const Schedule &schedule) {
    const bool is_elsewhere = options.is_real ? schedule.only_shim : schedule.only_real;
    return (is_elsewhere && !options.table) || (!options.only.empty() && schedule.name != options.only);
  });
  return options;
}

class Report {
 public:
  void add(const std::string &name, const std::string &failure) {
    ++count_;
    std::printf("%s %zu - %s\n", failure.empty() ? "ok" : "not ok", count_, name.c_str());
    if (failure.empty()) return;
    std::printf("# %s\n", failure.c_str());
    failed_ = true;
  }
  // A hole that is known: it is seen, or somebody has closed it and not said so.
  void add_open(const std::string &name, const std::string &failure) {
    add(name + " (open)", failure.empty() ? "it does not fail any more: take its 'open' away" : "");
  }
  int end() const {
    std::printf("1..%zu\n", count_);
    return failed_ ? 1 : 0;
  }

 private:
  size_t count_ = 0;
  bool failed_ = false;
};

// Why it failed; empty: it did not.
std::string play(Servers &servers, const Schedule &schedule, const std::vector<Replacement> &replacements) {
  const auto bodies = load_scripts(replacements);
  try {
    Play(servers, schedule, bodies).run();
    return {};
  } catch (const std::exception &error) {
    return error.what();
  }
}

int play_all(const Options &options) {
  const auto servers = options.is_real ? make_real_servers() : make_shim_servers();
  Report report;
  for (const Schedule &schedule : options.schedules) {
    if (!options.bites) {
      const std::string failure = play(*servers, schedule, options.replacements);
      schedule.is_open ? report.add_open(schedule.name, failure) : report.add(schedule.name, failure);
      continue;
    }
    for (const Replacement &mutant : schedule.mutants) {
      const std::string failure = play(*servers, schedule, {mutant});
      const std::string name = schedule.name + " without: " + mutant.script + ": " + mutant.old_text;
      report.add(name.substr(0, name.find('\n')), failure.empty() ? "it does not notice the mutant" : "");
    }
  }
  return report.end();
}

int print_table(const Options &options) {
  std::printf("| schedule | the line that it protects | what would go wrong without it |\n|---|---|---|\n");
  for (const Schedule &schedule : options.schedules) {
    const char *where = schedule.only_shim ? " (shim only)" : schedule.is_open ? " (open)" : "";
    std::printf("| %s%s | %s | %s |\n", schedule.name.c_str(), where, schedule.protects.c_str(),
                schedule.story.c_str());
  }
  return 0;
}

}  // namespace

int main(int argc, char **argv) {
  try {
    const Options options = read_options(argc, argv);
    if (options.schedules.empty())
      throw std::runtime_error(options.only.empty() ? kUsage + 1 : "no schedule is called " + options.only);
    load_scripts(options.replacements);
    return options.table ? print_table(options) : play_all(options);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "schedules: %s\n", error.what());
    return 2;
  }
}
