// SPDX-License-Identifier: MIT
// What the machine did not give the library's own threads, in words that say what helps.
#pragma once

#include <string>
#include <system_error>

namespace liblock {

inline constexpr char kRaiseTheLimit[] = "raise the limit of threads, or of descriptors";

inline std::string explain(const std::system_error &lack) {
  return std::string(lack.what()) + "; " + kRaiseTheLimit;
}

}  // namespace liblock
