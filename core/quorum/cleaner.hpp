// SPDX-License-Identifier: MIT
// What must not stay on nodes: attempts that may have been granted without anybody holding them, releases that were
// not confirmed, places in lines. Each is a compare-and-delete at one node, repeated until an answer shows that it
// cannot be needed any more. Loop thread.
//
//   an entry is over when an answer came on the connection that the attempt was sent on, or with a time of the node
//   that is behind the attempt's not_after; or when its lease has ended by itself
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/handle.hpp"
#include "quorum/node.hpp"
#include "remote/lock_keys.hpp"

namespace liblock::quorum {

// A release that somebody was told is in doubt: its end is an event, with the last entry that it needs.
struct Doubt {
  Handle handle = 0;
  uint64_t token = 0;
  bool is_told = false;
};

class Cleaner {
 public:
  explicit Cleaner(Instance &instance) : instance_(instance) {}
  ~Cleaner();

  // not_after_us: 0 where it was answered; generation: of the connection that it was sent on.
  void undo(Node &node, const LockKeys &lock_keys, Bytes id, int64_t not_after_us, uint64_t generation,
            Nanos ends_at, std::shared_ptr<Doubt> doubt = nullptr);
  void leave(Node &node, const LockKeys &lock_keys, Bytes line_id);
  // Nobody but the caller refers to it any more: where it was told, its end is.
  void settle(std::shared_ptr<Doubt> doubt);
  bool empty() const { return entries_.empty(); }
  void on_ready(Node &node);
  // The context closes: what is left will run out by itself.
  void stop();

 private:
  class Entry;
  void begin(Entry *entry);
  void over(Entry *entry);

  Instance &instance_;
  std::map<uint64_t, Entry *> entries_;  // by age: what was asked for first is sent first
  uint64_t numbers_ = 0;
};

}  // namespace liblock::quorum
