// SPDX-License-Identifier: MIT
// Scripts of a quorum's nodes, told directly (support/told.hpp): of one node.
#include "quorum/scripts.hpp"

#include "support/told.hpp"

namespace scripts = liblock::quorum::scripts;
using namespace unit;

namespace {

constexpr const char *kWho = "c|1|h1|n1", *kBoot = "boot";

std::string name_of(const std::string &key, const std::string &side) {
  return side + ":{liblock:" + key + "}";
}

struct Stage : Told {
  Stage() { EXPECT(run(scripts::mark, {"node"}, marking("begin")).items[0].is("OK")); }
  static Words marking(const std::string &how) { return {kWho, kBoot, "record", "1000000", "1", how}; }
  static Words names(const std::string &keys) {
    Words all = {"node"};
    for (const char key : keys) {
      all.push_back(std::string("liblock:") + key);
      for (const char *side : {"f", "m", "k", "a", "c", "p"}) all.push_back(name_of({key}, side));
    }
    return all;
  }
  std::string token(int more = 7) const { return std::to_string(now_us + more); }
  Words acquiring(char who) const {
    return {kWho, kBoot,  soon(), id(who), "10000", token(), "owner", "i1", token(who),
            "",   "1000", "0",    "c",     "v",     "",      "0",     "0",  "1"};
  }
  Reply acquire(char who, const std::map<size_t, std::string> &others = {}, const std::string &keys = "k") {
    return run(scripts::acquire, names(keys), with(acquiring(who), others));
  }
  Reply extend(char who, const std::string &proposed, const std::string &metadata = "") {
    return run(scripts::extend, names("k"),
               {kWho, kBoot, soon(), "renew", id(who), "00000001", "20000", proposed, "0", "owner", "i1",
                "20000", "1", "v", metadata, "0", "0"});
  }
  Reply pass_on(char who, const std::string &token, const std::string &owner, const std::string &last) {
    return run(scripts::pass_on, names("k"), {kWho, kBoot, id(who), token, owner, "i1", "7", last, "3"});
  }
  Reply clear(const std::string &whom, const std::string &waited_us, const std::string &name) {
    return run(scripts::clear, names("k"), {kWho, kBoot, soon(), "1000", whom, waited_us, "0", name});
  }
  int64_t waiting() { return ask({"ZCARD", name_of("k", "k")}).integer; }
};

}  // namespace

UNIT_TEST(who_finds_a_key_busy_hears_who_holds_it_and_who_is_first) {
  Stage s;
  EXPECT(s.acquire('1').items[0].is("OK"));
  s.acquire('2', {{10, id('2')}});
  const Reply tries = s.acquire('3', {{16, "1"}});
  EXPECT(tries.items[0].is("BUSY") && tries.items[11].text.starts_with("ll1|" + id('1')));
  EXPECT(tries.items[12].is(id('2')));
}

UNIT_TEST(a_vote_of_which_a_part_is_refused_leaves_nothing_behind_of_any_key) {
  for (const bool has_metadata : {false, true}) {
    Stage s;
    s.forbid(has_metadata ? "HSET" : "SET", has_metadata ? name_of("j", "m") : "liblock:j");
    EXPECT(s.acquire('1', {{15, "4:name5:value"}}, "kj").is_error());
    EXPECT(s.is_free("liblock:k") && s.is_free("liblock:j") && s.is_free(name_of("k", "m")));
  }
}

UNIT_TEST(more_dead_waiters_than_two_looks_clear_away_stand_in_nobodys_way) {
  Stage s;
  for (int n = 0; n < 33; ++n) s.ask({"ZADD", name_of("k", "k"), std::to_string(n), std::to_string(n)});
  EXPECT(s.acquire('1').items[0].is("OK"));
  EXPECT(s.waiting() == 1);
}

UNIT_TEST(a_release_calls_nobody_where_all_who_wait_are_dead) {
  Stage s;
  s.acquire('1');
  s.ask({"ZADD", name_of("k", "k"), "1", id('2')});
  EXPECT(s.run(scripts::release, s.names("k"), {"1000", "", id('1')}).is(s.now_us));
  EXPECT(s.messages.empty() && s.is_free(name_of("k", "c")) && s.waiting() == 0);
}

UNIT_TEST(a_register_outlives_twice_the_longest_lease_and_an_hour) {
  for (const char *max_ttl_ms : {"1000000", "3000000"}) {
    Stage s;
    EXPECT(s.run(scripts::mark, {"node"}, with(s.marking("replace"), {{4, max_ttl_ms}})).items[0].is("OK"));
    EXPECT(s.acquire('1').items[0].is("OK"));
    EXPECT(s.ask({"PTTL", name_of("k", "f")}).is(max_ttl_ms[0] == '1' ? 3'600'000 : 6'300'000));
  }
}

UNIT_TEST(a_node_without_memory_says_so_and_stays_as_it_is) {
  Stage s;
  s.acquire('1');
  const std::string mark = s.ask({"HGETALL", "node"}).to_text(), lock = s.ask({"GET", "liblock:k"}).text;
  s.server.out_of_memory = true;
  EXPECT(s.extend('1', s.token(20)).is_error("OOM"));
  EXPECT(s.run(scripts::raise, s.names("k"), {kWho, kBoot, s.token(20), "1", id('1')}).is_error("OOM"));
  EXPECT(s.pass_on('1', s.token(20), "next", s.token(30)).is_error("OOM"));
  EXPECT(s.run(scripts::promise, s.names("k"), {kWho, kBoot, s.soon(), id('c'), "1000", "1", "id", id('1')})
             .is_error("OOM"));
  EXPECT(
      s.run(scripts::configure, {"node"}, {kWho, "c|2|h2|n1", kBoot, "record", "1000000"}).is_error("OOM"));
  EXPECT(s.run(scripts::mark, {"node"}, s.marking("replace")).is_error("OOM"));
  EXPECT(s.ask({"HGETALL", "node"}).to_text() == mark && s.ask({"GET", "liblock:k"}).is(lock));
}

UNIT_TEST(a_renewal_that_may_not_write_the_lock_anew_says_so) {
  Stage s;
  s.forbid("SET", "liblock:k");
  EXPECT(s.extend('1', s.token()).is_error() && s.is_free("liblock:k"));
}

UNIT_TEST(metadata_live_as_long_as_their_lock) {
  Stage s;
  const std::string metadata = "4:name5:value";
  s.acquire('1', {{15, metadata}});
  EXPECT(s.extend('1', s.token(), metadata).items[3].is(1));
  EXPECT(s.ask({"PTTL", "liblock:k"}).is(20'000) && s.ask({"PTTL", name_of("k", "m")}).is(20'000));
}

UNIT_TEST(a_key_of_another_type_is_shown_as_held_and_is_not_taken_away) {
  Stage s;
  s.ask({"HSET", "liblock:k", "field", "value"});
  const Reply shown = s.run(scripts::read, s.names("k"), {kWho, "0", "1"});
  EXPECT(shown.items[1].items[0].is("") && shown.items[1].items[1].is(-1));
  EXPECT(s.run(scripts::force, s.names("k"), {kWho, kBoot, s.soon(), "1000", "", "0", "0", "0"})
             .is_error("WRONGTYPE"));
  EXPECT(!s.is_free("liblock:k"));
}

UNIT_TEST(who_is_sent_away_from_a_free_key_leaves_it_to_the_next) {
  Stage s;
  s.ask({"SET", "liblock:k", "foreign"});
  s.acquire('2', {{7, "one"}, {10, id('2')}});
  s.acquire('3', {{7, "two"}, {10, id('3')}});
  s.ask({"DEL", "liblock:k"});
  EXPECT(s.clear("owner", "0", "one").items[3].is(1) && s.waiting() == 1);
  EXPECT(s.messages.back() == "c" + id('3') + "liblock:k" && s.ask({"GET", name_of("k", "c")}).is(id('3')));
}

UNIT_TEST(who_has_waited_for_longer_than_one_may_is_sent_away) {
  Stage s;
  s.ask({"SET", "liblock:k", "foreign"});
  s.acquire('2', {{9, s.token(-5'000'000)}, {10, id('2')}});
  s.acquire('3', {{9, s.token(0)}, {10, id('3')}});
  EXPECT(s.clear("owner", "1000000", "nobody").items[3].is(1) && s.waiting() == 1);
}

UNIT_TEST(who_goes_by_another_configuration_clears_nothing) {
  Stage s;
  s.acquire('1');
  const Reply refused =
      s.run(scripts::clear, s.names("k"), {"c|2|h2|n1", kBoot, s.soon(), "1000", "all", "0", "0", ""});
  EXPECT(refused.items[0].is("CONFIG") && refused.items[2].is(kWho) && !s.is_free("liblock:k"));
}

UNIT_TEST(who_clears_a_key_raises_its_register_wherever_it_is_free_then) {
  for (const char *whom : {"all", "owner"}) {
    for (const bool is_held : {false, true}) {
      Stage s;
      if (is_held) s.acquire('1');
      EXPECT(s.clear(whom, "0", "owner").items[0].is("OK"));
      EXPECT(std::stoll(s.ask({"GET", name_of("k", "f")}).text) >= s.now_us + 10'000'000);
    }
  }
}

UNIT_TEST(who_clears_waiters_alone_or_is_not_meant_leaves_the_register_as_it_is) {
  Stage s;
  s.acquire('1');
  const std::string before = s.ask({"GET", name_of("k", "f")}).text;
  s.clear("owner", "0", "another");
  s.run(scripts::clear, s.names("k"), {kWho, kBoot, s.soon(), "1000", "all", "0", "1"});
  EXPECT(s.ask({"GET", name_of("k", "f")}).is(before));
  s.run(scripts::clear, s.names("j"), {kWho, kBoot, s.soon(), "1000", "all", "0", "1"});
  EXPECT(s.is_free(name_of("j", "f")));
}

UNIT_TEST(who_clears_too_late_clears_nothing) {
  Stage s;
  s.acquire('1');
  const std::string before = std::to_string(s.now_us - 1);
  EXPECT(s.run(scripts::clear, s.names("k"), {kWho, kBoot, before, "1000", "all", "0", "0"})
             .items[0]
             .is("LATE"));
  EXPECT(!s.is_free("liblock:k"));
}

UNIT_TEST(a_node_without_memory_takes_no_decision) {
  Stage s;
  s.server.out_of_memory = true;
  EXPECT(s.run(scripts::decide, {"node"}, {kWho, kBoot, "1a", "record"}).is_error("OOM"));
}

UNIT_TEST(a_word_of_who_holds_that_comes_late_takes_nothing_back_and_of_another_lock_does_nothing) {
  Stage s;
  s.acquire('1');
  const std::string fence = name_of("k", "f");
  EXPECT(s.pass_on('2', s.token(20), "another", s.token(30)).items[0].is("GONE"));
  EXPECT(s.ask({"GET", fence}).is(s.token()));
  EXPECT(s.pass_on('1', s.token(20), "two", s.token(30)).items[0].is("OK"));
  EXPECT(s.ask({"GET", fence}).is(s.token(30) + "|" + id('1')));
  const std::string lock = s.ask({"GET", "liblock:k"}).text;
  EXPECT(lock.find("|" + s.token(20) + "|two|i1|") != std::string::npos);
  EXPECT(s.pass_on('1', s.token(15), "one", s.token(25)).items[0].is("OK"));
  EXPECT(s.ask({"GET", fence}).is(s.token(30) + "|" + id('1')) && s.ask({"GET", "liblock:k"}).is(lock));
  EXPECT(s.run(scripts::release, s.names("k"), {"1000", "", id('1')}).is(s.now_us));
  EXPECT(s.acquire('3', {{6, s.token(8)}}).items[2].is(std::stoll(s.token(31))));
}

UNIT_TEST(a_word_of_who_holds_says_nothing_to_a_node_of_another_configuration) {
  Stage s;
  s.acquire('1');
  const std::string register_before = s.ask({"GET", name_of("k", "f")}).text;
  const Words word = {"c|2|h2|n1", kBoot, id('1'), s.token(20), "next", "i1", "7", s.token(30), "3"};
  EXPECT(s.run(scripts::pass_on, s.names("k"), word).items[0].is("CONFIG"));
  EXPECT(s.ask({"GET", name_of("k", "f")}).is(register_before));
}

UNIT_TEST(a_raise_reserves_tokens_for_the_attempt_that_it_raises) {
  Stage s;
  s.acquire('1');
  EXPECT(s.run(scripts::raise, s.names("k"), {kWho, kBoot, s.token(20), "11", id('1')}).items[0].is("OK"));
  EXPECT(s.ask({"GET", name_of("k", "f")}).is(s.token(30) + "|" + id('1')));
}

UNIT_TEST(tokens_that_no_node_can_have_given_out_are_not_taken_over) {
  const std::string last = "4503599627370495", end = "4503599627370496";
  Stage s;
  s.acquire('1');
  const std::string mark = s.ask({"HGETALL", "node"}).to_text(), lock = s.ask({"GET", "liblock:k"}).text;
  EXPECT(s.run(scripts::raise, s.names("k"), {kWho, kBoot, end, "1", id('1')}).is_error("LIBLOCK"));
  EXPECT(s.run(scripts::raise, s.names("k"), {kWho, kBoot, last, "2", id('1')}).is_error("LIBLOCK"));
  EXPECT(s.pass_on('1', s.token(20), "next", end).is_error("LIBLOCK"));
  EXPECT(s.extend('1', end).is_error("LIBLOCK"));
  EXPECT(s.run(scripts::floor, {"node"}, {kWho, kBoot, end, "0"}).is_error("LIBLOCK"));
  EXPECT(s.ask({"HGETALL", "node"}).to_text() == mark && s.ask({"GET", "liblock:k"}).is(lock));
  EXPECT(s.run(scripts::raise, s.names("k"), {kWho, kBoot, last, "1", id('1')}).items[0].is("OK"));
  EXPECT(s.run(scripts::floor, {"node"}, {kWho, kBoot, last, "0"}).items[0].is("OK"));
}

UNIT_MAIN(
    "quorum_scripts", cmocka_unit_test(who_finds_a_key_busy_hears_who_holds_it_and_who_is_first),
    cmocka_unit_test(a_vote_of_which_a_part_is_refused_leaves_nothing_behind_of_any_key),
    cmocka_unit_test(more_dead_waiters_than_two_looks_clear_away_stand_in_nobodys_way),
    cmocka_unit_test(a_release_calls_nobody_where_all_who_wait_are_dead),
    cmocka_unit_test(a_register_outlives_twice_the_longest_lease_and_an_hour),
    cmocka_unit_test(a_node_without_memory_says_so_and_stays_as_it_is),
    cmocka_unit_test(a_renewal_that_may_not_write_the_lock_anew_says_so),
    cmocka_unit_test(metadata_live_as_long_as_their_lock),
    cmocka_unit_test(a_key_of_another_type_is_shown_as_held_and_is_not_taken_away),
    cmocka_unit_test(who_is_sent_away_from_a_free_key_leaves_it_to_the_next),
    cmocka_unit_test(who_has_waited_for_longer_than_one_may_is_sent_away),
    cmocka_unit_test(who_goes_by_another_configuration_clears_nothing),
    cmocka_unit_test(who_clears_a_key_raises_its_register_wherever_it_is_free_then),
    cmocka_unit_test(who_clears_waiters_alone_or_is_not_meant_leaves_the_register_as_it_is),
    cmocka_unit_test(who_clears_too_late_clears_nothing),
    cmocka_unit_test(a_node_without_memory_takes_no_decision),
    cmocka_unit_test(a_word_of_who_holds_that_comes_late_takes_nothing_back_and_of_another_lock_does_nothing),
    cmocka_unit_test(a_word_of_who_holds_says_nothing_to_a_node_of_another_configuration),
    cmocka_unit_test(a_raise_reserves_tokens_for_the_attempt_that_it_raises),
    cmocka_unit_test(tokens_that_no_node_can_have_given_out_are_not_taken_over))
