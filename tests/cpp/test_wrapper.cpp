// SPDX-License-Identifier: MIT
// liblock.hpp over a local context. The goal: every object gives back what it took, once, however its life ends; what
// fails is told by one of two ways, and by no destructor.
#include <liblock/liblock.hpp>
#include <thread>

#include "../unit/support/unit.hpp"

using liblock::AcquireOptions;
using liblock::Context;
using liblock::Error;
using liblock::Lock;
using liblock::Owner;
using liblock::Result;
using namespace std::chrono_literals;

namespace {

// The status that a call throws, or OK.
template <typename Call>
liblock_status thrown_by(Call call) {
  try {
    call();
  } catch (const Error &error) {
    return error.status();
  }
  return LIBLOCK_OK;
}

AcquireOptions named(const Owner &owner) { return AcquireOptions().owned_by(owner); }

}  // namespace

UNIT_TEST(a_context_that_cannot_be_opened_throws_status_and_message) {
  try {
    const Context context("nonsense:");
  } catch (const Error &error) {
    Result result;
    EXPECT(!Context::open("nonsense:", result));
    EXPECT(error.status() == result.status() && !error.is(LIBLOCK_RETRYABLE));
    EXPECT(std::string(error.what()) == std::string(result.name()) + ": " + result.message());
    return;
  }
  EXPECT(!"opened");
}

UNIT_TEST(a_failed_acquire_with_a_result_is_an_empty_lock_and_throws_nothing) {
  const Context context("local:");
  Result result;
  const Lock lock = context.acquire("", result);
  EXPECT(!lock && !lock.is_held() && lock.token() == 0 && !result &&
         result.status() == LIBLOCK_INVALID_ARGUMENT);
  EXPECT(result.message()[0] != '\0');
  EXPECT(thrown_by([&] { (void)context.acquire(""); }) == LIBLOCK_INVALID_ARGUMENT);
}

UNIT_TEST(an_empty_context_refuses_to_lock) {
  const Context context;
  Result result;
  EXPECT(!context && !context.acquire("key", result) && result.status() == LIBLOCK_INVALID_ARGUMENT);
  EXPECT(!Owner::open(context, "owner", result) && result.status() == LIBLOCK_INVALID_ARGUMENT);
}

UNIT_TEST(an_empty_lock_has_nothing_to_release_and_nothing_left) {
  Lock lock;
  Result result;
  EXPECT(lock.release(result) == LIBLOCK_INVALID_ARGUMENT && lock.remaining() == 0ms && !lock.is_held());
}

UNIT_TEST(a_key_that_is_held_is_nullopt_for_try) {
  const Context context("local:");
  const Lock lock = context.acquire("key");
  EXPECT(!context.try_acquire("key").has_value());
  EXPECT(!context.try_acquire("key", AcquireOptions().wait_for(1h)).has_value());
  EXPECT(!context.try_acquire_for("key", 1ms).has_value());
  AcquireOptions few;
  few.retries = 1;
  few.retry_interval_ms = 1;
  EXPECT(!context.try_acquire_for("key", 1h, few).has_value());
}

UNIT_TEST(try_throws_what_is_neither_a_grant_nor_a_held_key) {
  const Context context("local:");
  EXPECT(thrown_by([&] { (void)context.try_acquire(""); }) == LIBLOCK_INVALID_ARGUMENT);
  AcquireOptions wrong;
  wrong.mode = 7;
  EXPECT(thrown_by([&] { (void)context.try_acquire_for("key", 1ms, wrong); }) == LIBLOCK_UNSUPPORTED);
}

UNIT_TEST(a_lock_is_given_back_at_the_end_of_its_scope) {
  const Context context("local:");
  {
    const std::optional<Lock> lock = context.try_acquire("key");
    EXPECT(lock && lock->is_held() && lock->token() > 0 && context.is_locked("key"));
  }
  EXPECT(!context.is_locked("key"));
}

UNIT_TEST(a_lock_is_given_back_when_an_exception_passes) {
  const Context context("local:");
  try {
    const Lock lock = context.acquire("key");
    throw 1;
  } catch (int) {}
  EXPECT(!context.is_locked("key"));
}

UNIT_TEST(a_lock_that_moved_is_given_back_once_by_whoever_has_it_last) {
  const Context context("local:");
  Lock last;
  {
    Lock first = context.acquire("key");
    Lock second(std::move(first));
    EXPECT(!first && second);
    last = std::move(second);
  }
  EXPECT(last.is_held() && context.is_locked("key"));
  last = context.acquire("other");
  EXPECT(!context.is_locked("key") && context.is_locked("other"));
}

UNIT_TEST(a_lock_that_is_detached_stays_held) {
  const Context context("local:");
  liblock_lock handle = 0;
  {
    Lock lock = context.acquire("key");
    handle = lock.detach();
    EXPECT(!lock);
  }
  EXPECT(context.is_locked("key"));
  { const Lock again(context.get(), handle); }
  EXPECT(!context.is_locked("key"));
}

UNIT_TEST(releasing_a_lock_that_was_taken_away_says_lost_and_its_destructor_says_nothing) {
  const Context context("local:");
  Lock told = context.acquire("told"), silent = context.acquire("silent");
  liblock_force_release(context.get(), "told", 4, 0, nullptr);
  liblock_force_release(context.get(), "silent", 6, 0, nullptr);
  EXPECT(!told.is_held() && told.remaining() == 0ms);
  EXPECT(thrown_by([&] { told.extend(1s); }) == LIBLOCK_LOST);
  EXPECT(thrown_by([&] { told.release(); }) == LIBLOCK_LOST && !told);
}

UNIT_TEST(a_lease_can_be_asked_for_and_set_anew) {
  const Context context("local:");
  EXPECT(context.acquire("for ever").remaining() == std::nullopt);
  Lock lock = context.acquire("leased", AcquireOptions().ttl(1min));
  EXPECT(lock.remaining() > 0ms && lock.remaining() <= 1min);
  lock.extend(1h);
  EXPECT(lock.remaining() > 1min && lock.remaining() <= 1h);
  Lock renewed = context.acquire("renewed", AcquireOptions().ttl(1h).renewed());
  EXPECT(renewed.remaining() > 1min);
}

UNIT_TEST(a_lock_carries_a_value_of_any_bytes) {
  using namespace std::string_view_literals;
  const Context context("local:");
  Lock lock = context.acquire("a\0b"sv, AcquireOptions().carrying("first"sv));
  EXPECT(!context.is_locked("a") && context.is_locked("a\0b"sv));
  lock.update("\0new"sv);
  liblock_info *info = nullptr;
  EXPECT(liblock_inspect(context.get(), "a\0b", 3, &info, nullptr) == LIBLOCK_OK);
  size_t size = 0;
  const auto *value = static_cast<const char *>(liblock_info_value(info, &size));
  const bool is_new = std::string_view(value, size) == "\0new"sv;
  liblock_info_free(info);
  EXPECT(is_new);
}

UNIT_TEST(several_keys_are_one_lock_and_all_or_nothing) {
  const Context context("local:");
  Lock busy = context.acquire("b");
  EXPECT(thrown_by([&] {
           (void)context.acquire_many({"a", "b"}, AcquireOptions().wait_for(0ms));
         }) == LIBLOCK_BUSY);
  EXPECT(!context.is_locked("a"));
  busy.release();
  const Lock both = context.acquire_many({"a", "b"});
  EXPECT(both && context.is_locked("a") && context.is_locked("b"));
}

UNIT_TEST(the_global_lock_excludes_every_key) {
  const Context context("local:");
  {
    const Lock everything = context.acquire_global();
    EXPECT(!context.try_acquire("key"));
  }
  EXPECT(context.try_acquire("key").has_value());
}

UNIT_TEST(an_owner_reenters_and_takes_its_locks_with_it) {
  const Context context("local:");
  Owner other(context, "other");
  const Owner kept(std::move(other));
  EXPECT(!other && kept);
  {
    const Owner owner(context, "owner");
    const Lock first = context.acquire("key", named(owner)), again = context.acquire("key", named(owner));
    EXPECT(first.token() == again.token() && !context.try_acquire("key", named(kept)));
  }
  EXPECT(context.try_acquire("key", named(kept)).has_value());
  const Lock threads = context.acquire("thread's", AcquireOptions().owned_by_thread());
  EXPECT(context.try_acquire("thread's", AcquireOptions().owned_by_thread()).has_value());
}

UNIT_TEST(a_result_serves_one_call_after_another_and_frees_what_each_has_left) {
  const Context context("local:");
  const Lock lock = context.acquire("key");
  AcquireOptions curious;
  curious.busy_info = 1;
  Result result;
  for (int i = 0; i < 3; ++i) {
    EXPECT(!context.try_acquire("key", curious, result) && result.is(LIBLOCK_RETRYABLE));
    EXPECT(result.details().info != nullptr && std::string(result.name()) == "BUSY");
  }
  EXPECT(context.try_acquire("free", result) && result.ok() && result.details().info == nullptr);
  EXPECT(context.is_locked("key", result) && result);
}

UNIT_TEST(a_context_may_move_while_its_locks_are_held) {
  Context first("local:");
  Lock lock = first.acquire("key");
  Context second(std::move(first));
  EXPECT(!first && second.is_locked("key") && lock.is_held());
  lock.release();
  second = Context("local:");
  EXPECT(!second.is_locked("key"));
}

UNIT_TEST(options_reach_the_context) {
  liblock::ContextOptions options;
  options.locks_max = 1;
  const Context context("local:", options);
  const Lock lock = context.acquire("key");
  EXPECT(thrown_by([&] { (void)context.acquire("one more"); }) == LIBLOCK_LIMIT);
  Result result;
  EXPECT(Context::open("local:", options, result) && result);
}

UNIT_TEST(threads_exclude_each_other) {
  const Context context("local:");
  constexpr int kRounds = 2000;
  int counter = 0;
  const auto work = [&] {
    for (int i = 0; i < kRounds; ++i) {
      const Lock lock = context.acquire("counter");
      const int seen = counter;
      if (i % 64 == 0) std::this_thread::yield();
      counter = seen + 1;
    }
  };
  std::thread first(work), second(work);
  first.join();
  second.join();
  EXPECT(counter == 2 * kRounds);
}

UNIT_MAIN("cpp wrapper", cmocka_unit_test(a_context_that_cannot_be_opened_throws_status_and_message),
          cmocka_unit_test(a_failed_acquire_with_a_result_is_an_empty_lock_and_throws_nothing),
          cmocka_unit_test(an_empty_context_refuses_to_lock),
          cmocka_unit_test(an_empty_lock_has_nothing_to_release_and_nothing_left),
          cmocka_unit_test(a_key_that_is_held_is_nullopt_for_try),
          cmocka_unit_test(try_throws_what_is_neither_a_grant_nor_a_held_key),
          cmocka_unit_test(a_lock_is_given_back_at_the_end_of_its_scope),
          cmocka_unit_test(a_lock_is_given_back_when_an_exception_passes),
          cmocka_unit_test(a_lock_that_moved_is_given_back_once_by_whoever_has_it_last),
          cmocka_unit_test(a_lock_that_is_detached_stays_held),
          cmocka_unit_test(releasing_a_lock_that_was_taken_away_says_lost_and_its_destructor_says_nothing),
          cmocka_unit_test(a_lease_can_be_asked_for_and_set_anew),
          cmocka_unit_test(a_lock_carries_a_value_of_any_bytes),
          cmocka_unit_test(several_keys_are_one_lock_and_all_or_nothing),
          cmocka_unit_test(the_global_lock_excludes_every_key),
          cmocka_unit_test(an_owner_reenters_and_takes_its_locks_with_it),
          cmocka_unit_test(a_result_serves_one_call_after_another_and_frees_what_each_has_left),
          cmocka_unit_test(a_context_may_move_while_its_locks_are_held),
          cmocka_unit_test(options_reach_the_context), cmocka_unit_test(threads_exclude_each_other))
