// SPDX-License-Identifier: MIT
// Giving keys back. What is released within one turn of the loop goes as one call, up to a bound: the server runs one
// script, and each release is told its own end.
#include "redis/releasing.hpp"

#include <algorithm>

#include "redis/instance.hpp"
#include "redis/key_names.hpp"
#include "redis/server_clock.hpp"

namespace liblock {

bool fits_release(const Reply &reply, size_t keys) {
  if (reply.is(Reply::Kind::Integer)) return ServerClock::is_time(reply.integer);
  if (reply.elements.size() < 1 + keys || !reply.at(0).is(Reply::Kind::Integer)) return false;
  if (!ServerClock::is_time(reply.at(0).integer)) return false;
  for (size_t i = 1; i <= keys; ++i) {
    if (!reply.at(i).is(Reply::Kind::Integer) && !reply.at(i).is(Reply::Kind::Text)) return false;
  }
  return true;
}

int64_t time_of_release(const Reply &reply) {
  return reply.is(Reply::Kind::Integer) ? reply.integer : reply.at(0).integer;
}

bool is_freed(const Reply &reply, size_t key) {
  return reply.is(Reply::Kind::Integer) || reply.at(1 + key).integer == 1;
}

ReplyLimits limits_of_release(size_t keys) {
  constexpr size_t kErrorBytes = 512;  // alone.lua cuts what is longer than half of it
  ReplyLimits limits;
  limits.reply_bytes += keys * kErrorBytes;
  limits.elements += keys;
  return limits;
}

const Reply *wrong_in_release(const Reply &reply, size_t from, size_t keys) {
  for (size_t i = 0; i < keys && reply.is(Reply::Kind::Array); ++i) {
    if (reply.at(1 + from + i).is(Reply::Kind::Text)) return &reply.at(1 + from + i);
  }
  return nullptr;
}

// When the server does not confirm a release, the cleaner goes on with it.
class Instance::ReleaseCall final : public ServerCall {
 public:
  struct Release {
    HeldLock::Parts parts;
    Nanos ends_at;
    Handle handle;
    uint64_t token;
    AskDone done;
  };

  explicit ReleaseCall(Instance &instance) : instance_(instance) {}
  // So that it does not keep the server from others for long.
  bool has_room(size_t keys) const { return keys_ + keys <= kKeysMost; }
  void add(Release release) {
    keys_ += release.parts.size();
    releases_.push_back(std::move(release));
    instance_.releases_.begin();
  }

  bool begins_to_grow() override {
    instance_.growing_release_ = this;
    return true;
  }
  void ends_growth() override {
    if (instance_.growing_release_ == this) instance_.growing_release_ = nullptr;
  }
  // Also a second time, when the server did not know the script.
  void sending(Nanos) override {
    ends_growth();
    begin_again(scripts::release);
    for (const Release &release : releases_) {
      for (const HeldLock::Part &part : release.parts) add_names(*this, part.lock_key());
    }
    argument(instance_.options.foreign_gap_ms);
    for (const Release &release : releases_) {
      for (const HeldLock::Part &part : release.parts) argument(part.lease->id);
    }
  }
  bool fits(const Reply &reply) const override { return fits_release(reply, keys_); }
  ReplyLimits limits() const override { return limits_of_release(keys_); }
  void answered(const Reply &reply) override {
    instance_.link.server_clock().observe(time_of_release(reply), instance_.clock.now());
    const Reply *const first_wrong = wrong_in_release(reply, 0, keys_);
    const std::string error(first_wrong != nullptr ? first_wrong->text : Bytes());
    size_t from = 0;
    for (Release &release : releases_) {
      const size_t keys = release.parts.size();
      if (const Reply *wrong = wrong_in_release(reply, from, keys)) {
        clean(release, {classify_error(wrong->text).status, false, explained(wrong->text)});
      } else {
        bool is_lost = false;
        for (size_t i = 0; i < keys; ++i) is_lost = is_lost || !is_freed(reply, from + i);
        end(release, is_lost ? Status::LOST : Status::OK, "");
      }
      from += keys;
    }
    Instance &instance = instance_;
    ended();
    instance.link.look_at_error(error);
  }
  void failed(const Failure &failure) override {
    ends_growth();
    for (Release &release : releases_) clean(release, failure);
    ended();
  }

 private:
  static constexpr size_t kKeysMost = 16;

  void clean(Release &release, const Failure &failure) {
    instance_.note_trouble(failure.status, failure.text);
    if (failure.status != Status::CLOSED) {
      std::vector<Cleaner::Key> keys;
      for (const HeldLock::Part &part : release.parts)
        keys.push_back({std::string(part.lock_key()), part.lease->id});
      instance_.cleaner.release(std::move(keys), release.ends_at, release.handle, release.token);
    }
    end(release, Status::IN_DOUBT, failure.text);
  }
  void end(Release &release, Status status, const std::string &why) {
    instance_.releases_.end(status != Status::IN_DOUBT);
    if (release.done != nullptr) release.done(status, why);
  }
  void ended() {
    Instance &instance = instance_;
    delete this;
    instance.closing_goes_on();
  }

  Instance &instance_;
  SpareVector<Release> releases_;
  size_t keys_ = 0;
};

void Instance::send_release(HeldLock::Parts parts, Handle handle, uint64_t token, AskDone done) {
  if (parts.size() == 1 && passing_on.pass_on(parts.front().lease)) {
    if (done != nullptr) done(Status::OK, "");
    return;
  }
  FrontLine *const line = passing_on.begin_release(*parts.front().lease);
  Nanos ends_at = 0;
  for (const HeldLock::Part &part : parts) {
    Lease &lease = *part.lease;
    count(lease, -1);
    ends_at = std::max({ends_at, lease.ends_at.load(), lease.may_end_at});
    if (lease.is_given_back()) keeper.let_go(lease);  // before the release is sent: no renewal may follow it
  }
  // The server may think that it ends a little later than we do.
  if (ends_at != kNever) ends_at += 4 * options.connection.command_timeout;
  const bool joins = growing_release_ != nullptr && growing_release_->has_room(parts.size());
  auto *const call = joins ? growing_release_ : new ReleaseCall(*this);
  call->add({std::move(parts), ends_at, handle, token, std::move(done)});
  if (!joins) link.send(*call);
  passing_on.end_release(line);
}

}  // namespace liblock
