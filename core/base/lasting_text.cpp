// SPDX-License-Identifier: MIT
// See lasting_text.hpp. A list that only grows, newest first: it is looked through by calls that have failed.
#include "base/lasting_text.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <new>

#include "base/cut_text.hpp"

namespace liblock {
namespace {

struct Text {
  Text *older;
  char bytes[kLastingTextBytesMax + 1];
};

std::atomic<Text *> newest{nullptr};
std::atomic<size_t> count{0};

const Text *find(std::string_view text, const Text *from, const Text *behind) {
  for (; from != behind; from = from->older) {
    if (text == from->bytes) return from;
  }
  return nullptr;
}

}  // namespace

const char *lasting_text(std::string_view text) {
  text = text.substr(0, text.find('\0'));
  if (text.empty()) return nullptr;
  std::array<char, kLastingTextBytesMax + 1> room;
  text = std::string_view(room.data(), write_cut(text, room.data(), room.size()));
  Text *head = newest.load(std::memory_order_acquire);
  if (const Text *known = find(text, head, nullptr); known != nullptr) return known->bytes;
  if (count.fetch_add(1, std::memory_order_relaxed) >= kLastingTextsMax) {
    count.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  Text *made = new (std::nothrow) Text;
  if (made == nullptr) {
    count.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  std::memcpy(made->bytes, text.data(), text.size());
  made->bytes[text.size()] = '\0';
  for (const Text *seen = head;; seen = head) {
    made->older = head;
    if (newest.compare_exchange_weak(head, made, std::memory_order_release, std::memory_order_acquire))
      return made->bytes;
    // Others were faster: with the same text?
    if (const Text *theirs = find(text, head, seen); theirs != nullptr) {
      delete made;
      count.fetch_sub(1, std::memory_order_relaxed);
      return theirs->bytes;
    }
  }
}

}  // namespace liblock
