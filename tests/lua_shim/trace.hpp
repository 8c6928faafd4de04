// SPDX-License-Identifier: MIT
// Random commands from a seed: forms with places to fill, few keys, so that commands meet each other's data, and
// now and then a word too many, too few or of the wrong kind.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace liblock_test {

using Words = std::vector<std::string>;

class Trace {
 public:
  explicit Trace(uint64_t seed) : random_(seed) {}

  // The next command. Times in it are either far away or long ago, so that two servers whose clocks differ by a
  // little still agree.
  Words next();
  uint64_t below(uint64_t bound) { return random_() % bound; }

 private:
  std::string fill(std::string_view place);
  Words fill_form(std::string_view form);
  Words script_call();
  void spoil(Words &words);

  std::mt19937_64 random_;
};

// Scripts that random traces call, each with up to three keys and four arguments.
const std::vector<std::string> &trace_scripts();

}  // namespace liblock_test
