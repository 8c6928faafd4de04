// SPDX-License-Identifier: MIT
// Replies of a server, read by hiredis' reader into memory of ours, within bounds of ours: whatever a server
// sends, it makes us hold no more than the limits say. A reply lives until the next one is asked for, and the bytes
// that were fed until then. No text is copied: each is the part of those bytes where it lies, unless its reply comes in
// several pieces; such a one has its earlier texts in memory of the reader.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/hash.hpp"

struct redisReader;

namespace liblock {

struct Reply {
  enum class Kind : uint8_t { Nil, Integer, Text, Status, Error, Array };
  Kind kind = Kind::Nil;
  int64_t integer = 0;
  Bytes text;  // Text, Status, Error
  std::span<const Reply> elements;

  bool is(Kind k) const { return kind == k; }
  // The element, or a nil one behind the end: a short array reads as one of nils, which no schema takes.
  const Reply &at(size_t index) const;
  // So many from there on, each an integer.
  bool has_integers(size_t from, size_t count) const;
  // What a server counted. Cut far above any queue: whoever goes through it comes to an end, whatever a server says.
  static constexpr int64_t kCountMost = 1'000'000;
  size_t count() const { return static_cast<size_t>(std::clamp<int64_t>(integer, 0, kCountMost)); }
  // A moment in microseconds since 1970, from which any other one can be taken away.
  static constexpr int64_t kTimeMost = INT64_MAX / 4;
  bool is_time() const { return is(Kind::Integer) && integer >= 0 && integer <= kTimeMost; }
};

struct ReplyLimits {
  size_t reply_bytes = 64 * 1024;  // text of one reply in all, and bytes buffered for it
  size_t elements = 2'048;         // of one reply in all
  size_t depth = 4;
};

class ReplyReader {
 public:
  ReplyReader();
  ~ReplyReader();
  ReplyReader(const ReplyReader &) = delete;
  ReplyReader &operator=(const ReplyReader &) = delete;

  // Of the reply that comes next, or is under way.
  void allow(const ReplyLimits &limits) { limits_ = limits; }
  // False: the bytes are no replies, or more than the limits allow; error() says which, and nothing more can
  // be read. They stay where they are until next() has said that there is no more.
  bool feed(Bytes bytes);
  // nullptr: none is complete, or it is broken. Whoever has fed asks until then.
  const Reply *next();
  bool is_broken() const { return !error_.empty(); }
  // Of those, the one that is nobody's fault.
  bool lacks_memory() const { return lacks_memory_; }
  const std::string &error() const { return error_; }

 private:
  struct Functions;
  Reply *take_nodes(size_t count);
  Bytes take_text(Bytes text);
  void keep_texts(Reply &reply);
  Bytes keep(Bytes text);
  void no_memory();
  void forget();

  ReplyLimits limits_;
  redisReader *reader_;
  Bytes fed_;  // last
  std::string error_;
  const char *limit_hit_ = nullptr;
  bool lacks_memory_ = false;
  std::vector<std::unique_ptr<Reply[]>> nodes_;
  std::vector<std::unique_ptr<char[]>> texts_;
  size_t nodes_used_ = 0;  // of all
  size_t text_used_ = 0;
  size_t chunk_used_ = 0;
  size_t chunk_size_ = 0;
  std::unique_ptr<Reply[]> first_nodes_;  // kept from reply to reply, as is the first chunk of text
};

}  // namespace liblock
