// SPDX-License-Identifier: MIT
// See intervals.hpp.
#include "intervals.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <unordered_map>

namespace liblock_test {

std::string Span::to_text() const {
  return key + " " + who + " " + (token == 0 ? "-" : std::to_string(token)) + " " + std::to_string(from) +
         " " + std::to_string(until);
}

namespace {

void sort_by_key_and_time(std::vector<Span> &spans) {
  std::sort(spans.begin(), spans.end(), [](const Span &a, const Span &b) {
    return std::tie(a.key, a.from, a.until) < std::tie(b.key, b.from, b.until);
  });
}

}  // namespace

std::vector<std::string> overlaps(std::vector<Span> spans) {
  std::vector<std::string> wrong;
  sort_by_key_and_time(spans);
  const Span *longest = nullptr;  // of this key: the one that ends last of those that began before
  for (const Span &span : spans) {
    if (longest != nullptr && longest->key != span.key) longest = nullptr;
    if (span.until < span.from) wrong.push_back("ends before it begins: " + span.to_text());
    if (longest != nullptr && span.from < longest->until)
      wrong.push_back("two at once: " + longest->to_text() + " and " + span.to_text());
    if (longest == nullptr || span.until > longest->until) longest = &span;
  }
  return wrong;
}

std::vector<std::string> bad_tokens(std::vector<Span> spans) {
  std::vector<std::string> wrong;
  std::erase_if(spans, [](const Span &span) { return span.token == 0; });
  sort_by_key_and_time(spans);
  const auto complain = [&](const Span &first, const Span &second, const char *what) {
    wrong.push_back(what + first.to_text() + " and " + second.to_text());
  };
  std::vector<const Span *> largest;                    // of the first 0, 1, 2… spans of this key
  std::unordered_map<uint64_t, const Span *> by_token;  // of this key
  for (size_t i = 0, first = 0; i < spans.size(); ++i) {
    const Span &span = spans[i];
    if (spans[first].key != span.key) first = i;
    if (first == i) {
      largest.assign(1, nullptr);
      by_token.clear();
    }
    const auto begin = spans.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = spans.begin() + static_cast<std::ptrdiff_t>(i);
    const auto held =
        span.asked < 0 ? end : std::upper_bound(begin, end, span.asked, [](int64_t asked, const Span &one) {
          return asked < one.from;
        });
    const Span *before = largest[static_cast<size_t>(held - begin)];
    const auto [same, is_new] = by_token.emplace(span.token, &span);
    if (!is_new) {
      complain(*same->second, span, "a token twice: ");
    } else if (before != nullptr && span.token < before->token) {
      complain(*before, span, "the later token is not larger: ");
    }
    largest.push_back(largest.back() == nullptr || span.token > largest.back()->token ? &span
                                                                                      : largest.back());
  }
  return wrong;
}

std::vector<std::string> sweep(std::vector<Span> spans) {
  std::vector<std::string> wrong = bad_tokens(spans);
  for (std::string &one : overlaps(std::move(spans))) wrong.push_back(std::move(one));
  return wrong;
}

}  // namespace liblock_test
