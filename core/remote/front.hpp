// SPDX-License-Identifier: MIT
// The front of a remote context: requests of one process for one key stand in line here, and one of them at a time
// asks the servers; what it was granted goes from hand to hand within the process, without a round trip, for as long
// as that wrongs nobody outside. Pure: it is told the time, and says whose turn it is. Loop thread.
//
//   line     meaning                                            left by
//   Asked    one of it, or more, ask the servers; the others    a grant: Held; its end without one: the next asks;
//            stand                                              nobody is left: gone
//   Held     a lease of this process is on the key; at each     an outsider's notice, and the budget is over: Closing;
//            release it goes on to the first that stands        a release that must be real: Asked, or gone; a loss:
//                                                               Asked, or gone
//   Closing  Held, and the first that stands asks already, so   the release, which is real: Asked
//            that its place among outsiders is the one that it
//            came for
//
// A release is real, which means that the servers hear of it and serve whoever is next there, when
//   - outsiders wait, and have been known to for longer than the budget;
//   - the lease has gone from hand to hand for foreign_gap_ms: who only polls must find the key free now and then;
//   - one of the line is at the servers: its turn is decided there;
//   - the next could not have had this lease from them: other terms, too little of it left, no token left, or a change
//     of the lease that was not meant for him;
//   - it may be lost, or an outsider's notice may have been missed: word of that has come, and no answer yet.
// The first that stands asks before a real release, so that nobody who came after it comes between.
// Invariants: tokens rise with every hand (a grant reserves a block of them, and what tells the server who holds now
// reserves more); a lease is in one line at most; nobody stands in a line that nobody of it asks or holds for.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "base/list.hpp"
#include "engine/acquire_params.hpp"
#include "remote/lease.hpp"

namespace liblock {

struct FrontLine;

// A request, as far as the front knows it. Outlives its place.
struct FrontWaiter {
  enum class Place : uint8_t {
    None,      // the front has nothing to do with it
    Standing,  // here
    Sent       // at the servers, for its line
  };
  FrontWaiter(const AcquireParams &params, const LeaseTerms &terms) : wants(params), lease_terms(terms) {}
  bool stands() const { return place == Place::Standing; }
  // Others of its process stand behind it, or hold what it is to have next.
  bool leads_others() const;
  // It asks while the process still holds the key, so as to have its place before that is given back: a release that
  // came before it would let it have the key at once, and nobody else ever.
  bool asks_before_release() const;

  const AcquireParams &wants;
  const LeaseTerms &lease_terms;
  FrontLine *line = nullptr;
  int64_t sort_key = 0;
  Nanos ttl_most = kNever;  // that it can be granted
  ListLinks<FrontWaiter> links;
  Place place = Place::None;
};

struct FrontLine final : public Timer {
  // Who tells the servers who holds now.
  class Teller {
   public:
    virtual void tell(FrontLine &line) = 0;
    // It goes, though it was about to.
    virtual void stop_telling(FrontLine &line) = 0;

   protected:
    ~Teller() = default;
  };
  using Standing = List<FrontWaiter, &FrontWaiter::links>;

  explicit FrontLine(Teller &t) : teller(t) {}
  void fire(Nanos) override {
    is_armed = false;
    teller.tell(*this);
  }
  bool is_empty() const { return lease == nullptr && sent == 0 && standing.empty(); }

  Teller &teller;
  const SpareText *lock_key = nullptr;    // as the table has it
  Standing standing;                      // by their sort keys
  size_t sent = 0;                        // of the line, at the servers
  int64_t sent_key = 0;                   // the largest sort key of those
  Nanos sent_since = INT64_MIN;           // when the last that was sent came, and the ticket that it was given
  int64_t sent_ticket_us = 0;
  Lease *lease = nullptr;                 // that is passed on
  Nanos run_since = 0;                    // a server granted it
  Nanos others_at = kNever;               // since when outsiders are known to wait
  bool may_have_missed = false;           // an outsider's notice
  uint64_t token_last = 0;                // of the holder
  uint64_t token_end = 0;                 // the first behind the block that it is of
  uint64_t more_token = 0, more_end = 0;  // the next block; 0: there is none
  Status trouble = Status::OK;            // of the one that asked last
  // What the server knows of the holder.
  bool is_told = true;
  bool is_armed = false;
  bool holder_is_named = false;
  size_t standing_told = 0;
  uint32_t tells_open = 0;
  Nanos told_at = 0;
  uint32_t pins = 0;  // somebody works with it: it stays, empty or not
};

inline bool FrontWaiter::leads_others() const {
  return line != nullptr && (line->lease != nullptr || !line->standing.empty());
}
inline bool FrontWaiter::asks_before_release() const { return line != nullptr && line->lease != nullptr; }

class Front {
 public:
  static constexpr uint64_t kTokenBlock = 256;
  struct Options {
    Nanos budget =
        -1;  // for so long a lease goes on after outsiders were heard of; negative: there is no front
    Nanos gap = 100 * kMillisecond;  // negative: a key is never left free on purpose
    // What a grant reserves, as hand_on.lua does; four times as many are asked for when half of those are used up.
    uint64_t tokens = kTokenBlock;
  };
  static Options options(Nanos budget, int64_t foreign_gap_ms, uint64_t tokens = kTokenBlock) {
    return {budget, foreign_gap_ms < 0 ? -1 : nanos_from_ms(foreign_gap_ms), tokens};
  }

  Front(const Options &options, FrontLine::Teller &teller) : options_(options), teller_(teller) {}
  bool is_on() const { return options_.budget >= 0; }
  // Whether it could take a lease over that others held.
  static bool may_stand(const AcquireParams &params, size_t keys);

  // It wants the key. True: it stands here; false: it is to ask the servers.
  bool comes(FrontWaiter &waiter, Bytes lock_key, Nanos now);
  // It goes to the servers all the same.
  void sends(FrontWaiter &waiter);
  // The ticket that it is sent with, where it came at that time, which a server's clock would call that. Who came later
  // has the later one, also where the clock is not as fine as that, or is estimated anew between the two.
  static int64_t ticket_us(FrontWaiter &waiter, Nanos since, int64_t by_clock_us);
  // It ends, or is not asked for any more. The line, where it has become somebody else's turn to ask.
  FrontLine *leaves(FrontWaiter &waiter, Nanos now);
  // One that was sent has its lock.
  FrontLine &granted(FrontWaiter &waiter, Lease &lease, bool others_wait, Nanos now);

  enum class Turn : uint8_t {
    PassOn,   // the first that stands gets the lease now
    Release,      // for real: nobody stands, or one of the line asks already, or there is no token left
    ReleaseAfter  // for real; the first that stands asks before it, so that it keeps its place while the key is free
  };
  Turn turn(const FrontLine &line, Nanos now, Nanos lease_now) const;
  // The first that stands has the lease, and the next token.
  FrontWaiter &pass_on(FrontLine &line);
  // The lease is no more, or no longer ours. The line, where somebody must ask now.
  FrontLine *gone(Lease &lease, Nanos now);
  // Who must ask now; nullptr: nobody.
  FrontWaiter *to_ask(FrontLine &line, Nanos now) const;

  FrontLine *find(Bytes lock_key);
  const FrontLine *find(Bytes lock_key) const;
  void others_wait(FrontLine &line, Nanos now) const;
  // How many tokens to reserve with the next word to the server.
  uint64_t tokens_wanted(const FrontLine &line) const;
  static void reserved(FrontLine &line, uint64_t first, uint64_t count);

  static int64_t position(const FrontWaiter &waiter);
  void pin(FrontLine &line) const { ++line.pins; }
  void unpin(FrontLine &line);
  size_t size() const { return lines_.size(); }
  template <typename Visit>
  void each(Visit visit) {
    for (auto &[key, line] : lines_) visit(line);
  }
  template <typename Visit>
  void each(Visit visit) const {
    for (const auto &[key, line] : lines_) visit(line);
  }

 private:
  // May throw, as far as the table knows: it keeps the hash of each name, then, instead of reckoning it anew.
  struct Hash {
    using is_transparent = void;
    size_t operator()(Bytes name) const { return std::hash<Bytes>()(name); }
  };
  using Lines = std::unordered_map<SpareText, FrontLine, Hash, std::equal_to<>,
                                   SpareAllocator<std::pair<const SpareText, FrontLine>>>;
  FrontLine &line_of(Bytes lock_key);
  void stand(FrontLine &line, FrontWaiter &waiter);
  static void nobody_asks(FrontLine &line);
  static bool goes_before(const FrontWaiter &waiter, int64_t sort_key);
  void drop_if_empty(FrontLine &line);
  bool is_closing(const FrontLine &line, Nanos now) const;
  static bool has_token(const FrontLine &line);
  static bool suits(const FrontLine &line, const FrontWaiter &waiter, Nanos lease_now);

  const Options options_;
  FrontLine::Teller &teller_;
  Lines lines_;
  int64_t ticket_last_ = INT64_MIN;  // never falls, so that equal times keep their order of arrival
};

}  // namespace liblock
