// SPDX-License-Identifier: MIT
// See intervals.hpp.
#include "intervals.hpp"

#include <algorithm>
#include <tuple>

namespace liblock_test {

std::string Span::to_text() const {
  return key + " " + who + " " + (token == 0 ? "-" : std::to_string(token)) + " " + std::to_string(from) +
         " " + std::to_string(until);
}

std::vector<std::string> sweep(std::vector<Span> spans) {
  std::vector<std::string> wrong;
  std::sort(spans.begin(), spans.end(), [](const Span &a, const Span &b) {
    return std::tie(a.key, a.from, a.until) < std::tie(b.key, b.from, b.until);
  });
  const Span *longest = nullptr;  // of this key: the one that ends last of those that began before
  const Span *tokened = nullptr;  // of this key: the last with a token
  for (const Span &span : spans) {
    if (longest != nullptr && longest->key != span.key) longest = tokened = nullptr;
    if (span.until < span.from) wrong.push_back("ends before it begins: " + span.to_text());
    if (longest != nullptr && span.from < longest->until)
      wrong.push_back("two at once: " + longest->to_text() + " and " + span.to_text());
    if (longest == nullptr || span.until > longest->until) longest = &span;
    if (span.token == 0) continue;
    if (tokened != nullptr && span.token <= tokened->token)
      wrong.push_back("the later token is not larger: " + tokened->to_text() + " and " + span.to_text());
    tokened = &span;
  }
  return wrong;
}

}  // namespace liblock_test
