// SPDX-License-Identifier: MIT
// See instance.hpp.
#include "redis/instance.hpp"

#include <algorithm>

#include "redis/key_names.hpp"
#include "runtime/once.hpp"

namespace liblock {

// Gives keys back; when the server does not confirm it, the cleaner goes on.
class Instance::ReleaseCall final : public ServerCall {
 public:
  ReleaseCall(Instance &instance, std::vector<Cleaner::Key> keys, Nanos ends_at, Handle handle,
              uint64_t token, Released done)
      : instance_(instance),
        keys_(std::move(keys)),
        ends_at_(ends_at),
        handle_(handle),
        token_(token),
        done_(std::move(done)) {
    ++instance_.releases_open_;
    begin(scripts::release);
    for (const Cleaner::Key &k : keys_) add_names(*this, k.lock_key);
    argument(instance_.options.foreign_gap_ms);
    argument(Bytes("0"));
    argument(Bytes());
    for (const Cleaner::Key &k : keys_) argument(k.id);
  }
  bool fits(const Reply &reply) const override { return reply.has_integers(0, 1 + keys_.size()); }
  void answered(const Reply &reply) override {
    instance_.link.server_clock().observe(reply.at(0).integer, instance_.clock.now());
    Status status = Status::OK;
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (reply.at(i + 1).integer == 0) status = Status::LOST;
    }
    end(status, "");
  }
  void failed(const Failure &failure) override {
    instance_.note_trouble(failure.text);
    if (failure.status == Status::CLOSED) return end(Status::IN_DOUBT, failure.text);
    instance_.cleaner.release(keys_, ends_at_, handle_, token_);
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
  const std::vector<Cleaner::Key> keys_;
  const Nanos ends_at_;
  const Handle handle_;
  const uint64_t token_;
  const Released done_;
};

Instance::Instance(std::shared_ptr<Runtime> runtime_of_it, const InstanceOptions &options_of_it,
                   std::string id_of_it, Clock clock_of_it, uint64_t seed)
    : runtime(std::move(runtime_of_it)),
      clock(clock_of_it),
      random(seed),
      options(options_of_it),
      id(std::move(id_of_it)),
      keyspace(options.prefix),
      link(*runtime, clock, random, options.connection, Keyspace::channel_of(id), *this),
      holds(clock, random, options.locks_max),
      keeper(*this),
      cleaner(*this),
      waiting(*this),
      places(*this),
      replica_turns(*this),
      presence(*this),
      asking(*this),
      events(runtime) {}

Instance::~Instance() = default;

void Instance::arm(Timer &timer, Nanos at) {
  runtime->arm(timer, runtime->now() + std::max<Nanos>(0, at - clock.now()));
}

std::string Instance::last_trouble() const {
  const std::lock_guard lock(trouble_mutex_);
  return trouble_;
}

void Instance::note_trouble(const std::string &text) {
  const std::lock_guard lock(trouble_mutex_);
  trouble_ = text;
}

void Instance::release(Handle handle, Released done) {
  Status status = Status::OK;
  HeldLock *lock = holds.find(handle, &status);
  if (lock == nullptr) {
    if (done != nullptr) done(status, "");
    return;
  }
  const Nanos now = clock.now();
  const bool lost = std::any_of(lock->parts.begin(), lock->parts.end(),
                                [&](const HeldLock::Part &part) { return part.lease->is_over(now); });
  const std::vector<HeldLock::Part> all = lock->parts;
  const std::shared_ptr<RedisOwner> owner = lock->owner;
  const uint64_t token = lock->token;
  const Extensions unused = take_extensions(*lock, nullptr);
  for (const HeldLock::Part &part : all) reentry.forget(*owner, handle, part);
  std::vector<HeldLock::Part> free = holds.remove(handle);
  give_back(unused);
  asking.lock_is_gone(handle, lost ? Status::LOST : Status::NOT_HELD);
  if (!lost) ++counts.released;
  // Taken away is gone already; what ended by time may still stand there for the moment of the drift.
  std::erase_if(free,
                [](const HeldLock::Part &part) { return part.lease->state.load() == Lease::State::Lost; });
  if (lost) {
    if (done != nullptr) done(Status::LOST, "");
    done = nullptr;
  } else if (free.empty()) {
    if (done != nullptr) done(Status::OK, "");
    return;
  }
  if (!free.empty()) send_release(std::move(free), handle, token, std::move(done));
}

void Instance::release_part(HeldLock &lock, size_t index, Released done) {
  const HeldLock::Part part = lock.parts[index];
  const Handle handle = lock.handle;
  reentry.forget(*lock.owner, handle, part);
  const auto parts_of_lease =
      std::count_if(lock.parts.begin(), lock.parts.end(),
                    [&](const HeldLock::Part &other) { return other.lease == part.lease; });
  const Extensions unused = parts_of_lease == 1 ? take_extensions(lock, part.lease.get()) : Extensions();
  if (lock.parts.size() == 1) {
    const std::vector<HeldLock::Part> free = holds.remove(handle);  // the end of the lock
    give_back(unused);
    asking.lock_is_gone(handle, Status::NOT_HELD);
    if (free.empty()) return done(Status::OK, "");
    return send_release(free, 0, 0, std::move(done));
  }
  holds.remove_part(lock, index);
  give_back(unused);
  if (part.lease->keys[part.key].handles != 0) return done(Status::OK, "");
  send_release({part}, 0, 0, std::move(done));
}

void Instance::send_release(std::vector<HeldLock::Part> parts, Handle handle, uint64_t token, Released done) {
  std::vector<Cleaner::Key> keys;
  Nanos ends_at = 0;
  for (const HeldLock::Part &part : parts) {
    Lease &lease = *part.lease;
    keys.push_back({lease.keys[part.key].lock_key, lease.id});
    keeper.count(lease, -1);
    ends_at = std::max(ends_at, lease.ends_at.load());
    const bool is_empty =
        std::all_of(lease.keys.begin(), lease.keys.end(), [](const Lease::Key &k) { return k.handles == 0; });
    if (is_empty) keeper.let_go(lease);  // before the release is sent: no renewal may follow it
  }
  // The server may think that it ends a little later than we do.
  if (ends_at != kNever) ends_at += 4 * options.connection.command_timeout;
  link.send(*new ReleaseCall(*this, std::move(keys), ends_at, handle, token, std::move(done)));
}

void Instance::extend(Handle handle, Nanos ttl, bool renews, bool add, Released done) {
  HeldLock *lock = holds.find(handle);
  if (lock == nullptr) {
    if (done != nullptr) done(Status::NOT_HELD, "");
    return;
  }
  const std::vector<LeaseRef> leases = leases_of(*lock);
  for (const LeaseRef &lease : leases) forget_extensions(*lease);
  keeper.extend(leases, {ttl, add, renews}, std::move(done));
}

std::vector<LeaseRef> Instance::leases_of(const HeldLock &lock) {
  std::vector<LeaseRef> leases;
  for (const HeldLock::Part &part : lock.parts) {
    if (std::find(leases.begin(), leases.end(), part.lease) == leases.end()) leases.push_back(part.lease);
  }
  return leases;
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
  waiting.look_at_all();
  presence.on_connected();
}

void Instance::on_disconnected(Status status, const std::string &text) {
  note_trouble(text);
  events.emit(LIBLOCK_EVENT_DISCONNECTED, status, text);
}

// What was sent before was missed.
void Instance::on_listening() {
  waiting.look_at_all();
  keeper.verify_all(false);
}

void Instance::on_message(Bytes message) {
  if (message.size() < 2) return;
  const Bytes what = message.substr(1);
  const std::string lock_key(what);
  if (message[0] == 'g') return waiting.handed(what);
  if (message[0] == 'h') return waiting.called(what);
  if (message[0] == 'x') return waiting.deadlocked(what);
  if (message[0] == 'w') waiting.may_barge(lock_key);
  if (message[0] == 's') return waiting.sent_away_alone(what);
  if (message[0] == 'd') return waiting.sent_away(what);
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

void Instance::close(bool leave, std::function<void()> closed) {
  is_closing = true;
  closed_ = std::move(closed);
  asking.end_all(Status::CLOSED);
  waiting.end_all(nullptr, Status::CLOSED);
  const std::vector<Handle> all = holds.all(nullptr);
  for (const Handle handle : all) {
    if (leave) continue;
    HeldLock *lock = holds.find(handle);
    lock->loss_told = true;
    release(handle, [](Status, const std::string &) {});
  }
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
  link.stop();  // first: commands under way are told of their end, and must be there
  keeper.stop();
  cleaner.stop();
  // Whoever is told may let go of everything at once, and this is still on the stack of a connection.
  run_once(*runtime, [kept = shared_from_this(), closed = std::move(closed)] { closed(); });
}

}  // namespace liblock
