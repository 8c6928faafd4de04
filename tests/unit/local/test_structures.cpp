// SPDX-License-Identifier: MIT
// The plain structures under the table: the shard's index against a map, queues, and cycles in graphs.
#include <map>

#include "../support/manual.hpp"
#include "../support/unit.hpp"
#include "local/wait_graph.hpp"

using namespace liblock;

UNIT_TEST(the_index_agrees_with_a_map_through_growth_and_removals) {
  Random random(77);
  Shard shard;
  shard.init(3, &random);
  std::map<std::string, uint32_t> model;
  LocalOwner owner(nullptr, "i", 1, "o", true);
  for (int step = 0; step < 60'000; ++step) {
    std::string key = "k" + std::to_string(random.next() % 3000);
    if (random.next() % 3 == 0) key += std::string(random.next() % 500, 'x');
    const auto hash = static_cast<uint32_t>(hash_bytes(key, 1) % 509);  // few hashes: long probe runs
    const auto known = model.find(key);
    EXPECT(shard.find(hash, key) == (known == model.end() ? kNoEntry : known->second));
    if (known == model.end() && model.size() < 2000) {
      const uint32_t index = shard.insert(hash, key);
      shard.entry(index).owner = &owner;
      ++shard.held;
      model[key] = index;
    } else if (known != model.end()) {
      shard.entry(known->second).owner = nullptr;
      --shard.held;
      shard.erase(known->second);
      model.erase(known);
    }
    if (step % 5'000 == 0) shard.check_invariants();
  }
  for (const auto &[key, index] : model) {
    EXPECT(shard.entry(index).key() == key);
    shard.entry(index).owner = nullptr;
    shard.erase(index);  // long keys go back to their store, which ends with the shard
  }
}

UNIT_TEST(a_slot_whose_generations_are_used_up_is_retired) {
  Random random(1);
  Shard shard;
  shard.init(0, &random);
  const uint32_t index = shard.insert(1, "key");
  shard.entry(index).handle = (handle::kGenerationMax - 1) << handle::kGenerationShift;
  shard.erase(index);
  for (int i = 0; i < 100; ++i)
    EXPECT(shard.insert(static_cast<uint32_t>(i), "k" + std::to_string(i)) != index);
}

UNIT_TEST(losses_are_remembered_up_to_a_bound_and_told_once) {
  Random random(1);
  Shard shard;
  shard.init(0, &random);
  for (Handle h = 1; h <= 5'000; ++h) shard.remember_lost(h << 30);
  EXPECT(!shard.was_lost(Handle{1} << 30) && shard.was_lost(Handle{5'000} << 30));
  EXPECT(shard.forget_lost(Handle{5'000} << 30) && !shard.forget_lost(Handle{5'000} << 30));
  EXPECT(!shard.was_lost(0) && !shard.forget_lost(0));  // what stands in its place now
}

namespace {

struct Queued {
  AcquireParams params;
  Waiter waiter;
  Queued(int32_t order, int32_t priority = 0) {
    params.order = order;
    params.priority = priority;
    waiter.params = &params;
  }
};

std::string order_of(WaitQueue &queue, std::map<Waiter *, char> &names) {
  std::string order;
  while (Waiter *w = queue.strict.front()) {
    order += names[w];
    queue.remove(*w);
  }
  return order;
}

}  // namespace

UNIT_TEST(mixed_orders_have_one_line_however_short_the_machine_has_been_up) {
  for (const Nanos now : {Nanos{0}, 60'000 * kMillisecond, 1'000'000'000 * kMillisecond}) {
    WaitQueue queue;
    Queued a(LIBLOCK_ORDER_FIFO), b(LIBLOCK_ORDER_FIFO), l(LIBLOCK_ORDER_LIFO), m(LIBLOCK_ORDER_LIFO);
    Queued p(LIBLOCK_ORDER_PRIORITY, 1'000'000), q(LIBLOCK_ORDER_PRIORITY, -5);
    p.params.age_step = 86'400'000 * kMillisecond;
    std::map<Waiter *, char> names = {{&a.waiter, 'a'}, {&b.waiter, 'b'}, {&l.waiter, 'l'},
                                      {&m.waiter, 'm'}, {&p.waiter, 'p'}, {&q.waiter, 'q'}};
    EXPECT(queue.enqueue(a.waiter, now) == 0);
    EXPECT(queue.enqueue(b.waiter, now) == 1);  // the same instant keeps the order of arrival
    EXPECT(queue.enqueue(q.waiter, now) == 2);
    EXPECT(queue.enqueue(p.waiter, now) == 0);
    EXPECT(queue.enqueue(l.waiter, now) == 0);
    EXPECT(queue.enqueue(m.waiter, now) == 0);
    queue.check_invariants();
    EXPECT(order_of(queue, names) == "mlpabq");
  }
}

UNIT_TEST(a_waiter_of_low_priority_ages) {
  WaitQueue queue;
  Queued low(LIBLOCK_ORDER_PRIORITY, 0), high(LIBLOCK_ORDER_PRIORITY, 3), late(LIBLOCK_ORDER_PRIORITY, 3);
  std::map<Waiter *, char> names = {{&low.waiter, 'l'}, {&high.waiter, 'h'}, {&late.waiter, 't'}};
  queue.enqueue(low.waiter, 1'000 * kMillisecond);
  queue.enqueue(high.waiter, 3'900 * kMillisecond);  // 2.9 s later: 3 steps of 1 s still win
  queue.enqueue(late.waiter, 4'100 * kMillisecond);  // 3.1 s later: no more
  EXPECT(order_of(queue, names) == "hlt");
}

UNIT_TEST(a_requeued_waiter_goes_behind_everybody) {
  WaitQueue queue;
  Queued a(LIBLOCK_ORDER_FIFO), l(LIBLOCK_ORDER_LIFO), z(LIBLOCK_ORDER_PRIORITY, -1000);
  std::map<Waiter *, char> names = {{&a.waiter, 'a'}, {&l.waiter, 'l'}, {&z.waiter, 'z'}};
  queue.enqueue(a.waiter, kMillisecond);
  queue.enqueue(z.waiter, kMillisecond);
  queue.enqueue(l.waiter, kMillisecond);
  queue.requeue(l.waiter, 2 * kMillisecond);
  queue.check_invariants();
  EXPECT(order_of(queue, names) == "azl");
}

UNIT_TEST(cycles_are_found_and_chains_are_not) {
  std::shared_ptr<LocalOwner> owners[5];
  for (auto &owner : owners) owner = std::make_shared<LocalOwner>(nullptr, "i", 1, "o", true);
  std::map<const LocalOwner *, std::vector<int>> waits_for;
  const auto expand = [&](const LocalOwner &from, WaitEdges &edges) {
    for (const int to : waits_for[&from]) edges.push_back({&from, owners[to], 1, 0, 0});
  };
  const auto edge = [&](int from, int to) { return WaitEdge{owners[from].get(), owners[to], 1, 0, 0}; };
  waits_for[owners[1].get()] = {2, 3};
  waits_for[owners[2].get()] = {4};
  EXPECT(find_cycle(edge(0, 1), expand).empty());
  waits_for[owners[3].get()] = {0};
  EXPECT(find_cycle(edge(0, 1), expand).size() == 3);
  waits_for[owners[3].get()] = {1};  // a cycle that the first edge only leads to is another wait's business
  EXPECT(find_cycle(edge(0, 1), expand).empty());
  EXPECT(find_cycle(edge(0, 0), expand).size() == 1);
}

// As one that closes behind the moment at which it was seen to be waited for.
UNIT_TEST(an_owner_that_goes_while_a_cycle_is_searched_for_is_there_until_its_waits_were_looked_at) {
  const auto searcher = std::make_shared<LocalOwner>(nullptr, "i", 1, "o", true);
  auto first = std::make_shared<LocalOwner>(nullptr, "i", 2, "o", true);
  auto second = std::make_shared<LocalOwner>(nullptr, "i", 3, "o", true);
  const std::weak_ptr<LocalOwner> seen = second;
  bool is_asked = false;
  const auto expand = [&](const LocalOwner &from, WaitEdges &edges) {
    if (second != nullptr) {
      edges.push_back({&from, second, 1, 0, 0});
      second.reset();
      return;
    }
    is_asked = true;
    EXPECT(seen.lock().get() == &from);
  };
  WaitEdge edge{searcher.get(), first, 1, 0, 0};
  first.reset();
  EXPECT(find_cycle(edge, expand).empty() && is_asked);
}

UNIT_MAIN("local structures", cmocka_unit_test(the_index_agrees_with_a_map_through_growth_and_removals),
          cmocka_unit_test(a_slot_whose_generations_are_used_up_is_retired),
          cmocka_unit_test(losses_are_remembered_up_to_a_bound_and_told_once),
          cmocka_unit_test(mixed_orders_have_one_line_however_short_the_machine_has_been_up),
          cmocka_unit_test(a_waiter_of_low_priority_ages),
          cmocka_unit_test(a_requeued_waiter_goes_behind_everybody),
          cmocka_unit_test(cycles_are_found_and_chains_are_not),
          cmocka_unit_test(an_owner_that_goes_while_a_cycle_is_searched_for_is_there_until_its_waits_were_looked_at))
