// SPDX-License-Identifier: MIT
// The sweep for spans that processes have written into files: reads lines "KEY WHO TOKEN FROM UNTIL [ASKED]" (TOKEN "-"
// where there is none, times by one clock) from standard input, prints what is wrong, and ends with 1 when anything is.
// Usage: check-intervals [--overlaps | --tokens [--asked]] < spans
// Only the one or the other; with --asked a token is judged against those who held the key when it was asked for.
#include <algorithm>
#include <iostream>
#include <set>
#include <sstream>

#include "intervals.hpp"

int main(int count, char **words) {
  constexpr size_t kShownMax = 20;
  const std::set<std::string> asked(words + 1, words + count);
  std::vector<liblock_test::Span> spans;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream fields(line);
    liblock_test::Span span;
    std::string token;
    if (!(fields >> span.key >> span.who >> token >> span.from >> span.until)) {
      std::cout << "not a span: " << line << "\n";
      return 2;
    }
    if (token != "-") std::istringstream(token) >> span.token;
    if (int64_t when = 0; asked.contains("--asked") && fields >> when) span.asked = when;
    spans.push_back(std::move(span));
  }
  const std::vector<std::string> wrong = asked.contains("--overlaps") ? overlaps(spans)
                                         : asked.contains("--tokens") ? bad_tokens(spans)
                                                                      : sweep(spans);
  for (size_t i = 0; i < std::min(wrong.size(), kShownMax); ++i) std::cout << wrong[i] << "\n";
  std::cout << spans.size() << " spans, " << wrong.size() << " wrong\n";
  return wrong.empty() ? 0 : 1;
}
