// SPDX-License-Identifier: MIT
// The sweep for spans that processes have written into files: reads lines "KEY WHO TOKEN FROM UNTIL" (TOKEN "-" where
// there is none, times by one clock) from standard input, prints what is wrong, and ends with 1 when anything is.
// Usage: check-intervals < spans
#include <algorithm>
#include <iostream>
#include <sstream>

#include "intervals.hpp"

int main() {
  constexpr size_t kShownMax = 20;
  std::vector<liblock_test::Span> spans;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    liblock_test::Span span;
    std::string token;
    if (!(words >> span.key >> span.who >> token >> span.from >> span.until)) {
      std::cout << "not a span: " << line << "\n";
      return 2;
    }
    if (token != "-") std::istringstream(token) >> span.token;
    spans.push_back(std::move(span));
  }
  const std::vector<std::string> wrong = sweep(spans);
  for (size_t i = 0; i < std::min(wrong.size(), kShownMax); ++i) std::cout << wrong[i] << "\n";
  std::cout << spans.size() << " spans, " << wrong.size() << " wrong\n";
  return wrong.empty() ? 0 : 1;
}
