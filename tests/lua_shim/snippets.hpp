// SPDX-License-Identifier: MIT
// Single commands and scripts, each for one rule of Redis's that a random trace would seldom meet.
#pragma once

#include <string>
#include <vector>

#include "trace.hpp"

namespace liblock_test {

const std::vector<Words> &command_snippets();
// Called with one key, "key", and one argument, "argument".
const std::vector<std::string> &script_snippets();
// With a first line that declares what they do, rightly or wrongly.
const std::vector<std::string> &declared_scripts();

}  // namespace liblock_test
