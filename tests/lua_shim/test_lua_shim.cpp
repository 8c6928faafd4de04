// SPDX-License-Identifier: MIT
// The shim by itself: what a test relies on and no real server can show (the manual clock, failures on demand,
// equal runs), and a few cases that read like documentation.
#include "lua_shim/server.hpp"

// After the standard headers, whose names cmocka redefines.
#include "../unit/support/unit.hpp"

using liblock_test::lua_shim::Reply;
using liblock_test::lua_shim::Server;

namespace {

struct Stage {
  int64_t now_us = 1'700'000'000'123'456;
  Server server{&now_us};

  void pass_ms(int64_t ms) { now_us += ms * 1000; }
  Reply run(std::initializer_list<std::string_view> words) { return server.command(words); }
  std::string text(std::initializer_list<std::string_view> words) { return run(words).to_text(); }
};

}  // namespace

UNIT_TEST(a_key_lives_through_its_last_millisecond_and_not_longer) {
  Stage stage;
  EXPECT(stage.run({"SET", "k", "v", "PX", "100"}).is_ok());
  stage.pass_ms(100);
  EXPECT(stage.run({"PTTL", "k"}).is(0) && stage.run({"EXISTS", "k"}).is(1));
  stage.pass_ms(1);
  EXPECT(stage.run({"PTTL", "k"}).is(-2) && stage.run({"GET", "k"}).is_nil());
  EXPECT(stage.run({"DBSIZE"}).is(0));
}

UNIT_TEST(a_key_that_expired_does_not_stand_in_the_way_of_another_type) {
  Stage stage;
  stage.run({"SET", "k", "v", "PX", "1"});
  EXPECT(stage.run({"HSET", "k", "f", "v"}).is_error("WRONGTYPE"));
  stage.pass_ms(2);
  EXPECT(stage.run({"HSET", "k", "f", "v"}).is(1) && stage.run({"PTTL", "k"}).is(-1));
}

UNIT_TEST(time_is_the_clock_of_the_test) {
  Stage stage;
  EXPECT(stage.text({"TIME"}) == "[\"1700000000\", \"123456\"]");
  stage.now_us += 1'000'001;
  EXPECT(stage.server.eval("return redis.call('TIME')").to_text() == "[\"1700000001\", \"123457\"]");
}

UNIT_TEST(time_stands_still_while_a_script_runs) {
  Stage stage;
  stage.server.on_publish = [&](std::string_view, std::string_view) {
    stage.pass_ms(1000);
    return 0;
  };
  const Reply reply = stage.server.eval(
      "redis.call('SET', KEYS[1], 'v', 'PX', 10) redis.call('PUBLISH', 'c', 'm') return redis.call('EXISTS', "
      "KEYS[1])",
      {"k"});
  EXPECT(reply.is(1) && stage.run({"EXISTS", "k"}).is(0));
}

UNIT_TEST(a_script_that_is_not_known_is_refused_until_it_was_evaluated) {
  Stage stage;
  const std::string_view sha1 = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
  EXPECT(stage.server.evalsha(sha1) == Reply::error("NOSCRIPT No matching script. Please use EVAL."));
  EXPECT(stage.server.eval("return 1").is(1));
  EXPECT(stage.server.evalsha(sha1).is(1));
  EXPECT(stage.run({"SCRIPT", "FLUSH"}).is_ok() && stage.server.evalsha(sha1).is_error("NOSCRIPT"));
  EXPECT(stage.run({"SCRIPT", "LOAD", "return 1"}).is(sha1) && stage.server.evalsha(sha1).is(1));
}

UNIT_TEST(keys_and_arguments_reach_the_script_as_bytes) {
  Stage stage;
  const std::string bytes("a\0b", 3);
  const Reply reply =
      stage.server.eval("return {KEYS[1], ARGV[1], #KEYS, #ARGV, KEYS[2]}", {bytes}, {"", "x"});
  EXPECT(reply.items.at(0).is(bytes) && reply.to_text() == "[\"a\\x00b\", \"\", 1, 2]");
}

UNIT_TEST(without_memory_writes_fail_and_deleting_works) {
  Stage stage;
  stage.run({"SET", "k", "v"});
  stage.server.out_of_memory = true;
  EXPECT(stage.run({"SET", "k", "w"}) ==
         Reply::error("OOM command not allowed when used memory > 'maxmemory'."));
  EXPECT(stage.server.eval("return redis.call('INCR', 'n')").is_error("OOM"));
  EXPECT(stage.server.eval("return redis.pcall('INCR', 'n').err").text.starts_with("OOM "));
  EXPECT(stage.run({"GET", "k"}).is("v") && stage.run({"DEL", "k"}).is(1));
  // A script that has begun to write may go on.
  EXPECT(stage.server.eval("redis.call('DEL', 'k') return redis.call('INCR', 'n')").is(1));
  stage.server.out_of_memory = false;
  EXPECT(stage.run({"SET", "k", "w"}).is_ok());
}

UNIT_TEST(a_replica_refuses_writes_and_says_its_role) {
  Stage stage;
  stage.server.read_only = true;
  EXPECT(stage.run({"DEL", "k"}) == Reply::error("READONLY You can't write against a read only replica."));
  EXPECT(stage.server.eval("return redis.call('DEL', 'k')").is_error("READONLY"));
  EXPECT(stage.run({"GET", "k"}).is_nil());
  EXPECT(stage.run({"INFO", "replication"}).text.find("role:slave\r\n") != std::string::npos);
}

UNIT_TEST(while_loading_only_a_few_commands_are_answered) {
  Stage stage;
  stage.server.eval("return 1");
  stage.server.loading = true;
  EXPECT(stage.run({"GET", "k"}) == Reply::error("LOADING Redis is loading the dataset in memory"));
  EXPECT(stage.server.eval("return 1").is_error("LOADING"));
  EXPECT(stage.run({"EVAL", "return 1", "0"}).is_error("LOADING"));
  EXPECT(stage.run({"INFO"}).kind == Reply::Kind::String && stage.run({"TIME"}).items.size() == 2);
}

UNIT_TEST(a_wiped_server_has_no_data_no_scripts_and_another_run_id) {
  Stage stage;
  const std::string before = stage.server.run_id();
  stage.run({"SET", "k", "v"});
  const std::string sha1 = stage.run({"SCRIPT", "LOAD", "return 1"}).text;
  stage.server.wipe();
  EXPECT(stage.run({"EXISTS", "k"}).is(0) && stage.server.evalsha(sha1).is_error("NOSCRIPT"));
  EXPECT(before.size() == 40 && stage.server.run_id().size() == 40 && stage.server.run_id() != before);
  EXPECT(stage.run({"INFO"}).text.find("run_id:" + stage.server.run_id()) != std::string::npos);
}

UNIT_TEST(a_restarted_server_keeps_its_data) {
  Stage stage;
  const std::string before = stage.server.run_id();
  stage.run({"SET", "k", "v"});
  stage.server.eval("return 1");
  stage.server.restart();
  EXPECT(stage.run({"GET", "k"}).is("v") && stage.server.run_id() != before);
  EXPECT(stage.server.evalsha("e0e1f9fabfc9d4800c877a703b823ac0578ff8db").is_error("NOSCRIPT"));
}

UNIT_TEST(published_messages_reach_the_hook_in_order_and_its_answer_the_publisher) {
  Stage stage;
  std::string heard;
  EXPECT(stage.run({"PUBLISH", "c", "nobody"}).is(0));
  stage.server.on_publish = [&](std::string_view channel, std::string_view message) {
    heard.append(channel).append(":").append(message).append(" ");
    return 3;
  };
  EXPECT(stage.run({"PUBLISH", "c", "one"}).is(3));
  EXPECT(stage.server.eval("return {redis.call('PUBLISH', 'd', 'two'), redis.call('PUBLISH', 'd', 3)}")
             .items[1]
             .is(3));
  EXPECT(heard == "c:one d:two d:3 ");
}

UNIT_TEST(a_scan_meets_each_key_that_stays_once_whatever_comes_and_goes) {
  Stage stage;
  for (int i = 0; i < 50; ++i) stage.run({"SET", "stays" + std::to_string(i), "v"});
  for (int i = 0; i < 50; ++i) stage.run({"SET", "goes" + std::to_string(i), "v"});
  std::string cursor = "0";
  int met = 0;
  for (int i = 0; i < 50; ++i) {
    const Reply reply = stage.run({"SCAN", cursor, "COUNT", "7", "MATCH", "st[a-b]y?*"});
    met += static_cast<int>(reply.items.at(1).items.size());
    cursor = reply.items.at(0).text;
    if (cursor == "0") break;
    stage.run({"DEL", "goes" + std::to_string(i)});
    stage.run({"SET", "comes" + std::to_string(i), "v"});
  }
  EXPECT(cursor == "0" && met == 50);
}

UNIT_TEST(servers_share_nothing) {
  Stage one;
  Stage two;
  one.run({"SET", "k", "v"});
  const std::string sha1 = one.run({"SCRIPT", "LOAD", "return redis.call('GET', 'k')"}).text;
  EXPECT(two.server.evalsha(sha1).is_error("NOSCRIPT"));
  EXPECT(two.run({"SCRIPT", "LOAD", "return redis.call('GET', 'k')"}).is(sha1));
  EXPECT(one.server.evalsha(sha1).is("v") && two.server.evalsha(sha1).is_nil());
  two.now_us += 5'000'000;
  EXPECT(one.text({"TIME"}) != two.text({"TIME"}));
}

UNIT_TEST(equal_runs_give_equal_replies) {
  const auto play = [] {
    Stage stage;
    std::string all;
    for (int i = 0; i < 200; ++i) {
      stage.run({"SADD", "s", std::to_string(i * 7919 % 211)});
      all += stage.server.eval("return {math.random(1000), redis.call('SMEMBERS', 's')}").to_text();
      all += stage.text({"SCAN", "0"});
    }
    return all;
  };
  EXPECT(play() == play());
}

UNIT_TEST(a_script_leaves_nothing_behind_for_the_next) {
  Stage stage;
  EXPECT(stage.server.eval("leak = 1").is_error("ERR"));
  EXPECT(stage.server.eval("return leak").text.find("nonexistent global variable 'leak'") !=
         std::string::npos);
  EXPECT(stage.server.eval("rawset(_G, 'leak', 1)").is_error("ERR"));
  EXPECT(stage.server.eval("string.leak = 1").is_error("ERR") &&
         stage.server.eval("return string.leak").is_nil());
  EXPECT(stage.server.eval("return ARGV[1]", {}, {"x"}).is("x") &&
         stage.server.eval("return ARGV[1]").is_nil());
}

UNIT_TEST(what_the_shim_lacks_is_said_and_not_made_up) {
  Stage stage;
  for (const std::string_view body :
       {"return cjson.encode({})", "return bit.band(1, 1)", "return os.clock()"}) {
    EXPECT(stage.server.eval(body).text.find("nonexistent global variable") != std::string::npos);
  }
  stage.run({"ZADD", "z", "0", "a"});
  EXPECT(stage.text({"ZRANGE", "z", "-", "+", "BYLEX"}).find("lua_shim") != std::string::npos);
  EXPECT(stage.server.eval("redis.setresp(3)").text.find("lua_shim") != std::string::npos);
  EXPECT(stage.server.eval("return {map = {}}").text.find("lua_shim") != std::string::npos);
  EXPECT(stage.server.eval("error({})").text.find("lua_shim") != std::string::npos);
  EXPECT(stage.run({"OBJECT", "ENCODING", "z"}).is_error("ERR"));
}

UNIT_MAIN("lua_shim", cmocka_unit_test(a_key_lives_through_its_last_millisecond_and_not_longer),
          cmocka_unit_test(a_key_that_expired_does_not_stand_in_the_way_of_another_type),
          cmocka_unit_test(time_is_the_clock_of_the_test),
          cmocka_unit_test(time_stands_still_while_a_script_runs),
          cmocka_unit_test(a_script_that_is_not_known_is_refused_until_it_was_evaluated),
          cmocka_unit_test(keys_and_arguments_reach_the_script_as_bytes),
          cmocka_unit_test(without_memory_writes_fail_and_deleting_works),
          cmocka_unit_test(a_replica_refuses_writes_and_says_its_role),
          cmocka_unit_test(while_loading_only_a_few_commands_are_answered),
          cmocka_unit_test(a_wiped_server_has_no_data_no_scripts_and_another_run_id),
          cmocka_unit_test(a_restarted_server_keeps_its_data),
          cmocka_unit_test(published_messages_reach_the_hook_in_order_and_its_answer_the_publisher),
          cmocka_unit_test(a_scan_meets_each_key_that_stays_once_whatever_comes_and_goes),
          cmocka_unit_test(servers_share_nothing), cmocka_unit_test(equal_runs_give_equal_replies),
          cmocka_unit_test(a_script_leaves_nothing_behind_for_the_next),
          cmocka_unit_test(what_the_shim_lacks_is_said_and_not_made_up))
