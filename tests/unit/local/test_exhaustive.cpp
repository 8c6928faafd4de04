// SPDX-License-Identifier: MIT
// Every order of operations of two (and three) owners on two keys and their pair, up to a depth, each state
// compared with the model: who holds, who waits in which order, how every request ended, and that tokens
// rise. LIBLOCK_EXHAUSTIVE_DEPTH sets the depth for two owners (default 5; 6 nightly).
#include <cstdlib>
#include <cstring>

#include "../support/manual.hpp"
#include "../support/unit.hpp"
#include "model.hpp"

using namespace liblock;

namespace {

const char *const kNames[] = {"A", "B"};

struct Program {
  Program(unit::World &on, std::vector<std::shared_ptr<LocalOwner>> &by) : world(on), owners(by) {}

  // Six kinds of operation per owner: acquire A, B, both; try both; release the oldest; cancel the oldest.
  static constexpr int kKinds = 6;

  void run(int operation) {
    const int owner = operation / kKinds;
    const int kind = operation % kKinds;
    if (kind < 4) {
      const std::vector<int> keys = kind == 0   ? std::vector{0}
                                    : kind == 1 ? std::vector{1}
                                                : std::vector{0, 1};
      std::vector<Bytes> names;
      for (const int key : keys) names.emplace_back(kNames[key]);
      plain.acquire(owner, keys, kind == 3);
      requests.push_back(world.ask(*owners[owner], names, kind == 3 ? unit::trying() : AcquireParams{}));
      return;
    }
    const auto wanted = kind == 4 ? model::State::Held : model::State::Waiting;
    for (size_t i = 0; i < requests.size(); ++i) {
      if (plain.requests[i].owner != owner || plain.requests[i].state != wanted) continue;
      if (kind == 4) {
        plain.release(static_cast<int>(i));
        EXPECT(world.table->release(*owners[owner], requests[i]->grant.handle) == Status::OK);
      } else {
        plain.cancel(static_cast<int>(i));
        world.table->ask_to_end(requests[i]->waiter, Status::CANCELED);
      }
      return;
    }
  }

  void compare() {
    for (size_t i = 0; i < requests.size(); ++i) {
      const unit::Request &real = *requests[i];
      switch (plain.requests[i].state) {
        case model::State::Waiting:
          EXPECT(!real.done);
          break;
        case model::State::Held:
          EXPECT(real.done && real.grant.status == Status::OK);
          EXPECT(world.table->view(&world, real.grant.handle).status == Status::OK);
          break;
        case model::State::Busy:
          EXPECT(real.done && real.grant.status == Status::BUSY);
          break;
        case model::State::Canceled:
          EXPECT(real.done && real.grant.status == Status::CANCELED);
          break;
        case model::State::Released:
          EXPECT(world.table->view(&world, real.grant.handle).status == Status::NOT_HELD);
          break;
      }
    }
    for (int key = 0; key < 2; ++key) compare_key(key);
  }

  void compare_key(int key) {
    const auto seen = world.table->inspect(kNames[key], true);
    const int holder = plain.holder(key);
    const auto waiting = plain.waiting_owners(key);
    EXPECT((seen != nullptr) == (holder != -1 || !waiting.empty()));
    if (seen == nullptr) return;
    EXPECT(seen->is_held == (holder != -1));
    if (holder != -1) EXPECT(seen->owner == owners[holder]->id());
    EXPECT(seen->waiters.size() == waiting.size());
    for (size_t i = 0; i < waiting.size(); ++i) EXPECT(seen->waiters[i].owner == owners[waiting[i]]->id());
    if (holder == -1) return;
    EXPECT(seen->token >= world_tokens[key]);
    world_tokens[key] = seen->token;
  }

  void clean_up() {
    for (size_t i = 0; i < requests.size(); ++i) {
      if (!requests[i]->done) world.table->ask_to_end(requests[i]->waiter, Status::CANCELED);
    }
    for (unit::Request *request : requests) {
      if (request->grant.status == Status::OK && request->done) {
        static_cast<void>(world.table->release(*owners[0], request->grant.handle));
      }
      request->unpin();
    }
  }

  unit::World &world;
  std::vector<std::shared_ptr<LocalOwner>> &owners;
  model::Table plain;
  std::vector<unit::Request *> requests;
  uint64_t world_tokens[2] = {0, 0};
};

uint64_t run_all(int owner_count, int depth) {
  unit::World world;
  std::vector<std::shared_ptr<LocalOwner>> owners;
  for (int i = 0; i < owner_count; ++i) owners.push_back(world.owner(i == 0 ? "x" : i == 1 ? "y" : "z"));
  const int kinds = owner_count * Program::kKinds;
  std::vector<int> digits(static_cast<size_t>(depth), 0);
  uint64_t programs = 0;
  for (bool more = true; more; ++programs) {
    Program program(world, owners);
    for (const int operation : digits) {
      program.run(operation);
      program.compare();
    }
    program.clean_up();
    const liblock_stats after = world.stats();
    EXPECT(after.locks_held == 0 && after.waiters == 0);
    if (programs % 1'000 == 0) world.table->check_invariants();
    size_t at = 0;
    while (at < digits.size() && ++digits[at] == kinds) digits[at++] = 0;
    more = at < digits.size();
  }
  world.table->check_invariants();
  return programs;
}

int depth_wanted() {
  const char *given = std::getenv("LIBLOCK_EXHAUSTIVE_DEPTH");
  const char *size = std::getenv("LIBLOCK_TEST_SIZE");
  if (given != nullptr && given[0] >= '1' && given[0] <= '9') return given[0] - '0';
  return size != nullptr && std::strcmp(size, "nightly") == 0 ? 6 : 5;
}

}  // namespace

UNIT_TEST(two_owners_on_two_keys_agree_with_the_model_in_every_order) {
  std::printf("# %llu programs\n", static_cast<unsigned long long>(run_all(2, depth_wanted())));
}

UNIT_TEST(three_owners_on_two_keys_agree_with_the_model_in_every_order) {
  std::printf("# %llu programs\n", static_cast<unsigned long long>(run_all(3, depth_wanted() - 1)));
}

UNIT_MAIN("exhaustive", cmocka_unit_test(two_owners_on_two_keys_agree_with_the_model_in_every_order),
          cmocka_unit_test(three_owners_on_two_keys_agree_with_the_model_in_every_order))
