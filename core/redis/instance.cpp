// SPDX-License-Identifier: MIT
// See instance.hpp.
#include "redis/instance.hpp"

#include <unistd.h>

#include <algorithm>

#include "redis/key_names.hpp"
#include "runtime/once.hpp"

namespace liblock {

// Gives keys back; when the server does not confirm it, the cleaner goes on.
class Instance::ReleaseCall final : public ServerCall {
 public:
  ReleaseCall(Instance &instance, std::vector<HeldLock::Part> parts, Nanos ends_at, Handle handle,
              uint64_t token, AskDone done)
      : instance_(instance),
        parts_(std::move(parts)),
        ends_at_(ends_at),
        handle_(handle),
        token_(token),
        done_(std::move(done)) {
    ++instance_.releases_open_;
    begin(scripts::release);
    for (const HeldLock::Part &part : parts_) add_names(*this, part.lock_key());
    argument(instance_.options.foreign_gap_ms);
    argument(Bytes("0"));
    argument(Bytes());
    for (const HeldLock::Part &part : parts_) argument(part.lease->id);
  }
  bool fits(const Reply &reply) const override { return reply.has_integers(0, 1 + parts_.size()); }
  void answered(const Reply &reply) override {
    instance_.link.server_clock().observe(reply.at(0).integer, instance_.clock.now());
    Status status = Status::OK;
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (reply.at(i + 1).integer == 0) status = Status::LOST;
    }
    end(status, "");
  }
  void failed(const Failure &failure) override {
    instance_.note_trouble(failure.status, failure.text);
    if (failure.status == Status::CLOSED) return end(Status::IN_DOUBT, failure.text);
    std::vector<Cleaner::Key> keys;
    for (const HeldLock::Part &part : parts_) keys.push_back({part.lock_key(), part.lease->id});
    instance_.cleaner.release(std::move(keys), ends_at_, handle_, token_);
    end(Status::IN_DOUBT, failure.text);
  }

 private:
  void end(Status status, const std::string &why) {
    Instance &instance = instance_;
    --instance.releases_open_;
    if (done_ != nullptr) done_(status, why);
    delete this;
    instance.closing_goes_on();
  }
  Instance &instance_;
  const std::vector<HeldLock::Part> parts_;
  const Nanos ends_at_;
  const Handle handle_;
  const uint64_t token_;
  const AskDone done_;
};

Instance::Instance(std::shared_ptr<Runtime> runtime_of_it, const InstanceOptions &options_of_it,
                   std::string id_of_it, Clock clock_of_it, uint64_t seed)
    : RemoteInstance(std::move(runtime_of_it), options_of_it, std::move(id_of_it), clock_of_it, seed),
      options(options_of_it),
      link(*runtime, clock, random, options.connection, Keyspace::channel_of(id), *this),
      keeper(*this),
      cleaner(*this),
      waiting(*this),
      places(*this),
      passing_on(*this),
      replica_turns(*this),
      presence(*this) {}

Instance::~Instance() = default;

void Instance::send_release(std::vector<HeldLock::Part> parts, Handle handle, uint64_t token, AskDone done) {
  if (parts.size() == 1 && passing_on.pass_on(parts.front().lease)) {
    if (done != nullptr) done(Status::OK, "");
    return;
  }
  FrontLine *const line = passing_on.begin_release(*parts.front().lease);
  Nanos ends_at = 0;
  for (const HeldLock::Part &part : parts) {
    Lease &lease = *part.lease;
    count(lease, -1);
    ends_at = std::max(ends_at, lease.ends_at.load());
    if (lease.is_given_back()) keeper.let_go(lease);  // before the release is sent: no renewal may follow it
  }
  // The server may think that it ends a little later than we do.
  if (ends_at != kNever) ends_at += 4 * options.connection.command_timeout;
  link.send(*new ReleaseCall(*this, std::move(parts), ends_at, handle, token, std::move(done)));
  passing_on.end_release(line);
}

void Instance::on_connected(const ServerInfo &info, bool another) {
  events.emit(another ? LIBLOCK_EVENT_SERVER_CHANGED : LIBLOCK_EVENT_CONNECTED, Status::OK,
              another ? "connected to another server than before; its locks are verified" : "connected");
  const bool may_evict =
      info.has_memory_bound && !info.eviction_policy.empty() && info.eviction_policy != "noeviction";
  if (may_evict && !std::exchange(eviction_told_, true))
    events.emit(LIBLOCK_EVENT_MAY_EVICT, Status::OK,
                "maxmemory-policy is " + shown(info.eviction_policy) +
                    ": the server may evict locks that are held; set noeviction");
  // In this order: what must not be there goes first, so that nobody waits for it.
  cleaner.on_connected();
  keeper.on_connected(another);
  passing_on.tell_all();
  waiting.look_at_all();
  presence.on_connected();
}

void Instance::on_disconnected(Status status, const std::string &text) {
  note_trouble(status, text);
  events.emit(LIBLOCK_EVENT_DISCONNECTED, status, text);
}

// What was sent before was missed.
void Instance::on_listening() {
  waiting.look_at_all();
  keeper.verify_all(false);
  passing_on.others_may_wait();
}

void Instance::on_message(Bytes message) {
  if (message.size() < 2) return;
  const Bytes what = message.substr(1);
  const std::string lock_key(what);
  if (message[0] == 'g') return waiting.handed(what);
  if (message[0] == 'h') return waiting.called(what);
  if (message[0] == 'x') return waiting.deadlocked(what);
  if (message[0] == 'w') waiting.may_barge(lock_key);
  if (message[0] == 'q') passing_on.others_wait(lock_key);
  if (message[0] == 's') return waiting.sent_away_alone(what);
  if (message[0] == 'd') return waiting.sent_away(what);
  if (message[0] == 'o') return waiting.owner_sent_away(what);
  if (message[0] == 'l') {
    // Somebody took it away: ask, since a message may be late, or may lie.
    std::vector<LeaseRef> named = keeper.find(lock_key);
    if (!named.empty()) keeper.verify(named, nullptr);
  }
}

// Others hear of it by messages; what is here need not wait for one.
void Instance::taken_away(const std::string &lock_key, const std::vector<LeaseRef> &leases,
                          bool waiters_too) {
  for (const LeaseRef &lease : leases) keeper.lose(lease);
  if (waiters_too) waiting.dequeue(lock_key, INT64_MAX);
}

bool Instance::needs_server() { return !keeper.empty() || !cleaner.empty() || !waiting.empty(); }

void Instance::close_descriptors_after_fork() {
  link.descriptors([](int fd) { ::close(fd); });
}

void Instance::close(bool leave, std::function<void()> closed) {
  closed_ = std::move(closed);
  end_all(leave);
  presence.leave();
  runtime->arm(close_timer_, runtime->now() + options.connection.command_timeout);
  closing_goes_on();
}

void Instance::CloseTimer::fire(Nanos) {
  instance.close_overdue_ = true;
  instance.closing_goes_on();
}

void Instance::closing_goes_on() {
  if (closed_ == nullptr) return;
  const bool is_busy = releases_open_ != 0 || attempts_open != 0 || !cleaner.empty() || presence.is_leaving();
  if (!close_overdue_ && is_busy) return;
  std::function<void()> closed = std::exchange(closed_, nullptr);
  runtime->cancel(close_timer_);
  replica_turns.stop();
  passing_on.stop();
  link.stop();  // first: commands under way are told of their end, and must be there
  keeper.stop();
  cleaner.stop();
  // Whoever is told may let go of everything at once, and this is still on the stack of a connection.
  run_once(*runtime, [kept = shared_from_this(), closed = std::move(closed)] { closed(); });
}

}  // namespace liblock
