// SPDX-License-Identifier: MIT
// See queue_reader.hpp.
#include "redis/queue_reader.hpp"

#include <unordered_set>

#include "redis/instance.hpp"
#include "redis/queue_entry.hpp"
#include "remote/ending.hpp"

namespace liblock {

namespace {

constexpr size_t kEntryBytes = 2'048 + 64;

class QueuePages final : public ServerCall {
 public:
  QueuePages(Instance &instance, std::string lock_key, std::function<void(QueueRead)> done)
      : instance_(instance), lock_key_(std::move(lock_key)), done_(std::move(done)) {}
  void next() {
    begin(scripts::queue);
    key(Keyspace::side_key(Keyspace::Side::Queue, lock_key_));
    key(Keyspace::side_key(Keyspace::Side::Entries, lock_key_));
    argument(static_cast<int64_t>(place_));
    argument(static_cast<int64_t>(kQueuePage));
    instance_.link.send(*this);
  }
  bool fits(const Reply &reply) const override {
    return reply.is(Reply::Kind::Array) && reply.at(0).is_time() && reply.has_integers(1, 1) &&
           reply.elements.size() % 2 == 0;
  }
  ReplyLimits limits() const override { return {kQueuePage * kEntryBytes, kQueuePage * 2 + 16, 4}; }
  void answered(const Reply &reply) override {
    const int64_t now_us = reply.at(0).integer;
    const size_t length = reply.at(1).count();
    const size_t shown = reply.elements.size() / 2 - 1;
    for (size_t i = 2; i + 1 < reply.elements.size(); i += 2) {
      if (!seen_.emplace(reply.at(i).text).second) continue;
      WaiterInfo waiter;
      if (parse_queue_entry(reply.at(i + 1).text, now_us, waiter)) read_.waiters.push_back(std::move(waiter));
    }
    place_ += shown;
    if (shown == kQueuePage && place_ < length && place_ < kQueueShownMax) return next();
    read_.unnamed = length > read_.waiters.size() ? length - read_.waiters.size() : 0;
    end(Status::OK, "");
  }
  void failed(const Failure &failure) override { end(failure.status, failure.text); }

 private:
  void end(Status status, const std::string &why) {
    read_.status = status;
    read_.why = why;
    end_call(this, done_, std::move(read_));
  }
  Instance &instance_;
  const std::string lock_key_;
  std::function<void(QueueRead)> done_;
  size_t place_ = 0;
  std::unordered_set<std::string> seen_;
  QueueRead read_{};
};

}  // namespace

void read_queue(Instance &instance, Bytes lock_key, std::function<void(QueueRead)> done) {
  (new QueuePages(instance, std::string(lock_key), std::move(done)))->next();
}

}  // namespace liblock
