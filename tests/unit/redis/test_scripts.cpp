// SPDX-License-Identifier: MIT
// Scripts of a server, told directly (support/told.hpp).
#include "support/told.hpp"

namespace scripts = liblock::scripts;
using namespace unit;

namespace {

constexpr const char *kLock = "liblock:k", *kFence = "fence", *kQueue = "queue", *kEntries = "entries",
                     *kMetadata = "metadata";
const Words kNames = {kLock, kFence, kQueue, kEntries, "anyone", kMetadata, "gap"};

struct Asking {
  std::string owner = "owner", metadata = "", ttl_ms = "10000", tokens = "1", names = "0";
};

struct Stage : Told {
  Reply acquire(char who, const std::string &mode, const Asking &asks = {}) {
    Words words = {id(who), asks.owner + "|i1", soon(), asks.ttl_ms, asks.tokens, "v",
                   mode + " 1000 0 10000 0 0 0 0 0 1 0 0 1 " + asks.names + " 0 0"};
    if (!asks.metadata.empty() || asks.ttl_ms == "0" || mode == "any") words.push_back(asks.metadata);
    return run(scripts::acquire, kNames, words);
  }
  // However it is said.
  static bool is_granted(const Reply &reply) {
    return reply.items.empty() ? reply.integer > 0 : reply.items[0].is("OK");
  }
  static int64_t token_in(const Reply &reply) { return reply.items.empty() ? reply.integer : reply.items[2].integer; }
  Reply by_value(const std::string &how, const std::string &value, const std::string &what) {
    return run(scripts::by_value, kNames, {how, value, what});
  }
  Reply release(char who) { return run(scripts::release, kNames, {"-1", id(who)}); }
  Reply extend(const std::string &how, const std::string &ttl_ms, const std::string &number) {
    return run(scripts::extend, {kLock, kMetadata}, {soon(), "1", ttl_ms, how, number, "ll1|" + id('1')});
  }
  void set_foreign_type() { ask({"HSET", kLock, "field", "value"}); }
  // As versions before the time of the grant was part of it.
  void set_old_record() { ask({"SET", kLock, "ll1|" + id('1') + "|00000000|5|owner|i1|v"}); }
  bool is_record_of(const Reply &reply, char who) { return reply.text.starts_with("ll1|" + id(who)); }
};

}  // namespace

UNIT_TEST(who_finds_a_key_busy_hears_who_holds_it_and_who_is_first) {
  Stage s;
  EXPECT(s.is_granted(s.acquire('1', "queue")));
  EXPECT(s.acquire('2', "try", {.names = "1"}).items[11].is(""));
  const Reply waits = s.acquire('2', "queue", {.owner = "next", .names = "1"});
  EXPECT(waits.items[0].is("BUSY") && s.is_record_of(waits.items[10], '1') && waits.items[11].is("next"));
  const Reply tries = s.acquire('3', "try", {.names = "1"});
  EXPECT(tries.items[7].is(1) && s.is_record_of(tries.items[10], '1') && tries.items[11].is("next"));
}

UNIT_TEST(the_same_attempt_without_an_expiry_has_its_lock_and_keeps_it) {
  Stage s;
  const Reply first = s.acquire('1', "queue");
  EXPECT(s.token_in(s.acquire('1', "queue", {.ttl_ms = "0"})) == s.token_in(first));
  EXPECT(s.ask({"PTTL", kLock}).is(-1));
}

UNIT_TEST(no_token_is_given_beyond_the_largest_that_scripts_count_exactly) {
  Stage s;
  s.ask({"SET", kFence, "9007199254740991"});
  for (const char *mode : {"queue", "any"})
    EXPECT(s.acquire('1', mode).is_error("LIBLOCK") && s.is_free(kLock));
  EXPECT(s.ask({"GET", kFence}).is("9007199254740991"));
  // Nor beyond one that somebody else has written, whose lead over the clock is longer than any expiry.
  s.ask({"SET", kFence, "1e22"});
  for (int time = 0; time < 2; ++time) EXPECT(s.acquire('1', "queue").is_error("LIBLOCK") && s.is_free(kLock));
  EXPECT(s.ask({"GET", kFence}).is("1e22"));
}

UNIT_TEST(tokens_rise_also_where_the_fence_is_ahead_of_the_clock) {
  Stage s;
  const int64_t ahead = s.now_us + 5'000'000;
  s.ask({"SET", kFence, std::to_string(ahead)});
  EXPECT(s.token_in(s.acquire('1', "queue")) == ahead + 1 && s.ask({"GET", kFence}).is(std::to_string(ahead + 1)));
  EXPECT(s.ask({"PTTL", kFence}).integer >= 86'400'000 + 5'000);
  EXPECT(s.ask({"GET", kLock}).text.starts_with("ll1|" + id('1') + "|00000000|" + std::to_string(ahead + 1)));
  EXPECT(s.release('1').integer == s.now_us);
  EXPECT(s.token_in(s.acquire('2', "queue", {.tokens = "256"})) == ahead + 2);
  EXPECT(s.ask({"GET", kFence}).is(std::to_string(ahead + 257)));
}

UNIT_TEST(tokens_are_reserved_from_the_time_on) {
  // Also where they go on into the next second, and where the microseconds have fewer than six digits.
  for (const int64_t micros : {999'800, 1'234, 0, 500'000}) {
    Stage s;
    s.now_us += micros;
    EXPECT(s.token_in(s.acquire('1', "queue", {.tokens = "256"})) == s.now_us);
    EXPECT(s.ask({"GET", kFence}).is(std::to_string(s.now_us + 255)));
    EXPECT(s.ask({"PTTL", kFence}).is(86'400'000));
  }
}

UNIT_TEST(a_fence_that_is_no_number_or_no_string_is_as_none_or_an_error) {
  Stage s;
  s.ask({"SET", kFence, "nonsense"});
  EXPECT(s.token_in(s.acquire('1', "queue")) == s.now_us && s.release('1').integer == s.now_us);
  s.ask({"DEL", kFence});
  s.ask({"HSET", kFence, "field", "value"});
  EXPECT(s.acquire('1', "queue").is_error("WRONGTYPE") && s.is_free(kLock));
}

UNIT_TEST(what_is_left_of_metadata_goes_with_the_next_grant) {
  Stage s;
  s.ask({"HSET", kMetadata, "field", "value"});
  EXPECT(s.is_granted(s.acquire('1', "queue")) && s.is_free(kMetadata));
}

UNIT_TEST(a_key_of_another_type_is_an_error_and_stays) {
  Stage s;
  s.set_foreign_type();
  for (const char *mode : {"queue", "any"}) EXPECT(s.acquire('1', mode).is_error("WRONGTYPE"));
  EXPECT(s.by_value("release", "v", "").is_error("WRONGTYPE"));
  EXPECT(s.run(scripts::force_release, kNames, {"0", ""}).is_error("WRONGTYPE"));
  EXPECT(s.run(scripts::inspect, {kLock, "anyone", kQueue, kMetadata}, {"0"}).is_error("WRONGTYPE"));
  EXPECT(!s.is_free(kLock));
}

UNIT_TEST(a_grant_of_which_a_part_is_refused_leaves_nothing_behind) {
  Stage s;
  const Asking with_metadata = {.metadata = "4:name5:value"};
  for (const char *name : {kFence, kLock}) {
    s.forbid("SET", name);
    for (const char *mode : {"queue", "any"}) EXPECT(s.acquire('1', mode).is_error() && s.is_free(kLock));
  }
  s.forbid("HSET", kMetadata);
  EXPECT(s.acquire('1', "queue", with_metadata).is_error() && s.is_free(kLock));
  s.server.on_permission = nullptr;
  EXPECT(s.is_granted(s.acquire('1', "queue", with_metadata)) && !s.is_free(kMetadata));
}

UNIT_TEST(who_cannot_be_granted_a_key_is_told_to_come_for_it) {
  for (const bool has_tokens : {true, false}) {
    Stage s;
    s.acquire('1', "queue");
    s.acquire('2', "queue", {.metadata = "4:name5:value"});
    s.messages.clear();
    if (has_tokens) s.forbid("HSET", kMetadata);
    if (!has_tokens) s.ask({"SET", kFence, "9007199254740991"});
    EXPECT(s.release('1').items[1].is(1) && s.is_free(kLock));
    EXPECT(s.messages == Words{"h" + id('2') + kLock} && s.ask({"ZCARD", kQueue}).is(1));
  }
}

UNIT_TEST(a_release_buries_so_many_dead_waiters_and_leaves_the_others_to_the_next) {
  Stage s;
  s.acquire('1', "queue");
  for (int n = 0; n < 4'097; ++n) s.ask({"ZADD", kQueue, std::to_string(n), std::to_string(n)});
  // The first has an entry; nothing was heard of its instance.
  s.ask({"HSET", kEntries, "0", "1|1|10000|0|0|gone|owner|1|0|"});
  EXPECT(s.release('1').items[1].is(1));
  EXPECT(s.is_free(kLock) && s.ask({"ZCARD", kQueue}).is(1));
}

UNIT_TEST(an_empty_queue_has_an_empty_page) {
  Stage s;
  const Reply page = s.run(scripts::queue, {kQueue, kEntries}, {"0", "10"});
  EXPECT(page.items.size() == 2 && page.items[1].is(0));
}

UNIT_TEST(who_knows_the_value_releases_the_lock_and_its_holder_is_told) {
  Stage s;
  EXPECT(s.by_value("release", "v", "").items[0].is(0));
  s.acquire('1', "queue");
  EXPECT(s.by_value("release", "other", "").items[0].is(1) && !s.is_free(kLock));
  EXPECT(s.by_value("release", "v", "").items[0].is(2) && s.is_free(kLock));
  EXPECT(s.messages == Words{std::string("l") + kLock});
}

UNIT_TEST(who_knows_the_value_changes_it_and_the_lease_stays) {
  Stage s;
  s.acquire('1', "queue");
  EXPECT(s.by_value("update", "v", "w").items[1].is(10'000) && s.ask({"PTTL", kLock}).is(10'000));
  EXPECT(s.by_value("update", "v", "x").items[0].is(1) && s.by_value("update", "w", "v").items[0].is(2));
}

UNIT_TEST(who_knows_the_value_prolongs_the_lease_and_may_take_its_end_away) {
  Stage s;
  s.acquire('1', "queue");
  EXPECT(s.by_value("add", "v", "5000").items[1].is(15'000) && s.ask({"PTTL", kLock}).is(15'000));
  EXPECT(s.by_value("add", "v", "0").items[1].is(-1) && s.ask({"PTTL", kLock}).is(-1));
  EXPECT(s.by_value("set", "v", "5000").items[1].is(-1) && s.ask({"PTTL", kLock}).is(-1));
}

UNIT_TEST(a_record_of_an_older_version_carries_a_value_as_well) {
  Stage s;
  s.set_old_record();
  EXPECT(s.by_value("update", "v", "w").items[0].is(2));
  EXPECT(s.run(scripts::update, {kLock}, {"00000001", "x", id('1')}).items[0].is(1));
  EXPECT(s.ask({"GET", kLock}).is("ll1|" + id('1') + "|00000001|5|owner|i1|x"));
}

UNIT_TEST(a_change_that_arrives_behind_a_later_one_changes_nothing) {
  Stage s;
  s.acquire('1', "queue", {.metadata = "4:name5:value"});
  EXPECT(s.extend("set", "60000", "00000002").items[2].is(60'000));
  EXPECT(s.extend("set", "1000", "00000001").items[2].is(60'000));
  EXPECT(s.ask({"PTTL", kLock}).is(60'000) && s.ask({"PTTL", kMetadata}).is(60'000));
  EXPECT(s.extend("set", "0", "00000003").items[2].is(-1) && s.ask({"PTTL", kMetadata}).is(-1));
}

UNIT_TEST(a_lock_that_was_handed_over_says_who_has_it_and_nothing_else_changes) {
  Stage s;
  s.acquire('1', "queue");
  const std::string before = s.ask({"GET", kLock}).text, names = "|owner|i1|";
  EXPECT(s.run(scripts::rename, {kLock}, {"other", "i2", id('2')}).is(0));
  EXPECT(s.run(scripts::rename, {kLock}, {"other", "i2", id('1')}).is(1));
  std::string after = before;
  after.replace(after.find(names), names.size(), "|other|i2|");
  EXPECT(s.ask({"GET", kLock}).is(after) && s.ask({"PTTL", kLock}).is(10'000));
}

UNIT_TEST(of_an_owner_with_many_waits_no_more_are_followed_than_was_said) {
  Stage s;
  const auto waits = [&s](const std::string &owner, const std::string &attempt, const std::string &lock) {
    s.ask({"HSET", "ll1:e:{" + lock + "}", attempt, "1|1|1000|0|0|i1|" + owner + "|1|0|"});
    s.ask({"ZADD", "ll1:q:{" + lock + "}", "1", attempt});
    s.ask({"HSET", "ll1:o:{" + owner + "}", attempt, lock});
  };
  s.ask({"SET", "a", "ll1|" + id('9') + "|00000000|5|other/1|i2|@1,1|"});
  waits("me/1", id('1'), "a");
  for (const char n : {'2', '3', '4'}) waits("other/1", id(n), std::string("b") + n);
  const Reply found = s.run(scripts::deadlock, {"ll1:o:{me/1}"}, {"me/1", id('1'), "a", "1000", "1", "self"});
  EXPECT(found.items[0].is("") && found.items[1].is(0));
}

UNIT_MAIN("redis_scripts", cmocka_unit_test(who_finds_a_key_busy_hears_who_holds_it_and_who_is_first),
          cmocka_unit_test(the_same_attempt_without_an_expiry_has_its_lock_and_keeps_it),
          cmocka_unit_test(no_token_is_given_beyond_the_largest_that_scripts_count_exactly),
          cmocka_unit_test(tokens_rise_also_where_the_fence_is_ahead_of_the_clock),
          cmocka_unit_test(tokens_are_reserved_from_the_time_on),
          cmocka_unit_test(a_fence_that_is_no_number_or_no_string_is_as_none_or_an_error),
          cmocka_unit_test(what_is_left_of_metadata_goes_with_the_next_grant),
          cmocka_unit_test(a_key_of_another_type_is_an_error_and_stays),
          cmocka_unit_test(a_grant_of_which_a_part_is_refused_leaves_nothing_behind),
          cmocka_unit_test(who_cannot_be_granted_a_key_is_told_to_come_for_it),
          cmocka_unit_test(a_release_buries_so_many_dead_waiters_and_leaves_the_others_to_the_next),
          cmocka_unit_test(an_empty_queue_has_an_empty_page),
          cmocka_unit_test(who_knows_the_value_releases_the_lock_and_its_holder_is_told),
          cmocka_unit_test(who_knows_the_value_changes_it_and_the_lease_stays),
          cmocka_unit_test(who_knows_the_value_prolongs_the_lease_and_may_take_its_end_away),
          cmocka_unit_test(a_record_of_an_older_version_carries_a_value_as_well),
          cmocka_unit_test(a_change_that_arrives_behind_a_later_one_changes_nothing),
          cmocka_unit_test(a_lock_that_was_handed_over_says_who_has_it_and_nothing_else_changes),
          cmocka_unit_test(of_an_owner_with_many_waits_no_more_are_followed_than_was_said))
