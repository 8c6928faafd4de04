// SPDX-License-Identifier: MIT
// What calls are made on: one context, or two of one table, with owners and completion queues, and what became of all
// that was asked for. A request that was accepted ends once, as a call of its kind may, and is heard of where it asked
// to be; at the end nothing is left.
//
// Only one thread calls. Ends that are called back come on the library's thread, which writes them down; they are
// looked at when a call is over, behind one that is called back after them, so that the same bytes mean the same each
// time.
#pragma once

#include <condition_variable>
#include <mutex>
#include <utility>

#include "infos.hpp"

namespace calls {

constexpr size_t kOwners = 2, kSides = 2;

class Stage;

// A context with what belongs to it.
struct Side {
  Stage *stage = nullptr;
  liblock_context *context = nullptr;
  liblock_completions *queue = nullptr;
  liblock_completions *extra = nullptr;  // one that comes and goes, and is read when the input says so; or NULL
  liblock_owner *owners[kOwners] = {};
};

// A request that was accepted.
struct Asked {
  int32_t kind = 0;
  const liblock_completions *queue = nullptr;  // where its end is read; NULL: it is called back, or nobody hears of it
  Grant wanted{};                              // of an acquire
  bool is_heard = true;
  bool has_ended = false;
};

class Stage {
 public:
  explicit Stage(uint8_t how);
  ~Stage();
  Stage(const Stage &) = delete;
  Stage &operator=(const Stage &) = delete;

  Side &side() { return sides_[turn_]; }
  Side &other() { return sides_[1 - turn_]; }
  void take_turns() { turn_ = other().context != nullptr ? 1 - turn_ : turn_; }

  // Nothing ends but by calls: no search for cycles takes a waiter out meanwhile.
  bool is_quiet() const { return how_ / 4 % 2 == 1; }

  // The callback of all calls; user_data is the side.
  static void hear(const liblock_completion *end, void *side);
  // After a call that may have accepted a request: it has one exactly where it says so.
  void expect(liblock_status status, liblock_request request, const Asked &asked);
  liblock_request request(uint8_t on) const;
  // All that has ended until now, but for what the extra queue has.
  void read_ends();
  void read_extra() { static_cast<void>(read_end(side(), side().extra, 0)); }
  // An owner gave these keys back by themselves, also those of a lock that nobody has read of yet.
  void give_back(const liblock_owner *owner, const Keys &keys);

  // What a context is opened and closed with. Afterwards all of its requests have ended; it is there until free().
  void open(Side &side);
  void close(Side &side, uint8_t how);
  void free(Side &side);
  void drop_extra(Side &side);

  Grants grants;
  // How the next acquire is special.
  uint8_t season = 0, season_more = 0;

 private:
  static constexpr int64_t kPatienceMs = 10'000;
  using Key = std::pair<const Side *, liblock_request>;

  bool read_end(Side &side, liblock_completions *queue, int64_t wait_ms);
  void ended(const Side &side, const liblock_completion &end);
  void take_called_back();
  void settle(Side &side);
  void end_requests(Side &side);
  void hear_all(Side &side);

  const uint8_t how_;
  Side sides_[kSides];
  size_t turn_ = 0;
  std::map<Key, Asked> asked_;
  size_t open_calls_ = 0;  // that will be called back
  std::mutex mutex_;       // guards what the library's thread writes: the rest
  std::condition_variable told_;
  std::vector<std::pair<const Side *, liblock_completion>> called_back_;
  size_t closes_ = 0;
};

}  // namespace calls
