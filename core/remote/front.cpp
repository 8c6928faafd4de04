// SPDX-License-Identifier: MIT
// See front.hpp. A FIFO waiter goes to the end of its line and a LIFO one to the front in constant time; only a place
// in the middle is searched, from the end.
#include "remote/front.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace liblock {

// One lock of one key, which looks like any other on the server: what of it only its own attempt could say there, or
// a server must do for it, is not passed on.
bool Front::may_stand(const AcquireParams &params, size_t keys) {
  return keys == 1 && params.order != LIBLOCK_ORDER_ANY && !params.tries_once() && params.replicas == 0 &&
         params.value.empty() && params.metadata.empty() && params.max_hold == kNever &&
         params.queue_ttl == kNever && params.progress == nullptr;
}

FrontLine &Front::line_of(Bytes lock_key) {
  const auto found = lines_.find(lock_key);
  if (found != lines_.end()) return found->second;
  const auto made = lines_.try_emplace(SpareText(lock_key), teller_).first;
  made->second.lock_key = &made->first;
  return made->second;
}

const FrontLine *Front::find(Bytes lock_key) const {
  const auto found = lines_.find(lock_key);
  return found == lines_.end() ? nullptr : &found->second;
}

FrontLine *Front::find(Bytes lock_key) {
  return const_cast<FrontLine *>(std::as_const(*this).find(lock_key));
}

bool Front::goes_before(const FrontWaiter &waiter, int64_t sort_key) {
  return waiter.sort_key < sort_key ||
         (waiter.wants.order == LIBLOCK_ORDER_LIFO && waiter.sort_key == sort_key);
}

bool Front::comes(FrontWaiter &waiter, Bytes lock_key, Nanos now) {
  LIBLOCK_ASSERT(waiter.place == FrontWaiter::Place::None);
  FrontLine &line = line_of(lock_key);
  ticket_last_ = std::max(ticket_last_, ticket_at(now));
  waiter.sort_key = waiter.wants.sort_key(ticket_last_);
  waiter.line = &line;
  if (line.is_empty()) {
    waiter.place = FrontWaiter::Place::Sent;
    line.sent = 1;
    line.sent_key = waiter.sort_key;
    return false;
  }
  // Before one that is at the servers it can only be there.
  const bool overtakes = line.sent != 0 && goes_before(waiter, line.sent_key);
  stand(line, waiter);
  if (!overtakes && to_ask(line, now) != &waiter) return true;
  sends(waiter);
  return false;
}

void Front::stand(FrontLine &line, FrontWaiter &waiter) {
  waiter.place = FrontWaiter::Place::Standing;
  FrontLine::Standing &standing = line.standing;
  FrontWaiter *before = nullptr;
  if (!standing.empty() && goes_before(waiter, standing.front()->sort_key)) {
    before = standing.front();
  } else {
    for (FrontWaiter *other = standing.back(); other != nullptr && goes_before(waiter, other->sort_key);
         other = FrontLine::Standing::prev(other))
      before = other;
  }
  standing.insert(&waiter, before);
}

void Front::sends(FrontWaiter &waiter) {
  LIBLOCK_ASSERT(waiter.stands());
  FrontLine &line = *waiter.line;
  line.standing.remove(&waiter);
  waiter.place = FrontWaiter::Place::Sent;
  line.sent_key = line.sent == 0 ? waiter.sort_key : std::max(line.sent_key, waiter.sort_key);
  ++line.sent;
}

int64_t Front::ticket_us(FrontWaiter &waiter, Nanos since, int64_t by_clock_us) {
  FrontLine &line = *waiter.line;
  const bool is_later = waiter.wants.order != LIBLOCK_ORDER_LIFO && since >= line.sent_since;
  line.sent_ticket_us = is_later ? std::max(by_clock_us, line.sent_ticket_us + 1) : by_clock_us;
  line.sent_since = since;
  return line.sent_ticket_us;
}

FrontLine *Front::leaves(FrontWaiter &waiter, Nanos now) {
  const FrontWaiter::Place place = std::exchange(waiter.place, FrontWaiter::Place::None);
  if (place == FrontWaiter::Place::None) return nullptr;
  FrontLine &line = *std::exchange(waiter.line, nullptr);
  if (place == FrontWaiter::Place::Standing) {
    line.standing.remove(&waiter);
  } else {
    --line.sent;
  }
  if (line.sent == 0) nobody_asks(line);
  if (to_ask(line, now) != nullptr) return &line;
  drop_if_empty(line);
  return nullptr;
}

// What befell one that asked is nothing to those who wait for a lease that is here; and whoever else waited then, it
// was not for one that may come.
void Front::nobody_asks(FrontLine &line) {
  if (line.lease != nullptr) {
    line.trouble = Status::OK;
  } else {
    line.others_at = kNever;
  }
}

// A lease that the line had already is lost, though nobody has said so yet: it is nobody's to pass on.
FrontLine &Front::granted(FrontWaiter &waiter, Lease &lease, bool others_wait, Nanos now) {
  LIBLOCK_ASSERT(waiter.place == FrontWaiter::Place::Sent && lease.line == nullptr);
  FrontLine &line = *std::exchange(waiter.line, nullptr);
  waiter.place = FrontWaiter::Place::None;
  --line.sent;
  if (line.lease != nullptr) line.lease->line = nullptr;
  line.lease = &lease;
  lease.line = &line;
  line.run_since = now;
  // Or word of others has come before the grant's.
  line.others_at = others_wait || line.others_at != kNever ? now : kNever;
  line.token_last = lease.token;
  line.token_end = lease.token + options_.tokens;
  line.more_token = line.more_end = 0;
  line.trouble = Status::OK;
  line.is_told = true;
  line.tells_open = 0;
  line.standing_told = 0;
  return line;
}

bool Front::has_token(const FrontLine &line) {
  return line.token_last + 1 < line.token_end || line.more_token != 0;
}

bool Front::is_closing(const FrontLine &line, Nanos now) const {
  return line.others_at != kNever && now - line.others_at >= options_.budget;
}

// It could have been granted this lease as it is now: a quarter of what it would be granted at first is left at least.
bool Front::suits(const FrontLine &line, const FrontWaiter &waiter, Nanos lease_now) {
  const Lease &lease = *line.lease;
  const LeaseTerms &terms = waiter.lease_terms;
  if (lease.ttl != std::min(terms.ttl, waiter.ttl_most) || lease.renews != terms.renews) return false;
  const Nanos ends_at = lease.ends_at.load();
  if (ends_at == kNever) return true;
  const Nanos left = ends_at - lease_now;
  return left > waiter.wants.min_remaining && left >= terms.in_queue / 4;
}

Front::Turn Front::turn(const FrontLine &line, Nanos now, Nanos lease_now) const {
  const Lease &lease = *line.lease;
  const bool is_as_granted = lease.is_plain && lease.change == 0 && lease.token == line.token_last &&
                             lease.keys.size() == 1 && !lease.has_metadata && lease.hold_until == kNever;
  const bool is_sure = !lease.is_over(lease_now) && !lease.in_doubt && !lease.must_verify;
  if (line.standing.empty() || line.sent != 0 || !has_token(line)) return Turn::Release;
  const bool is_for_others = line.may_have_missed || is_closing(line, now) ||
                             (options_.gap >= 0 && now - line.run_since >= options_.gap);
  const bool goes_on =
      is_as_granted && is_sure && !is_for_others && suits(line, *line.standing.front(), lease_now);
  return goes_on ? Turn::PassOn : Turn::ReleaseAfter;
}

FrontWaiter &Front::pass_on(FrontLine &line) {
  LIBLOCK_ASSERT(line.lease != nullptr && has_token(line));
  if (line.token_last + 1 < line.token_end || line.more_token == 0) {
    ++line.token_last;
  } else {
    line.token_last = std::exchange(line.more_token, 0);
    line.token_end = std::exchange(line.more_end, 0);
  }
  line.lease->token = line.token_last;
  line.is_told = false;
  FrontWaiter &next = *line.standing.pop_front();
  next.place = FrontWaiter::Place::None;
  next.line = nullptr;
  return next;
}

FrontLine *Front::gone(Lease &lease, Nanos now) {
  FrontLine *line = std::exchange(lease.line, nullptr);
  if (line == nullptr) return nullptr;
  line->lease = nullptr;
  line->others_at = kNever;
  line->is_told = true;
  if (to_ask(*line, now) != nullptr) return line;
  drop_if_empty(*line);
  return nullptr;
}

// One at a time is enough: who is granted brings the next.
FrontWaiter *Front::to_ask(FrontLine &line, Nanos now) const {
  if (line.standing.empty() || line.sent != 0) return nullptr;
  return line.lease == nullptr || is_closing(line, now) ? line.standing.front() : nullptr;
}

void Front::others_wait(FrontLine &line, Nanos now) const {
  if (line.lease != nullptr || line.sent != 0) line.others_at = std::min(line.others_at, now);
}

uint64_t Front::tokens_wanted(const FrontLine &line) const {
  const bool has_many = line.token_end - line.token_last > 2 * options_.tokens;
  return has_many || line.more_token != 0 ? 0 : 4 * options_.tokens;
}

// Of an answer: it may be to an older word, or lie.
void Front::reserved(FrontLine &line, uint64_t first, uint64_t count) {
  if (count == 0 || first < line.token_end || line.more_token != 0) return;
  line.more_token = first;
  line.more_end = first + count;
}

int64_t Front::position(const FrontWaiter &waiter) {
  int64_t before = 0;
  for (const FrontWaiter *w = FrontLine::Standing::prev(&waiter); w != nullptr;
       w = FrontLine::Standing::prev(w))
    ++before;
  return before;
}

void Front::unpin(FrontLine &line) {
  --line.pins;
  drop_if_empty(line);
}

void Front::drop_if_empty(FrontLine &line) {
  if (!line.is_empty() || line.pins != 0) return;
  if (line.is_armed) teller_.stop_telling(line);
  lines_.erase(lines_.find(*line.lock_key));
}

}  // namespace liblock
