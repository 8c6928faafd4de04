// SPDX-License-Identifier: MIT
// Schedules as files have them: README.md says what the lines mean.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "quorum/configuration.hpp"
#include "script_bodies.hpp"

namespace schedules {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Line {
  std::string text;
  size_t number = 0;
};

struct Schedule {
  std::string name, file;
  std::string story;  // what the line of a script that it protects is for, and what would go wrong without it
  std::string protects;  // which line that is
  size_t nodes = 3;
  liblock::quorum::QuorumRule rule;
  int64_t max_ttl_ms = 60'000;
  bool trusts_disk = false, is_unmarked = false;
  bool is_open = false;  // a hole that is not closed yet: it fails
  bool only_shim = false, only_real = false;
  std::vector<Replacement> mutants;  // with each of which it must fail
  std::vector<Line> steps;
};

// Throws Failure.
std::vector<Schedule> read_schedules(const std::string &path);

// One step in words: "ACTOR: VERB WORD… KEY=VALUE… -> EXPECTED…".
struct Step {
  explicit Step(const std::string &text);
  std::string actor;  // empty: the world
  std::string verb;
  std::vector<std::string> words;  // without the options
  std::map<std::string, std::string> options;
  std::vector<std::string> expected;
  bool has(const std::string &word) const;
  // The word behind that one; Failure when there is none.
  const std::string &after(const std::string &word) const;
  int64_t number(const std::string &option, int64_t otherwise) const;
  std::string option(const std::string &name, const std::string &otherwise) const;
};

std::vector<std::string> split(const std::string &text, char at);
int64_t to_number(const std::string &text);
// "1,3" as numbers from 0.
std::vector<size_t> to_nodes(const std::string &text);

}  // namespace schedules
