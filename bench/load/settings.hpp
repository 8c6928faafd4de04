// SPDX-License-Identifier: MIT
// What a run is asked for on the command line: a mode, and options as --name value. An option that no mode has read by
// its end is a mistake of whoever wrote the command, and ends the program: a misspelt depth would be measured as 1.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace liblock_bench {

class Settings {
 public:
  Settings(int argc, char **argv) {
    if (argc > 1) mode_ = argv[1];
    for (int i = 2; i < argc; i += 2) {
      const std::string name = argv[i];
      if (i + 1 >= argc || !name.starts_with("--")) fail("expected --name value, not " + name);
      values_[name.substr(2)] = argv[i + 1];
    }
  }

  const std::string &mode() const { return mode_; }

  std::string text(const std::string &name, const std::string &otherwise) const {
    const auto found = values_.find(name);
    read_.insert(name);
    return found == values_.end() ? otherwise : found->second;
  }
  std::string text(const std::string &name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) fail(mode_ + " needs --" + name);
    read_.insert(name);
    return found->second;
  }
  double number(const std::string &name, double otherwise) const {
    const std::string given = text(name, "");
    if (given.empty()) return otherwise;
    char *end = nullptr;
    const double value = std::strtod(given.c_str(), &end);
    if (*end != 0 || value < 0) fail("--" + name + " is no number: " + given);
    return value;
  }
  size_t count(const std::string &name, size_t otherwise) const {
    return static_cast<size_t>(number(name, static_cast<double>(otherwise)));
  }
  std::vector<std::string> list(const std::string &name) const {
    std::vector<std::string> parts;
    std::string rest = text(name, "");
    while (!rest.empty()) {
      const size_t comma = rest.find(',');
      parts.push_back(rest.substr(0, comma));
      rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
    }
    return parts;
  }
  // Process ids, whose CPU time is told with the figures.
  std::vector<pid_t> servers() const {
    std::vector<pid_t> ids;
    for (const auto &id : list("server-pids"))
      ids.push_back(static_cast<pid_t>(std::strtol(id.c_str(), nullptr, 10)));
    return ids;
  }
  // Of these, by their place; all else is a mistake.
  size_t choice(const std::string &name, const std::vector<std::string> &choices) const {
    const std::string given = text(name, choices.front());
    for (size_t i = 0; i < choices.size(); ++i) {
      if (choices[i] == given) return i;
    }
    fail("--" + name + " cannot be " + given);
  }
  void must_all_be_read() const {
    for (const auto &[name, value] : values_) {
      if (!read_.contains(name)) fail(mode_ + " has no --" + name);
    }
  }

  [[noreturn]] static void fail(const std::string &why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    std::exit(2);
  }

 private:
  std::string mode_;
  std::map<std::string, std::string> values_;
  mutable std::set<std::string> read_;
};

}  // namespace liblock_bench
