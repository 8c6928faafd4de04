// SPDX-License-Identifier: MIT
// The bodies of the scripts as they are sent to nodes; a mutant has another text somewhere in them.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace schedules {

// "SCRIPT: OLD => NEW"; SCRIPT "*": every script that has OLD, which is how a part of them is reached. Bodies have
// neither comments nor indentation; "\n" stands for the end of a line.
struct Replacement {
  std::string script, old_text, new_text;
  // Throws std::runtime_error when it is none.
  static Replacement parse(const std::string &text);
};

// All scripts by name. Throws std::runtime_error when a replacement finds nothing to replace.
std::map<std::string, std::string> load_scripts(const std::vector<Replacement> &replacements);

}  // namespace schedules
