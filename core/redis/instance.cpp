// SPDX-License-Identifier: MIT
// See instance.hpp.
#include "redis/instance.hpp"


#include <algorithm>

#include "redis/cleartext.hpp"
#include "redis/key_names.hpp"
#include "runtime/once.hpp"

namespace liblock {

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
      renaming(*this),
      presence(*this) {
  warn_of_cleartext(events, options.connection.address, {});
}

Instance::~Instance() = default;

void Instance::on_connected(const ServerInfo &info, bool another) {
  events.emit(another ? LIBLOCK_EVENT_SERVER_CHANGED : LIBLOCK_EVENT_CONNECTED, Status::OK,
              another ? "connected to another server than before; its locks are verified" : "connected");
  if (info.may_evict() && !std::exchange(eviction_told_, true))
    events.emit(LIBLOCK_EVENT_MAY_EVICT, Status::OK,
                "maxmemory-policy is " + shown(info.eviction_policy) +
                    ": the server may evict locks that are held; set noeviction");
  // In this order: what must not be there goes first, so that nobody waits for it.
  cleaner.on_connected();
  keeper.on_connected(another);
  renaming.on_connected();
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
  waiting.may_be_taken_away({});
  waiting.look_at_all();
  keeper.verify_all(false);
  passing_on.others_may_wait();
}

void Instance::on_message(Bytes message) {
  if (message.size() < 2) return;
  const Bytes what = message.substr(1);
  if (message[0] == 'g') return waiting.handed(what);
  if (message[0] == 'h') return waiting.called(what);
  if (message[0] == 'x') return waiting.deadlocked(what);
  if (message[0] == 'w') waiting.may_barge(what, clock.now());
  if (message[0] == 'q') return passing_on.others_wait(what);
  if (message[0] == 's') return waiting.sent_away_alone(what);
  if (message[0] == 'd') return waiting.sent_away(what);
  if (message[0] == 'o') return waiting.owner_sent_away(what);
  if (message[0] == 'l') {
    // Somebody took it away: ask, since a message may be late, or may lie; or be here before the grant that it means.
    waiting.may_be_taken_away(what);
    passing_on.may_be_taken_away(what);
    std::vector<LeaseRef> named = keeper.find(what);
    if (!named.empty()) keeper.verify(named, nullptr);
  }
}

// Others hear of it by messages; what is here need not wait for one.
void Instance::taken_away(Bytes lock_key, const std::vector<LeaseRef> &leases, bool waiters_too) {
  for (const LeaseRef &lease : leases) keeper.lose(lease);
  if (waiters_too) waiting.dequeue(lock_key, INT64_MAX);
}

bool Instance::needs_server() { return !keeper.empty() || !cleaner.empty() || !waiting.empty(); }

void Instance::close(bool leave, std::function<void()> closed) {
  closed_ = std::move(closed);
  end_all(leave);
  presence.leave();
  releases_.go_on();  // what was answered before does not count
  runtime->arm(close_timer_, runtime->now() + options.connection.command_timeout);
  closing_goes_on();
}

void Instance::CloseTimer::fire(Nanos now) {
  if (instance.releases_.go_on()) {
    instance.runtime->arm(*this, now + instance.options.connection.command_timeout);
    return;
  }
  instance.close_overdue_ = true;
  instance.closing_goes_on();
}

void Instance::closing_goes_on() {
  if (closed_ == nullptr) return;
  const bool is_busy = releases_.open() != 0 || attempts_open != 0 || !cleaner.empty() || presence.is_leaving();
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
