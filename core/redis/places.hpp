// SPDX-License-Identifier: MIT
// The places that requests of this instance have in wait queues on the server. They are kept by saying now and then,
// for many in one call, that they are still wanted; the same call hands a key on that has become free without a word,
// and finds a grant whose message was lost. So it is the safety net of every wait, and always armed. Loop thread.
//
//   a line        the requests of this instance that wait for one key
//   it is due     a third of its shortest lease, or of alive_ms, after it was last heard of; when the lease of the
//                 holder ends; soon, while the key is free or a foreign client has it; at once, after a connection
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "base/list.hpp"
#include "base/spare_memory.hpp"
#include "engine/key_info.hpp"
#include "runtime/timer_heap.hpp"

namespace liblock {

class AcquireRequest;
class Instance;

class Places final : public Timer {
 public:
  explicit Places(Instance &instance);
  ~Places();

  // The request waits for that one of its keys, and for no other one.
  void join(AcquireRequest &request, size_t key);
  void leave(AcquireRequest &request);

  // What an answer of the server says of a key.
  struct Seen {
    int64_t holder_pttl = -1;  // -2: it is free
    bool is_foreign = false;
    int64_t place = -1;  // of the first that waits here; -1: nobody does
  };
  void seen(Bytes lock_key, const Seen &seen);
  // After a connection, and where messages were missed.
  void look_at_all();
  void look_at(Bytes lock_key);

  std::vector<AcquireRequest *> all_of(Bytes lock_key) const;
  void fire(Nanos) override;

 private:
  class StayCall;
  struct Line;
  // By time, those of one time by their keys: an order by addresses would make no two runs alike.
  struct Sooner {
    bool operator()(const std::pair<Nanos, Line *> &a, const std::pair<Nanos, Line *> &b) const;
  };
  using Due = std::set<std::pair<Nanos, Line *>, Sooner, SpareAllocator<std::pair<Nanos, Line *>>>;

  void set_due(Line &line, Nanos at);
  void arm();
  void asked(Bytes lock_key, const Seen *seen);
  Nanos interval_of(const AcquireRequest &request) const;
  Nanos foreign_poll(Line &line, int64_t pttl);

  Instance &instance_;
  std::map<SpareText, Line, std::less<>, SpareAllocator<std::pair<const SpareText, Line>>> lines_;
  Due due_;
};

}  // namespace liblock
