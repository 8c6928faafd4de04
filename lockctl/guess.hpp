// SPDX-License-Identifier: MIT
// What somebody may have meant by a word that lockctl does not know: words of other tools and of the library.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace lockctl {

struct Guess {
  std::string_view said, meant;
};

constexpr std::array kGuesses = {
    Guess{"list", "ls"},        Guess{"inspect", "info"},   Guess{"get", "info"},
    Guess{"show", "info"},      Guess{"unlock", "release"}, Guess{"lock", "run"},
    Guess{"acquire", "run"},    Guess{"--nowait", "--no-wait"}};

// "" = nobody knows.
inline std::string_view meant_by(std::string_view word) {
  const auto guess =
      std::find_if(kGuesses.begin(), kGuesses.end(), [word](const Guess &one) { return one.said == word; });
  return guess == kGuesses.end() ? std::string_view() : guess->meant;
}

}  // namespace lockctl
