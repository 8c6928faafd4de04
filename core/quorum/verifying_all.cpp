// SPDX-License-Identifier: MIT
// See verifying_all.hpp.
#include "quorum/verifying_all.hpp"

#include <utility>

#include "quorum/instance.hpp"
#include "quorum/reading.hpp"
#include "quorum/verifying.hpp"

namespace liblock::quorum {

namespace {

constexpr Nanos kTogether = 20 * kMillisecond;  // nodes come back one behind the other: once for all
constexpr Nanos kAgain = 500 * kMillisecond;

bool is_held(const GrantLease &lease) {
  return lease.state.load() == Lease::State::Held && lease.place != SIZE_MAX;
}

}  // namespace

void VerifyingAll::messages_come() {
  has_missed_ = true;
  if (!is_asking_ && !is_stopped_) instance_.runtime->arm(*this, instance_.runtime->now() + kTogether);
}

void VerifyingAll::fire(Nanos) {
  if (is_asking_ || is_stopped_) return;
  left_ = std::exchange(has_missed_, false) ? instance_.keeper.all() : std::move(undecided_);
  undecided_.clear();
  go_on();
}

// An answer may be there at once, where no node can be asked.
void VerifyingAll::go_on() {
  if (is_going_on_ || is_stopped_) return;
  is_going_on_ = true;
  while (!is_asking_) {
    std::vector<GrantRef> batch = next_batch();
    if (batch.empty()) break;
    ask(std::move(batch));
  }
  is_going_on_ = false;
  if (is_asking_ || is_stopped_) return;
  if (has_missed_) return messages_come();
  if (!undecided_.empty()) instance_.runtime->arm(*this, instance_.runtime->now() + kAgain);
}

std::vector<GrantRef> VerifyingAll::next_batch() {
  std::vector<GrantRef> batch;
  size_t keys = 0;
  while (!left_.empty()) {
    const GrantRef &next = left_.back();
    if (!batch.empty() && keys + next->keys.size() > kKeysPerLook) break;
    if (is_held(*next)) {
      keys += next->keys.size();
      batch.push_back(next);
    }
    left_.pop_back();
  }
  return batch;
}

void VerifyingAll::ask(std::vector<GrantRef> batch) {
  is_asking_ = true;
  const std::vector<LeaseRef> leases(batch.begin(), batch.end());
  verify(instance_, leases, [this, leases](Status status, const std::string &) {
    is_asking_ = false;
    keep_undecided(leases, status);
    go_on();
  });
}

void VerifyingAll::ask_now(const std::vector<LeaseRef> &leases) {
  if (is_stopped_) return;
  verify(instance_, leases, [this, leases](Status status, const std::string &) {
    keep_undecided(leases, status);
    const bool goes_on_anyway = is_asking_ || is_going_on_ || has_missed_ || is_stopped_;
    if (!undecided_.empty() && !goes_on_anyway) instance_.runtime->arm(*this, instance_.runtime->now() + kAgain);
  });
}

void VerifyingAll::keep_undecided(const std::vector<LeaseRef> &asked, Status status) {
  if (status == Status::OK) return;
  for (const LeaseRef &lease : asked) {
    auto grant = std::static_pointer_cast<GrantLease>(lease);
    if (is_held(*grant)) undecided_.push_back(std::move(grant));
  }
}

void VerifyingAll::stop() {
  is_stopped_ = true;
  instance_.runtime->cancel(*this);
}

}  // namespace liblock::quorum
