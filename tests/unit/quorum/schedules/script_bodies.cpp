// SPDX-License-Identifier: MIT
// See script_bodies.hpp. The list of scripts is made from core/quorum/scripts.hpp, so that a new one is in it.
#include "script_bodies.hpp"

#include <stdexcept>

#include "quorum/scripts.hpp"

namespace schedules {

namespace {

std::string trimmed(const std::string &text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// Says whether it was there.
bool replace_all(std::string &text, const std::string &old_text, const std::string &new_text) {
  bool found = false;
  for (size_t at = text.find(old_text); at != std::string::npos;
       at = text.find(old_text, at + new_text.size())) {
    text.replace(at, old_text.size(), new_text);
    found = true;
  }
  return found;
}

std::string with_line_ends(std::string text) {
  replace_all(text, "\\n", "\n");
  return text;
}

}  // namespace

Replacement Replacement::parse(const std::string &text) {
  const size_t colon = text.find(':'), arrow = text.find("=>");
  if (colon == std::string::npos || arrow == std::string::npos || arrow < colon)
    throw std::runtime_error("not SCRIPT: OLD => NEW: " + text);
  Replacement made;
  made.script = trimmed(text.substr(0, colon));
  made.old_text = with_line_ends(trimmed(text.substr(colon + 1, arrow - colon - 1)));
  made.new_text = with_line_ends(trimmed(text.substr(arrow + 2)));
  if (made.old_text.empty()) throw std::runtime_error("nothing to replace: " + text);
  return made;
}

std::map<std::string, std::string> load_scripts(const std::vector<Replacement> &replacements) {
  namespace scripts = liblock::quorum::scripts;
  std::map<std::string, std::string> bodies;
#define SCRIPT(name) bodies[#name] = std::string(scripts::name.body);
#include "quorum_script_list.inc"
#undef SCRIPT
  for (const Replacement &replacement : replacements) {
    bool found = false;
    for (auto &[name, body] : bodies) {
      if (replacement.script == "*" || replacement.script == name)
        found = replace_all(body, replacement.old_text, replacement.new_text) || found;
    }
    if (!found) throw std::runtime_error(replacement.script + " has no such text: " + replacement.old_text);
  }
  return bodies;
}

}  // namespace schedules
