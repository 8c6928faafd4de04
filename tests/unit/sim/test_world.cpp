// SPDX-License-Identifier: MIT
// The world itself: what can go wrong in it goes wrong as said, and only so.
#include <sys/random.h>

#include "host.hpp"
#include "node.hpp"
#include "support/unit.hpp"
#include "talker.hpp"
#include "world.hpp"

using namespace liblock_test::sim;

namespace {

struct Stage {
  explicit Stage(uint64_t seed = 1) : world(seed), node(world.add_node("n")), host(world.add_host("h")) {
    world.delay_least = world.delay_most = kMillisecond;
  }
  Link &link() { return world.link(host, node); }
  bool has(const char *key) { return node.ask({"EXISTS", key}).is(1); }

  World world;
  Node &node;
  Host &host;
};

struct Alarm final : liblock::Timer {
  void fire(Nanos) override { ++fired; }
  int fired = 0;
};

// A life on a lossy link, as a number.
uint64_t trace_of(uint64_t seed) {
  Stage stage(seed);
  stage.world.delay_most = 9 * kMillisecond;
  stage.world.piece_bytes_max = 9;
  std::vector<std::unique_ptr<Talker>> talkers;
  for (int i = 0; i < 200; ++i) {
    stage.link().breaks_one_in = 20;
    if (i % 10 == 0) talkers.push_back(std::make_unique<Talker>(stage.host, stage.node.port()));
    talkers.back()->say({"INCRBY", "k", std::to_string(stage.world.random.up_to(9))});
    stage.world.run_ms(stage.world.random.up_to(10));
  }
  return stage.world.trace.value();
}

}  // namespace

UNIT_TEST(requests_that_a_cut_holds_up_are_carried_out_when_it_is_mended_and_messages_come_meanwhile) {
  Stage stage;
  Talker asks(stage.host, 1), listens(stage.host, 1);
  listens.say({"SUBSCRIBE", "c"});
  stage.world.run_ms(10);
  stage.link().cut(Way::ToNode);
  asks.say({"SET", "k", "1"});
  stage.world.run_ms(50);
  EXPECT(!stage.has("k"));
  EXPECT(stage.node.ask({"PUBLISH", "c", "hello"}).is(1));
  stage.world.run_ms(2);
  EXPECT(listens.has_heard("hello"));
  stage.link().mend();
  stage.world.run_ms(2);
  EXPECT(stage.has("k") && asks.has_heard("+OK"));
}

UNIT_TEST(answers_that_a_cut_holds_up_come_when_it_is_mended_and_requests_are_carried_out_meanwhile) {
  Stage stage;
  Talker asks(stage.host, 1);
  stage.world.run_ms(10);
  stage.link().cut(Way::ToHost);
  asks.say({"SET", "k", "1"});
  stage.world.run_ms(50);
  EXPECT(stage.has("k") && asks.heard.empty());
  stage.link().mend(Way::ToHost);
  stage.world.run_ms(2);
  EXPECT(asks.has_heard("+OK"));
}

UNIT_TEST(a_connection_opens_only_where_both_ways_are_whole_and_other_links_are_not_touched) {
  Stage stage;
  Node &other = stage.world.add_node("other");
  for (const Way way : kBothWays) {
    stage.link().cut(way);
    Talker asks(stage.host, 1), asks_other(stage.host, other.port());
    stage.world.run_ms(50);
    EXPECT(!asks.is_open && asks.end.empty() && asks_other.is_open);
    stage.link().mend();
  }
  Talker asks(stage.host, 1);
  stage.world.run_ms(5);
  EXPECT(asks.is_open);
}

UNIT_TEST(a_request_that_is_held_up_is_carried_out_after_its_sender_has_gone_on_elsewhere) {
  Stage stage;
  Talker late(stage.host, 1);
  stage.world.run_ms(10);
  stage.link().hold_up(Way::ToNode, 3'000 * kMillisecond);
  late.say({"SET", "k", "late"});
  stage.world.run_ms(100);
  late.close();
  Talker cleans(stage.host, 1);
  cleans.say({"DEL", "k"});
  stage.world.run_ms(100);
  EXPECT(cleans.has_heard(":0") && !stage.has("k"));
  stage.world.run_ms(3'000);
  EXPECT(stage.has("k") && late.heard.empty());
}

UNIT_TEST(answers_can_be_frozen_slow_or_lost_on_one_link_alone) {
  Stage stage;
  Talker asks(stage.host, 1);
  stage.world.run_ms(10);
  stage.link().hold_up(Way::ToHost, 500 * kMillisecond);
  asks.say({"SET", "k", "1"});
  stage.world.run_ms(400);
  EXPECT(stage.has("k") && asks.heard.empty());
  stage.world.run_ms(101);
  EXPECT(asks.has_heard("+OK"));
  stage.link().set_delay(Way::ToHost, 40 * kMillisecond, 60 * kMillisecond);
  asks.say({"GET", "k"});
  stage.world.run_ms(40);
  EXPECT(asks.heard.empty());
  stage.world.run_ms(22);
  EXPECT(asks.has_heard("$1\r\n1"));
  stage.link().set_delay_of_world();
  stage.link().lose_answers();
  asks.say({"DEL", "k"});
  stage.world.run_ms(1'000);
  EXPECT(!stage.has("k") && asks.heard.empty());
}

UNIT_TEST(a_lossy_link_breaks_connections_and_of_what_was_under_way_some_arrives) {
  Stage stage;
  stage.link().breaks_one_in = 10;
  int broken = 0, answered = 0;
  for (int i = 0; i < 300; ++i) {
    Talker asks(stage.host, 1);
    asks.say({"INCR", "k"});
    stage.world.run_ms(10);
    broken += asks.end == "connection reset" ? 1 : 0;
    answered += asks.has_heard(":") ? 1 : 0;
  }
  const auto arrived = std::stoi(stage.node.ask({"GET", "k"}).text);
  EXPECT(broken > 30 && broken < 100);
  EXPECT(answered == 300 - broken && arrived > answered && arrived < 300);
}

UNIT_TEST(a_node_that_is_rolled_back_has_the_data_of_its_last_snapshot_no_scripts_and_another_run_id) {
  Stage stage;
  const std::string before = stage.node.server().run_id();
  stage.node.take_snapshots_every(1'000 * kMillisecond);
  stage.node.ask({"SET", "old", "1"});
  stage.node.ask({"ZADD", "z", "1", "a"});
  stage.node.ask({"HSET", "h", "f", "v"});
  const std::string sha1 = stage.node.ask({"SCRIPT", "LOAD", "return 1"}).text;
  stage.world.run_ms(1'001);
  stage.node.ask({"SET", "new", "1"});
  stage.node.ask({"HSET", "h", "f", "w"});
  stage.node.stop(Node::Data::RolledBack);
  Talker asks(stage.host, 1);
  stage.world.run_ms(5);
  EXPECT(asks.end == "connection refused");
  stage.node.start();
  EXPECT(stage.has("old") && stage.has("z") && !stage.has("new"));
  EXPECT(stage.node.ask({"HGET", "h", "f"}).is("v"));
  EXPECT(stage.node.ask({"EVALSHA", sha1, "0"}).is_error("NOSCRIPT"));
  EXPECT(stage.node.server().run_id() != before);
  stage.node.stop(Node::Data::Kept);
  EXPECT(stage.has("old"));
  stage.node.stop(Node::Data::Lost);
  EXPECT(!stage.has("old"));
}

UNIT_TEST(keys_expire_by_the_wall_clock_of_their_node) {
  Stage stage;
  stage.node.ask({"SET", "k", "1", "PX", "1000"});
  stage.node.step_clock_ms(-500);
  stage.world.run_ms(1'400);
  EXPECT(stage.node.ask({"PTTL", "k"}).is(100));
  stage.node.step_clock_ms(101);
  EXPECT(!stage.has("k"));
  stage.node.set_rate(100'000);
  stage.node.ask({"SET", "k", "1", "PX", "1100"});
  stage.world.run_ms(999);
  EXPECT(stage.has("k"));
  stage.world.run_ms(2);
  EXPECT(!stage.has("k"));
  const int64_t before = stage.node.clock_us();
  stage.node.set_rate(-1'000);
  EXPECT(stage.node.clock_us() == before);
  stage.world.run_ms(1'000);
  EXPECT(stage.node.clock_us() == before + 999'000);
}

UNIT_TEST(a_node_can_be_flushed_evicted_from_made_a_replica_and_says_so) {
  Stage stage;
  Node &node = stage.node;
  EXPECT(node.evict_any().empty());
  for (const char *key : {"a", "b", "c"}) node.ask({"SET", key, "1"});
  const std::string evicted = node.evict_any();
  EXPECT(!evicted.empty() && node.ask({"EXISTS", evicted}).is(0) && node.ask({"DBSIZE"}).is(2));
  node.flush_data();
  EXPECT(node.ask({"DBSIZE"}).is(0));
  const std::string sha1 = node.ask({"SCRIPT", "LOAD", "return 1"}).text;
  node.flush_scripts();
  EXPECT(node.ask({"EVALSHA", sha1, "0"}).is_error("NOSCRIPT"));
  node.set_replica(true);
  EXPECT(node.ask({"SET", "a", "1"}).is_error("READONLY"));
  EXPECT(node.ask({"INFO", "replication"}).text.find("role:slave\r\n") != std::string::npos);
  node.set_replica(false);
  EXPECT(node.ask({"SET", "a", "1"}).is_ok());
  EXPECT(node.ask({"INFO", "memory"}).text.find("\r\nmaxmemory:0\r\n") != std::string::npos);
  node.server().maxmemory = 1'000'000;
  EXPECT(node.ask({"INFO", "memory"}).text.find("\r\nmaxmemory:1000000\r\n") != std::string::npos);
}

UNIT_TEST(an_address_can_lead_to_another_server) {
  Stage stage;
  Node &other = stage.world.add_node("other");
  other.ask({"SET", "theirs", "1"});
  const std::string before = stage.node.server().run_id();
  stage.node.become_another(&other);
  EXPECT(stage.has("theirs") && stage.node.server().run_id() != before);
  stage.node.become_another(nullptr);
  EXPECT(!stage.has("theirs"));
  stage.world.redirect(stage.node, other);
  Talker asks(stage.host, 1);
  asks.say({"DEL", "theirs"});
  stage.world.run_ms(5);
  EXPECT(asks.has_heard(":1"));
}

UNIT_TEST(what_a_frozen_node_was_sent_is_carried_out_later) {
  Stage stage;
  Talker asks(stage.host, 1);
  stage.world.run_ms(5);
  stage.node.freeze();
  asks.say({"SET", "k", "1"});
  stage.world.run_ms(100);
  asks.close();
  EXPECT(!stage.has("k"));
  stage.node.thaw();
  EXPECT(stage.has("k"));
}

UNIT_TEST(a_machine_that_sleeps_wakes_with_leases_counted_and_timers_not) {
  Stage stage;
  Alarm alarm;
  const liblock::Clock leases = stage.host.clock();
  stage.host.turn();
  const Nanos begun = leases.now(), by_timers = stage.host.now();
  stage.host.arm(alarm, by_timers + 100 * kMillisecond);
  stage.world.run_ms(50);
  stage.host.suspend();
  stage.world.run_ms(1'000);
  EXPECT(alarm.fired == 0);
  stage.host.go_on();
  EXPECT(leases.now() - begun == 1'050 * kMillisecond && stage.host.now() - by_timers == 50 * kMillisecond);
  stage.world.run_ms(49);
  EXPECT(alarm.fired == 0);
  stage.world.run_ms(1);
  EXPECT(alarm.fired == 1);
  stage.host.jump_clock(5'000 * kMillisecond);
  EXPECT(leases.now() - begun == 6'100 * kMillisecond && stage.host.now() - by_timers == 100 * kMillisecond);
}

UNIT_TEST(a_killed_host_says_no_more_and_what_it_had_sent_may_arrive) {
  int arrived = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Stage stage(seed);
    Talker asks(stage.host, 1);
    stage.world.run_ms(5);
    asks.say({"SET", "k", "1"});
    stage.host.turn();
    stage.host.kill();
    stage.world.run_ms(10);
    arrived += stage.has("k") ? 1 : 0;
    EXPECT(asks.heard.empty() && asks.end.empty());
  }
  EXPECT(arrived > 5 && arrived < 35);
}

UNIT_TEST(two_runs_of_one_seed_are_equal_and_of_two_are_not) {
  EXPECT(trace_of(1) == trace_of(1) && trace_of(2) == trace_of(2) && trace_of(1) != trace_of(2));
}

UNIT_TEST(the_randomness_of_the_kernel_follows_from_the_seed_while_a_world_lives) {
  const auto drawn = [](uint64_t seed) {
    World world(seed);
    std::string bytes(20, '\0');
    EXPECT(getrandom(bytes.data(), bytes.size(), 0) == 20);
    return bytes;
  };
  EXPECT(drawn(1) == drawn(1) && drawn(1) != drawn(2));
  uint64_t first = 0, second = 0;
  EXPECT(getrandom(&first, sizeof first, 0) == 8 && getrandom(&second, sizeof second, 0) == 8);
  EXPECT(first != second);
}

UNIT_MAIN("world",
          cmocka_unit_test(
              requests_that_a_cut_holds_up_are_carried_out_when_it_is_mended_and_messages_come_meanwhile),
          cmocka_unit_test(
              answers_that_a_cut_holds_up_come_when_it_is_mended_and_requests_are_carried_out_meanwhile),
          cmocka_unit_test(a_connection_opens_only_where_both_ways_are_whole_and_other_links_are_not_touched),
          cmocka_unit_test(a_request_that_is_held_up_is_carried_out_after_its_sender_has_gone_on_elsewhere),
          cmocka_unit_test(answers_can_be_frozen_slow_or_lost_on_one_link_alone),
          cmocka_unit_test(a_lossy_link_breaks_connections_and_of_what_was_under_way_some_arrives),
          cmocka_unit_test(
              a_node_that_is_rolled_back_has_the_data_of_its_last_snapshot_no_scripts_and_another_run_id),
          cmocka_unit_test(keys_expire_by_the_wall_clock_of_their_node),
          cmocka_unit_test(a_node_can_be_flushed_evicted_from_made_a_replica_and_says_so),
          cmocka_unit_test(an_address_can_lead_to_another_server),
          cmocka_unit_test(what_a_frozen_node_was_sent_is_carried_out_later),
          cmocka_unit_test(a_machine_that_sleeps_wakes_with_leases_counted_and_timers_not),
          cmocka_unit_test(a_killed_host_says_no_more_and_what_it_had_sent_may_arrive),
          cmocka_unit_test(two_runs_of_one_seed_are_equal_and_of_two_are_not),
          cmocka_unit_test(the_randomness_of_the_kernel_follows_from_the_seed_while_a_world_lives))
