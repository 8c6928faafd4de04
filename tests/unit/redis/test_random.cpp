// SPDX-License-Identifier: MIT
// Random lives of processes with one server, seed by seed. LIBLOCK_TEST_SEED=N runs one seed alone.
#include "random_run.hpp"

using namespace unit;

UNIT_TEST(nobody_ever_shares_a_key_and_everything_ends_whatever_befalls_them) {
  const char *only = std::getenv("LIBLOCK_TEST_SEED");
  const uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : 1;
  const uint64_t count = only != nullptr ? 1 : scaled(60, 500, 20'000) / slowness();
  uint64_t grants = 0, passed_on = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    RandomRun life(seed);
    try {
      life.run(8'000);
      life.finish();
    } catch (const Failure &failure) {
      throw Failure{failure.text + "\nLIBLOCK_TEST_SEED=" + std::to_string(seed) + " (" + life.story() + ")"};
    }
    grants += life.grants();
    passed_on += life.passed_on();
  }
  EXPECT(grants > 20 * count);
  EXPECT(only != nullptr || passed_on > count);
}

UNIT_TEST(a_seed_is_the_same_life_each_time) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    uint64_t traces[2];
    for (uint64_t &trace : traces) {
      RandomRun life(seed);
      life.run(3'000);
      trace = life.trace();
    }
    EXPECT(traces[0] == traces[1]);
  }
}

UNIT_MAIN("random lives",
          cmocka_unit_test(nobody_ever_shares_a_key_and_everything_ends_whatever_befalls_them),
          cmocka_unit_test(a_seed_is_the_same_life_each_time))
