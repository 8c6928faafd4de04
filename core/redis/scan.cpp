// SPDX-License-Identifier: MIT
// See scan.hpp.
#include "redis/scan.hpp"

#include <algorithm>

#include "remote/ending.hpp"

namespace liblock {

namespace {

constexpr size_t kNameBytes = 1'024;  // the longest side key, and room for the protocol

// A prefix as a glob pattern that matches it alone.
std::string escaped(Bytes prefix) {
  std::string pattern;
  for (const char c : prefix) {
    if (c == '*' || c == '?' || c == '[' || c == ']' || c == '\\' || c == '^') pattern.push_back('\\');
    pattern.push_back(c);
  }
  return pattern;
}

class Scan final : public Command {
 public:
  Scan(Link &link, const Keyspace &keyspace, Scanned what, Bytes key_prefix, uint64_t cursor, uint32_t count,
       std::function<void(Page)> done)
      : keyspace_(keyspace), what_(what), cursor_(cursor), count_(count), done_(std::move(done)) {
    const std::string prefix = escaped(keyspace.lock_key(key_prefix));
    const std::string side_keys = what == Scanned::Queues ? "[qw]:{" : "k:{";
    pattern_ =
        what == Scanned::Locks ? prefix + "*" : std::string(Keyspace::kReserved) + side_keys + prefix + "*}";
    link.send(*this);
  }
  void encode(std::string &wire) const override {
    encode_words(wire, {"SCAN", std::to_string(cursor_), "MATCH", pattern_, "COUNT", std::to_string(count_),
                        "TYPE", what_ == Scanned::Locks ? "string" : "zset"});
  }
  // A page may have more than was asked for: whole buckets come.
  ReplyLimits limits() const override {
    const size_t names = 2 * size_t{count_} + 1'024;
    return {names * kNameBytes, names, 4};
  }
  void replied(const Reply &reply) override {
    Page page;
    if (reply.is(Reply::Kind::Error)) {
      page.status = classify_error(reply.text).status;
      page.why = explained(reply.text);
      return end(std::move(page));
    }
    for (const char c : reply.at(0).text) page.next = page.next * 10 + static_cast<uint64_t>(c - '0');
    for (const Reply &name : reply.at(1).elements) {
      Bytes lock_key = name.text, key;
      if (what_ != Scanned::Locks && !Keyspace::lock_key_of(name.text, lock_key)) continue;
      if (keyspace_.key_of(lock_key, key)) page.lock_keys.emplace_back(lock_key);
    }
    if (what_ == Scanned::Queues) {
      std::sort(page.lock_keys.begin(), page.lock_keys.end());
      page.lock_keys.erase(std::unique(page.lock_keys.begin(), page.lock_keys.end()), page.lock_keys.end());
    }
    end(std::move(page));
  }
  void failed(const Failure &failure) override { end({failure.status, failure.text, 0, {}}); }

 private:
  void end(Page page) { end_call(this, done_, std::move(page)); }
  const Keyspace &keyspace_;
  const Scanned what_;
  std::string pattern_;
  const uint64_t cursor_;
  const uint32_t count_;
  std::function<void(Page)> done_;
};

}  // namespace

void scan(Link &link, const Keyspace &keyspace, Scanned what, Bytes key_prefix, uint64_t cursor,
          uint32_t count, std::function<void(Page)> done) {
  new Scan(link, keyspace, what, key_prefix, cursor, count, std::move(done));
}

}  // namespace liblock
