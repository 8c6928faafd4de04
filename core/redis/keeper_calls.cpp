// SPDX-License-Identifier: MIT
// See keeper_calls.hpp.
#include "redis/keeper_calls.hpp"

#include <algorithm>
#include <utility>

#include "redis/instance.hpp"

namespace liblock {

Keeper::Call::Call(Keeper &keeper, const std::vector<LeaseRef> &leases, AskDone done)
    : keeper_(keeper), done_(std::move(done)) {
  items_.reserve(leases.size());
  for (const LeaseRef &lease : leases) items_.push_back({lease, 0, {}});
}

void Keeper::Call::put_keys() {
  for (Item &item : items_) {
    item.keys = item.lease->held_keys();
    for (const Bytes k : item.keys) key(k);
  }
}

void Keeper::Call::put_ids(Bytes head) {
  SpareText id(head);
  for (const Item &item : items_) {
    id.replace(head.size(), SpareText::npos, item.lease->id.text());
    for (size_t i = 0; i < item.keys.size(); ++i) argument(id);
  }
}

size_t Keeper::Call::count_keys() const {
  size_t count = 0;
  for (const Item &item : items_) count += item.keys.size();
  return count;
}

void Keeper::Call::take_number() {
  change_ = 0;
  for (const Item &item : items_) change_ = std::max(change_, item.lease->change + 1);
  for (Item &item : items_) item.lease->change = item.change = change_;
}

bool Keeper::Call::has_leases(const Reply &reply, size_t from) const {
  const size_t count = count_keys();
  if (!reply.has_integers(from, count)) return false;
  const auto leases = reply.elements.subspan(from, count);
  return std::all_of(leases.begin(), leases.end(), [](const Reply &lease) {
    return lease.integer >= 0 || lease.integer == -1 || lease.integer == -3;
  });
}

int64_t Keeper::Call::worst_of(const Reply &reply, const Item &item, size_t &at) {
  int64_t least = INT64_MAX;
  bool lost = false;
  for (size_t i = 0; i < item.keys.size(); ++i) {
    const int64_t answer = reply.at(at++).integer;
    lost = lost || answer == -3;
    if (answer >= 0) least = std::min(least, answer);
  }
  return lost ? -3 : least == INT64_MAX ? -1 : least;
}

void Keeper::Call::failed(const Failure &failure) {
  keeper_.instance_.note_trouble(failure.status, failure.text);
  end(failure.sent ? Status::IN_DOUBT : failure.status, failure.text);
}

void Keeper::Call::end(Status status, const std::string &why) {
  if (done_ != nullptr) done_(status, why);
  delete this;
}

Keeper::ExtendCall::ExtendCall(Keeper &keeper, const std::vector<LeaseRef> &leases,
                               const Extension *extension, AskDone done)
    : Call(keeper, leases, std::move(done)),
      by_renewal_(extension == nullptr),
      extension_(by_renewal_ ? Extension() : *extension),
      ttl_of_all_(leases.front()->ttl),
      hold_until_of_all_(leases.front()->hold_until),
      asked_at_(keeper.instance_.clock.now()) {
  for (const Item &item : items_) {
    keeper_.due_.leave(*item.lease);  // behind this, a renewal would take something away
    ++item.lease->changes_open;
  }
  if (!extension_.gives_back) return;
  sent_at_ = asked_at_;
  for (Item &item : items_) {
    take_effect(item);
    owe(*item.lease);
  }
}

Nanos Keeper::ExtendCall::ttl(Nanos now) const {
  return by_renewal_ ? Lease::renewal_ttl(ttl_of_all_, hold_until_of_all_, now) : extension_.ttl;
}

// What the caller wants holds here from the moment at which the server may hear of it; not before.
void Keeper::ExtendCall::take_effect(Item &item) {
  Lease &lease = *item.lease;
  item.ttl_before = lease.ttl;
  item.ends_before = lease.ends_at.load();
  item.renews_before = lease.renews;
  lease.renews = lease.renews || extension_.renews;
  if (extension_.add) return;
  lease.ttl = extension_.ttl;
  if (extension_.ttl != kNever)
    lease.ends_at.store(std::min(item.ends_before, sent_at_ + Lease::trusted(extension_.ttl)));
}

// The server says that it has done nothing; of one key this is the whole truth.
void Keeper::ExtendCall::refused(const Item &item) {
  Lease &lease = *item.lease;
  if (by_renewal_ || extension_.gives_back || lease.last_extend != item.change) return;
  lease.ttl = item.ttl_before;
  lease.renews = item.renews_before;
  if (item.keys.size() == 1) lease.ends_at.store(item.ends_before);
}

// What a lease is again that nobody set anew any more holds also where the server does not hear of it: as one that was
// handed over for less than its time it is set to that once, however often it takes. Owed from the beginning, it is as
// long for whoever reenters it before the server has answered; and once more where that failed, since the answer to
// what was asked for before may have settled it.
void Keeper::ExtendCall::owe(Lease &lease) const {
  if (!extension_.gives_back || lease.renews || lease.state.load() != Lease::State::Held) return;
  lease.owe(extension_.ttl, asked_at_);
}

void Keeper::ExtendCall::owe_again(Lease &lease) const {
  if (lease.changes_open == 0) owe(lease);  // else it is set to something else behind this
}

// Also a second time, when the server did not know the script: then it is behind whatever was sent meanwhile.
void Keeper::ExtendCall::sending(Nanos now) {
  Instance &instance = keeper_.instance_;
  sent_at_ = now;
  begin_again(scripts::extend);
  put_keys();
  for (const Item &item : items_) {
    if (!item.lease->has_metadata) continue;
    for (const Bytes k : item.keys) key(Keyspace::side_key(Keyspace::Side::Metadata, k));
  }
  const Nanos ttl = this->ttl(now);
  if (by_renewal_) {
    // Alike when they were put together; one that was changed since has a newer number on the server, and keeps it.
    change_ = items_.front().lease->change;
    for (Item &item : items_) {
      item.change = item.lease->change;
      change_ = std::min(change_, item.change);
    }
  } else {
    take_number();
    for (const Item &item : items_) item.lease->last_extend = change_;
  }
  for (Item &item : items_) {
    if (!was_sent_ && !by_renewal_) take_effect(item);
    const Nanos from = extension_.add ? std::max(now, item.lease->may_end_at) : now;
    const bool never = ttl == kNever || from == kNever;
    item.lease->may_end_at = never ? kNever : std::max(item.lease->may_end_at, from + ttl);
  }
  was_sent_ = true;
  argument(instance.link.server_clock().not_after(now, 2 * instance.options.connection.command_timeout));
  argument(static_cast<int64_t>(count_keys()));
  argument(ttl == kNever ? int64_t{0} : std::max<int64_t>(1, ttl / kMillisecond));
  argument(by_renewal_ ? Bytes("renew") : extension_.add ? Bytes("add") : Bytes("set"));
  argument(change_text(change_));
  put_ids("ll1|");
}

bool Keeper::ExtendCall::fits(const Reply &reply) const {
  const bool is_late = reply.at(0).text == "LATE";
  if (is_late || reply.at(0).text != "OK") return is_late && reply.has_integers(1, 1);
  return reply.has_integers(1, 1) && has_leases(reply, 2);
}

void Keeper::ExtendCall::answered(const Reply &reply) {
  const bool is_late = reply.at(0).text == "LATE";
  keeper_.instance_.link.server_clock().observe(reply.at(1).integer, keeper_.instance_.clock.now());
  size_t at = 2;
  Status status = is_late ? Status::SERVER : Status::OK;
  for (const Item &item : items_) {
    --item.lease->changes_open;
    if (is_late) {
      refused(item);
      owe_again(*item.lease);
      keeper_.try_again(item.lease);
      continue;
    }
    const int64_t worst = worst_of(reply, item, at);
    keeper_.renewed(item.lease, item.change, worst, sent_at_, !by_renewal_);
    if (worst == -3 || item.lease->state.load() == Lease::State::Lost) status = Status::LOST;
  }
  end(status, is_late ? "the request was under way for too long" : "");
}

void Keeper::ExtendCall::failed(const Failure &failure) {
  for (const Item &item : items_) {
    --item.lease->changes_open;
    if (was_sent_ && failure.sent) item.lease->in_doubt = true;
    if (was_sent_ && !failure.sent) refused(item);
    // What the server said of it meanwhile did not count, for the sake of this.
    if (!was_sent_ && !by_renewal_ && failure.passes) item.lease->must_verify = true;
    if (failure.status == Status::CLOSED) continue;
    owe_again(*item.lease);
    keeper_.try_again(item.lease);
  }
  Call::failed(failure);
}

void Keeper::VerifyCall::sending(Nanos now) {
  sent_at_ = now;
  begin_again(scripts::verify);
  put_keys();
  put_ids("");
}

bool Keeper::VerifyCall::fits(const Reply &reply) const { return reply.has_integers(0, 1) && has_leases(reply, 1); }

void Keeper::VerifyCall::answered(const Reply &reply) {
  Status status = Status::OK;
  size_t at = 1;
  for (const Item &item : items_) {
    const int64_t worst = worst_of(reply, item, at);
    item.lease->must_verify = false;
    if (worst == -3) status = Status::LOST;
    if (worst == -3) {
      keeper_.lose(item.lease);
    } else if (item.lease->state.load() == Lease::State::Held) {
      keeper_.confirmed(*item.lease, worst, sent_at_);
    }
  }
  end(status, "");
}

// A server that loads its data answers later; one that is gone is asked when it is there again. Nobody else looks after
// what was asked because of a message, or of those that were missed.
void Keeper::VerifyCall::failed(const Failure &failure) {
  for (const Item &item : items_) {
    item.lease->must_verify = item.lease->must_verify || (done_ == nullptr && failure.passes);
    if (item.lease->must_verify && failure.status != Status::CLOSED) keeper_.try_again(item.lease);
  }
  Call::failed(failure);
}

void Keeper::UpdateCall::sending(Nanos) {
  begin_again(scripts::update);
  put_keys();
  take_number();
  argument(change_text(change_));
  argument(value_);
  put_ids("");
}

bool Keeper::UpdateCall::fits(const Reply &reply) const { return reply.has_integers(0, count_keys()); }

void Keeper::UpdateCall::answered(const Reply &reply) {
  Status status = Status::OK;
  size_t at = 0;
  for (const Item &item : items_) {
    bool lost = false;
    for (size_t i = 0; i < item.keys.size(); ++i) lost = reply.at(at++).integer == 0 || lost;
    if (lost) keeper_.lose(item.lease);
    if (lost) status = Status::LOST;
  }
  end(status, "");
}

}  // namespace liblock
