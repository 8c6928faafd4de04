// SPDX-License-Identifier: MIT
// Names and records on a server. The lock key is prefix + key; side keys begin with "ll1:" and carry the lock
// key as their hash tag. The record is the value of the lock key, one string:
//   ll1|attempt id|change|token|owner|instance|since|value
//     attempt id  32 hexadecimal digits, chosen anew for every attempt
//     change      8 hexadecimal digits, one more with every extend and update, so that an old one is ignored; up
//                 to here the width is fixed, so that scripts compare and replace by position
//     owner       as shown in listings, with '%', '|' and control bytes as %XX
//     since       "@", when the lock was granted in us by the server's clock, ",", the lease it was granted with in
//                 ms, 0 = none, "|"; records without it are read as well. Of a lock that went from hand to hand within
//                 its instance: when its holder got it; before the bar "," and how many stand in line for it there
//     value       whatever the lock carries, to the end
// A string that does not begin so was set by somebody else's client. Pure.
#pragma once

#include <array>
#include <string>

#include "base/hash.hpp"

namespace liblock {

class Keyspace {
 public:
  explicit Keyspace(std::string prefix) : prefix_(std::move(prefix)) {}
  const std::string &prefix() const { return prefix_; }
  std::string lock_key(Bytes key) const { return prefix_ + std::string(key); }
  // The caller's key of a lock key; false: it is not one of ours.
  bool key_of(Bytes lock_key, Bytes &key) const;
  // A lock key that would look like a side key.
  bool is_reserved(Bytes key) const;

  static constexpr Bytes kReserved = "ll1:";
  static constexpr char kWhyReserved[] =
      "prefix and key together must not begin with \"ll1:\", which is for liblock's own records";
  // Appends the name of a side key.
  enum class Side : char {
    Fence = 'f',
    Queue = 'q',    // attempt ids by their sort keys
    Entries = 'e',  // what is known of them, and of their instances
    Anyone = 'w',   // instances to be woken when nobody is in the queue
    Metadata = 'm',
    Gap = 'g',  // when the key was last left free for foreign clients
    // Of a quorum's nodes.
    Tickets = 'k',  // those who stand in line, by their tickets
    Alive = 'a',    // until when each of them counts as alive
    Claim = 'c',    // whom the key, free, is kept for
    Promise = 'p',  // who may change the lock's value next
    Told = 'd',  // of an observer: the token of the last lock that it was told of, with r when that has ended
    Owner = 'o',  // of an owner's id instead of a lock key: what it waits for
    // Of the prefix instead of a lock key.
    Instances = 'n',  // ID|INTERVAL_MS of those that say that they live, by when they are to count as silent
    Turn = 't'        // whose it is to flush the dead
  };
  static std::string side_key(Side side, Bytes lock_key);
  // What stands before the lock key in it, and behind; for who writes it where it belongs.
  static constexpr std::array<char, 7> side_key_head(Side side) {
    return {'l', 'l', '1', ':', static_cast<char>(side), ':', '{'};
  }
  static constexpr Bytes kSideKeyTail = "}";
  // The lock key that a side key belongs to; false: it is no side key.
  static bool lock_key_of(Bytes side_key, Bytes &lock_key);
  static std::string channel_of(Bytes instance) { return "ll1:i:" + std::string(instance); }

 private:
  const std::string prefix_;
};

struct ServerRecord {
  Bytes id;
  uint64_t token = 0;
  std::string owner;  // unescaped
  Bytes instance;
  int64_t since_us = 0;  // 0: not in the record
  int64_t ttl_ms = 0;    // -1: no expiry; 0: not in the record
  Bytes value;
};

inline constexpr size_t kAttemptIdSize = 32;
// False: set by somebody else's client.
bool parse_record(Bytes text, ServerRecord &record);
// The number of a change as the record has it.
std::string change_text(uint32_t change);
// For the owner field.
std::string escape_field(Bytes text);
std::string unescape_field(Bytes text);
// Takes what stands before the next bar off `rest`; false: there is none.
bool next_field(Bytes &rest, Bytes &field);

}  // namespace liblock
