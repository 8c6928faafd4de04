// SPDX-License-Identifier: MIT
// What one acquire, and the lock that it gets, tell instrumentation. There is one where somebody listens and the
// sampling says so; it is held by the parameters of the acquire (as the sink of losses, so that every engine tells
// it of a loss), by the engine's record of the lock, and by the context under the lock's handle.
//
//   state_    told so far                    left by
//   Asking    its beginning                  obtained(), failed()
//   Held      that it was obtained           released(), a loss
//   Over      everything                     -
//
// What an engine tells may be told under its locks: events are linked in their order, entries of the log are kept.
// Afterwards, with no lock held, it must see to flush(): in the local table by Deferred::tell(). An engine without
// locks, as one on a loop's thread, calls the tell_… functions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/spin_lock.hpp"
#include "engine/acquire_params.hpp"
#include "engine/handle.hpp"
#include "engine/owner.hpp"

namespace liblock {

class Instruments;
struct Told;

// What an attempt saw of a key: borrowed for the call; what is not known stays as it is.
struct Sight {
  Bytes key;              // of several keys the one that it is about
  int64_t position = -1;  // of the request; 0: next in line
  int64_t length = -1;    // waiters of the key
  Bytes first;            // owner of the first in the queue
  Bytes held_by;          // owner, and of his lock:
  Bytes instance;
  uint64_t token = 0;
  int64_t remaining_ms = -1;
  uint32_t hold_count = 0;
  uint64_t count = 0;  // of what the entry counts
  Nanos ttl = -1;      // a new one
  Nanos hold = -1;     // how long it was held
  Status status = Status::OK;
};

class Trace final : public CompletionSink, public std::enable_shared_from_this<Trace> {
 public:
  struct Wants {
    bool events = false;
    bool log = false;
    bool attempts = false;
    bool histograms = false;
  };
  struct Beginning {
    std::span<const Bytes> keys;
    const Owner *owner = nullptr;
    const AcquireParams *params = nullptr;
    const Clock *clock = nullptr;
    uint64_t tag = 0;
    int32_t instrument = 0;  // LIBLOCK_INSTRUMENT_…
  };
  Trace(std::shared_ptr<Instruments> instruments, const Beginning &beginning, const Wants &wants);
  ~Trace() override;

  // Of an engine, as given_back(). None throws.
  bool logs_attempts() const { return wants_.attempts; }
  void attempt(int32_t entry, const Sight &sight = {}) noexcept;  // LIBLOCK_ENTRY_ATTEMPT_…
  void requeued(const Sight &sight) noexcept;
  void handed_off(const Sight &sight) noexcept;      // key, length, token
  void deadlock_found(const Sight &sight) noexcept;  // count: owners of the cycle
  // With no lock held: what was told is on its way.
  void flush() noexcept;

  // The same for an engine that holds no lock when it tells; trace is that of the parameters, or nullptr.
  static void tell_attempt(Trace *trace, int32_t entry, const Sight &sight = {}) noexcept;
  static void tell_requeued(Trace *trace, const Sight &sight) noexcept;
  static void tell_handed_off(Trace *trace, const Sight &sight) noexcept;
  static void tell_deadlock(Trace *trace, const Sight &sight) noexcept;

  // Of the context, with no lock held.
  void begun() noexcept;
  void obtained(const Grant &grant) noexcept;
  void failed(Status status, const Grant &grant) noexcept;
  void extended(Nanos ttl, Nanos elapsed) noexcept;
  // By its holder; LOST: the release found it lost.
  void released(Status status, Nanos elapsed) noexcept;
  bool put_notice(const liblock_completion &completion) override;
  void given_back(Nanos left) noexcept override;
  const Owner *owner() const { return owner_; }  // only compared

  // Of a Deferred: true when it has to be linked by the caller, who then has it alone.
  bool begin_telling();
  void end_telling();
  Trace *next_told = nullptr;

 private:
  enum class State : uint8_t { Asking, Held, Over };
  struct Later;

  std::unique_ptr<Told> told(int32_t kind, Status status = Status::OK);
  void emit(std::unique_ptr<Told> told);
  void tell_extended(Nanos ttl, Nanos elapsed);
  void tell_end(int32_t entry, int32_t kind, Status status, Nanos elapsed);
  void log(int32_t entry, const Sight &sight = {});
  void write(const Later &later);
  void lost() noexcept;
  bool end(State from);

  const std::shared_ptr<Instruments> instruments_;
  const Wants wants_;
  const Clock clock_;
  const Nanos began_at_;
  const Owner *const owner_;
  const std::string owner_id_;
  const uint64_t tag_;
  const Nanos ttl_;
  const Nanos queue_ttl_;
  const bool extends_;
  const std::shared_ptr<CompletionSink> losses_;  // the caller's own
  std::string key_bytes_;
  std::vector<liblock_bytes> keys_;

  SpinLock mutex_;
  State state_ = State::Asking;  // guarded by mutex_
  bool lost_early_ = false;      // the same: lost before the context knew of the grant
  Nanos given_back_ = -1;   // the same: what the lease was set back to when the handle went; -1: it was not
  Later *later_ = nullptr;  // the same: entries that nobody could write yet
  Later **later_tail_ = &later_;
  // Constant once it is Held.
  Handle lock_ = 0;
  uint64_t token_ = 0;
  Nanos acquire_ = 0;
  Nanos obtained_at_ = 0;
  int64_t obtained_at_us_ = -1;
  uint32_t hold_count_ = 0;

  std::atomic<bool> telling_{false};
  std::shared_ptr<Trace> kept_;  // of who linked it
};

}  // namespace liblock
