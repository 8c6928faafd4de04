// SPDX-License-Identifier: MIT
// Did a lock do its work? Two judges that know nothing of locks:
//   sweep            of spans that were written down: no two of different holders may overlap on one key, and whoever
//                    began later must have the larger token; each of the two can be asked alone, since there are
//                    worlds (servers whose clocks jump) where only tokens are promised
//   GuardedResource  what a lock protects, as docs/safety.md says it should be built: it remembers the largest token
//                    that it has seen and refuses smaller ones
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace liblock_test {

// When `who` believed that `key` was his, by one clock for all; ends may touch.
struct Span {
  std::string key;
  std::string who;
  uint64_t token = 0;  // 0: none, as of a foreign client
  int64_t from = 0;
  int64_t until = 0;
  // When he asked for it. Only against those who held it already by then is his token judged, since whoever asks
  // while another one is being granted may come before or behind him. -1: when he got it, against all before him.
  int64_t asked = -1;
  std::string to_text() const;
};

// One line for each thing that is wrong; empty: all is well.
std::vector<std::string> overlaps(std::vector<Span> spans);
// A token twice on one key, or one that is not larger than those before.
std::vector<std::string> bad_tokens(std::vector<Span> spans);
std::vector<std::string> sweep(std::vector<Span> spans);

class GuardedResource {
 public:
  // Of a write under a token. False: refused, since somebody later was here.
  bool accept(const std::string &key, uint64_t token) {
    uint64_t &largest = largest_[key];
    if (token < largest) return false;
    largest = token;
    return true;
  }

 private:
  std::map<std::string, uint64_t> largest_;
};

}  // namespace liblock_test
