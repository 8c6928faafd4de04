// SPDX-License-Identifier: MIT
// See schedule.hpp.
#include "schedule.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace schedules {

using liblock::quorum::NodeSet;
using liblock::quorum::QuorumRule;

std::vector<std::string> split(const std::string &text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

int64_t to_number(const std::string &text) {
  int64_t number = 0;
  const char *begin = text.data() + (text.starts_with('+') ? 1 : 0), *end = text.data() + text.size();
  const auto read = std::from_chars(begin, end, number);
  if (read.ec != std::errc() || read.ptr != end) throw Failure("not a number: " + text);
  return number;
}

std::vector<size_t> to_nodes(const std::string &text) {
  std::vector<size_t> nodes;
  for (const std::string &part : split(text, ',')) {
    const int64_t number = to_number(part);
    if (number < 1 || number > 15) throw Failure("no such node: " + part);
    nodes.push_back(static_cast<size_t>(number - 1));
  }
  return nodes;
}

Step::Step(const std::string &text) {
  const size_t arrow = text.find(" -> ");
  if (arrow != std::string::npos) expected = split(text.substr(arrow + 4), ' ');
  std::vector<std::string> all = split(text.substr(0, arrow), ' ');
  if (!all.empty() && all.front().ends_with(':')) {
    actor = all.front().substr(0, all.front().size() - 1);
    all.erase(all.begin());
  }
  if (all.empty()) throw Failure("no verb");
  verb = all.front();
  for (size_t i = 1; i < all.size(); ++i) {
    const size_t equals = all[i].find('=');
    const bool is_option = equals != std::string::npos && equals > 0 && verb != "command" && verb != "expect";
    if (is_option) {
      options[all[i].substr(0, equals)] = all[i].substr(equals + 1);
    } else {
      words.push_back(all[i]);
    }
  }
}

bool Step::has(const std::string &word) const {
  return std::find(words.begin(), words.end(), word) != words.end();
}

const std::string &Step::after(const std::string &word) const {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end() || found + 1 == words.end()) throw Failure("nothing behind '" + word + "'");
  return *(found + 1);
}

int64_t Step::number(const std::string &name, int64_t otherwise) const {
  const auto found = options.find(name);
  return found == options.end() ? otherwise : to_number(found->second);
}

std::string Step::option(const std::string &name, const std::string &otherwise) const {
  const auto found = options.find(name);
  return found == options.end() ? otherwise : found->second;
}

namespace {

// "1,2,3:2" or two of these joined by '+'.
QuorumRule read_rule(const std::string &text) {
  QuorumRule rule;
  bool is_first = true;
  for (const std::string &part : split(text, '+')) {
    const auto halves = split(part, ':');
    if (halves.size() != 2) throw Failure("not NODES:VOTES: " + part);
    NodeSet of = 0;
    for (const size_t node : to_nodes(halves[0])) of |= NodeSet{1} << node;
    const auto votes = static_cast<uint32_t>(to_number(halves[1]));
    is_first ? void(rule = QuorumRule(of, votes)) : rule.also(of, votes);
    is_first = false;
  }
  return rule;
}

void add_text(std::string &to, const std::string &text) { to += (to.empty() ? "" : " ") + text; }

// False: it is a step.
bool read_head(Schedule &schedule, const std::string &word, const std::string &rest) {
  if (word == "story") {
    add_text(schedule.story, rest);
  } else if (word == "protects") {
    add_text(schedule.protects, rest);
  } else if (word == "mutant") {
    schedule.mutants.push_back(Replacement::parse(rest));
  } else if (word == "nodes") {
    schedule.nodes = static_cast<size_t>(to_number(rest));
    schedule.rule =
        QuorumRule((NodeSet{1} << schedule.nodes) - 1, static_cast<uint32_t>(schedule.nodes / 2 + 1));
  } else if (word == "rule") {
    schedule.rule = read_rule(rest);
  } else if (word == "max_ttl") {
    schedule.max_ttl_ms = to_number(rest);
  } else if (word == "trusts_disk") {
    schedule.trusts_disk = true;
  } else if (word == "unmarked") {
    schedule.is_unmarked = true;
  } else if (word == "open") {
    schedule.is_open = true;
  } else if (word == "only") {
    schedule.only_shim = rest == "shim";
    schedule.only_real = rest == "real";
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::vector<Schedule> read_schedules(const std::string &path) {
  std::ifstream in(path);
  if (!in) throw Failure(path + ": cannot be read");
  std::vector<Schedule> all;
  size_t number = 0;
  for (std::string text; std::getline(in, text);) {
    ++number;
    text.resize(text.find_last_not_of(' ') + 1);
    const size_t first = text.find_first_not_of(' ');
    if (first == std::string::npos || text[first] == '#') continue;
    text.erase(0, first);
    const size_t blank = std::min(text.find(' '), text.size());
    const std::string word = text.substr(0, blank), rest = text.substr(std::min(blank + 1, text.size()));
    if (word == "schedule") {
      all.emplace_back();
      all.back().name = rest;
      all.back().file = path.substr(path.rfind('/') + 1);
      read_head(all.back(), "nodes", "3");
      continue;
    }
    if (all.empty()) throw Failure(path + ": begins with no schedule");
    if (!read_head(all.back(), word, rest)) all.back().steps.push_back({text, number});
  }
  return all;
}

}  // namespace schedules
