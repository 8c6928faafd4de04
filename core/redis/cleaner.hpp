// SPDX-License-Identifier: MIT
// What must not stay on the server: attempts that may have been granted without anybody knowing, and releases
// that were not confirmed. Each is a compare-and-delete that is repeated, on every new connection and by a
// timer, until an answer shows that it cannot be needed any more. Loop thread.
//
//   entry     is over when
//   Undo      an answer came and the server's time in it is behind the attempt's not_after, so that the attempt
//             cannot be carried out later any more; or its lease would have ended by itself
//   Release   an answer came; or the lease has ended by itself
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "engine/handle.hpp"
#include "redis/link.hpp"
#include "remote/attempt_ids.hpp"
#include "remote/lock_keys.hpp"

namespace liblock {

class Instance;

class Cleaner {
 public:
  struct Key {
    std::string lock_key;
    AttemptId id;
  };
  explicit Cleaner(Instance &instance) : instance_(instance) {}
  ~Cleaner();

  // The attempt's places in queues go as well. ends_at: when the grant would end by itself; kNever: it has no expiry.
  void undo(const AttemptId &id, const LockKeys &lock_keys, int64_t not_after_us, Nanos ends_at);
  // handle, token: of the lock that the event about the end of the doubt names.
  void release(std::vector<Key> keys, Nanos ends_at, Handle handle, uint64_t token);
  bool empty() const { return entries_.empty(); }
  void on_connected();
  // The context closes: what is left will run out by itself.
  void stop();

 private:
  class Entry;
  void begin(Entry &entry);
  void over(Entry &entry);

  Instance &instance_;
  std::map<uint64_t, Entry *> entries_;  // by age: what was asked for first is sent first
  uint64_t numbers_ = 0;
};

}  // namespace liblock
