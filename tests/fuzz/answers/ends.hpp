// SPDX-License-Identifier: MIT
// How what the program asked for ends: once, with a status that such a call may have, and a grant with no more than was
// asked for.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "remote/remote_instance.hpp"
#include "remote/remote_request.hpp"

namespace answers {

using liblock::Ask;
using liblock::Handle;
using liblock::Status;

inline void is_one_of(Status status, std::initializer_list<Status> expected) {
  for (const Status each : expected) {
    if (status == each) return;
  }
  LIBLOCK_ASSERT(!"a status that the call does not name");
}

// Of any call: what its arguments and its context, and never what a server answers, makes of it.
inline void is_no_bug(Status status) {
  LIBLOCK_ASSERT(status != Status::INTERNAL && status != Status::NO_MEMORY && status != Status::FORKED &&
                 status != Status::OPTIONS_MISMATCH && status != Status::WOULD_DEADLOCK);
}

// What a call of the program had to do with.
struct Ends {
  std::vector<Handle> locks;
  int open = 0;
};

template <typename EngineRequest>
class Acquire final : public EngineRequest {
 public:
  Acquire(liblock::RemoteInstance &instance, liblock::RemoteOwner &owner, const std::vector<liblock::Bytes> &keys,
          std::unique_ptr<liblock::AcquireParams> params, Ends &ends)
      : EngineRequest(instance, owner, keys, *params), held_in_(instance), params_(std::move(params)), ends_(ends) {
    params_->on_lost = [](const liblock_completion *, void *losses) { ++*static_cast<int *>(losses); };
    params_->on_lost_user_data = &losses_;
    ++ends_.open;
  }
  ~Acquire() override { LIBLOCK_ASSERT(ended_ && losses_ <= 1); }
  void finished() override {
    LIBLOCK_ASSERT(!std::exchange(ended_, true));
    --ends_.open;
    const liblock::Grant &end = this->grant;
    is_no_bug(end.status);
    is_one_of(end.status,
              {Status::OK, Status::BUSY, Status::TIMEOUT, Status::RETRIES_EXHAUSTED, Status::CANCELED, Status::DEADLOCK,
               Status::ALREADY_HELD, Status::DEQUEUED, Status::TOO_LATE, Status::IN_DOUBT, Status::NO_QUORUM,
               Status::QUARANTINED, Status::NODES_MISMATCH, Status::CONNECT, Status::AUTH, Status::SERVER,
               Status::WRONG_TYPE, Status::READ_ONLY, Status::PROTOCOL, Status::INVALID_ARGUMENT, Status::UNSUPPORTED,
               Status::LIMIT, Status::CLOSED});
    LIBLOCK_ASSERT((end.status == Status::OK) == (end.handle != 0));
    if (end.status != Status::OK) return;
    const liblock::HoldView seen = held_in_.holds.view(end.handle);
    LIBLOCK_ASSERT(end.token > 0 && end.remaining >= 0);
    if (seen.status == Status::OK) LIBLOCK_ASSERT(seen.token >= end.token && seen.hold_count > 0);
    // What was reentered has the time that it had.
    const bool is_anew = (end.flags & LIBLOCK_RESULT_REENTERED) == 0 && seen.hold_count <= 1;
    LIBLOCK_ASSERT(!is_anew || end.remaining <= params_->ttl);
    ends_.locks.push_back(end.handle);
  }
  bool ended() const { return ended_; }

 private:
  liblock::RemoteInstance &held_in_;
  const std::unique_ptr<liblock::AcquireParams> params_;
  Ends &ends_;
  int losses_ = 0;
  bool ended_ = false;
};

class Question final : public Ask {
 public:
  explicit Question(Ends &ends) : ends_(ends) { ++ends_.open; }
  ~Question() override { LIBLOCK_ASSERT(ended_); }
  void ended() override {
    LIBLOCK_ASSERT(!std::exchange(ended_, true));
    --ends_.open;
    is_no_bug(status);
    if (what == What::Release)
      is_one_of(status, {Status::OK, Status::LOST, Status::NOT_HELD, Status::INVALID_HANDLE, Status::IN_DOUBT,
                         Status::PARTIAL, Status::CLOSED});
    for (const auto &info : infos) LIBLOCK_ASSERT(info != nullptr && info->remaining_ms >= -1);
    if (status == Status::OK && what == What::Adopt) ends_.locks.push_back(lock);
    if (status == Status::OK && what == What::Export) exported = text;
  }
  bool is_over() const { return ended_; }
  std::string exported;

 private:
  Ends &ends_;
  bool ended_ = false;
};

}  // namespace answers
