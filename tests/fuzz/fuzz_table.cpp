// SPDX-License-Identifier: MIT
// Programs of named owners on the keys of a local table, against the model of tests/unit/local: after each operation
// the two agree on who holds, who waits in which order, and how every request has ended, tokens have risen, and the
// table's own invariants hold. A byte is an operation, a second one its operands; nothing waits, time stands still.
#include <cstdint>

#include "../unit/local/model.hpp"
#include "../unit/support/manual.hpp"

using namespace liblock;

namespace {

constexpr int kOwners = 4;
constexpr size_t kOperationsMax = 200;
const char *const kNames[model::kKeysMax] = {"A", "B", "C", "D"};

class Program {
 public:
  Program() {
    for (const char *name : {"w", "x", "y", "z"}) owners_.push_back(world_.owner(name));
  }

  ~Program() {
    for (unit::Request *request : requests_) {
      if (!request->done) world_.table->ask_to_end(request->waiter, Status::CANCELED);
    }
    for (unit::Request *request : requests_) {
      if (request->grant.status == Status::OK)
        static_cast<void>(world_.table->release(*owners_[0], request->grant.handle));
      request->unpin();
    }
    const liblock_stats after = world_.stats();
    LIBLOCK_ASSERT(after.locks_held == 0 && after.waiters == 0);
    world_.table->check_invariants();
  }

  void run(uint8_t operation, uint8_t operand) {
    switch (operation % 4) {
      case 0:
        return ask(operand, false);
      case 1:
        return ask(operand, true);
      case 2:
        return release(operand);
      default:
        return cancel(operand);
    }
  }

  void compare() {
    for (size_t i = 0; i < requests_.size(); ++i) compare_request(*requests_[i], plain_.requests[i].state);
    for (int key = 0; key < model::kKeysMax; ++key) compare_key(key);
  }

 private:
  // The upper half says which keys, the lower one who.
  void ask(uint8_t operand, bool try_once) {
    const int owner = operand % kOwners;
    std::vector<int> keys;
    std::vector<Bytes> names;
    for (int key = 0; key < model::kKeysMax; ++key) {
      if ((operand >> (4 + key) & 1) == 0) continue;
      keys.push_back(key);
      names.emplace_back(kNames[key]);
    }
    if (keys.empty()) return;
    plain_.acquire(owner, keys, try_once);
    requests_.push_back(
        world_.ask(*owners_[static_cast<size_t>(owner)], names, try_once ? unit::trying() : AcquireParams{}));
  }

  // The first from there on that is in that state, -1: none.
  int find(uint8_t from, model::State state) const {
    const size_t count = requests_.size();
    for (size_t n = 0; n < count; ++n) {
      const size_t at = (from + n) % count;
      if (plain_.requests[at].state == state) return static_cast<int>(at);
    }
    return -1;
  }

  void release(uint8_t from) {
    const int at = find(from, model::State::Held);
    if (at < 0) return;
    plain_.release(at);
    const unit::Request &real = *requests_[static_cast<size_t>(at)];
    LocalOwner &owner = *owners_[static_cast<size_t>(plain_.requests[static_cast<size_t>(at)].owner)];
    LIBLOCK_ASSERT(world_.table->release(owner, real.grant.handle) == Status::OK);
    LIBLOCK_ASSERT(world_.table->release(owner, real.grant.handle) == Status::NOT_HELD);
  }

  void cancel(uint8_t from) {
    const int at = find(from, model::State::Waiting);
    if (at < 0) return;
    plain_.cancel(at);
    world_.table->ask_to_end(requests_[static_cast<size_t>(at)]->waiter, Status::CANCELED);
  }

  void compare_request(const unit::Request &real, model::State state) const {
    const Status status = real.grant.status;
    LIBLOCK_ASSERT(real.done == (state != model::State::Waiting));
    if (state == model::State::Busy) LIBLOCK_ASSERT(status == Status::BUSY);
    if (state == model::State::Canceled) LIBLOCK_ASSERT(status == Status::CANCELED);
    const bool was_granted = state == model::State::Held || state == model::State::Released;
    if (!was_granted) return;
    LIBLOCK_ASSERT(status == Status::OK);
    const Status seen = world_.table->view(&world_, real.grant.handle).status;
    LIBLOCK_ASSERT(seen == (state == model::State::Held ? Status::OK : Status::NOT_HELD));
  }

  void compare_key(int key) {
    const auto seen = world_.table->inspect(kNames[key], true);
    const int holder = plain_.holder(key);
    const std::vector<int> waiting = plain_.waiting_owners(key);
    LIBLOCK_ASSERT((seen != nullptr) == (holder != -1 || !waiting.empty()));
    if (seen == nullptr) return;
    LIBLOCK_ASSERT(seen->is_held == (holder != -1) && seen->waiters.size() == waiting.size());
    for (size_t i = 0; i < waiting.size(); ++i)
      LIBLOCK_ASSERT(seen->waiters[i].owner == owners_[static_cast<size_t>(waiting[i])]->id());
    if (holder == -1) return;
    LIBLOCK_ASSERT(seen->owner == owners_[static_cast<size_t>(holder)]->id());
    LIBLOCK_ASSERT(seen->token >= tokens_[key]);
    tokens_[key] = seen->token;
  }

  unit::World world_;
  std::vector<std::shared_ptr<LocalOwner>> owners_;
  std::vector<unit::Request *> requests_;
  model::Table plain_;
  uint64_t tokens_[model::kKeysMax] = {};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Program program;
  for (size_t at = 0; at + 1 < size && at < 2 * kOperationsMax; at += 2) {
    program.run(data[at], data[at + 1]);
    program.compare();
  }
  return 0;
}
