// SPDX-License-Identifier: MIT
// Lists of instances, lists of what zombies hold and wait for, and clearing them by hand.
#include "lives.hpp"

using namespace unit;

UNIT_TEST(a_list_of_instances_comes_in_pages_and_tells_zombies_from_the_rest) {
  Lives s;
  s.hold(s.b, "live");
  s.hold(s.a, "other");
  s.world.run_ms(2'000);
  s.forge(250);
  s.node.ask({"ZADD", kList, "5", "no bar"});
  s.node.ask({"ZADD", kList, "6", "odd@far|x"});
  for (int n = 0; n < 150; ++n) s.node.ask({"ZADD", kList, "7", "same" + std::to_string(n) + "@far|10000"});
  const std::vector<InstanceInfo> all = s.list(s.b, false);
  EXPECT(all.size() == 402);
  EXPECT(s.list(s.b, true).size() == 400);
  EXPECT(all[150].id == "x0@far" && all[150].is_zombie && all[150].listens == 0 && !all[150].is_self);
  EXPECT(all[150].silent_ms >= 60'000 && all[150].interval_ms == 10'000);
  size_t self = 0;
  for (const InstanceInfo &info : all) {
    self += info.is_self;
    if (info.id != "b") continue;
    EXPECT(info.is_self && !info.is_zombie && info.listens == 1 && info.silent_ms <= 1'500);
  }
  EXPECT(self == 1);
}

UNIT_TEST(clearing_the_dead_by_hand_takes_them_off_the_list) {
  Lives s;
  s.hold(s.b, "live");
  s.world.run_ms(2'000);
  s.forge(250);
  // Silent but listened for; not listened for, since it holds nothing, but not silent.
  s.forge(1, "stopped");
  s.node.ask({"ZADD", kList, std::to_string(s.now_us() + 30'000'000), "idle@far|10000"});
  const auto numsub = s.node.server().on_numsub;
  s.node.server().on_numsub = [&](std::string_view channel) {
    return channel.find("stopped") != std::string_view::npos ? 1 : numsub(channel);
  };
  Question question;
  question.what = Ask::What::Clear;
  question.number = static_cast<uint64_t>(liblock::Engine::Whom::Dead);
  question.dead_after = liblock::nanos_from_ms(86'400'000);
  run_once(s.b.host(), [&] { s.b.instance().asking.start(question); });
  EXPECT(s.world.run_until([&] { return question.ends == 1; }, 20'000));
  EXPECT(question.status == Status::OK && question.tally.instances == 250 && s.listed() == 3);
}

UNIT_TEST(lists_show_zombies_only_where_that_is_asked_for) {
  Lives s;
  s.hold(s.b, "live");
  s.world.run_ms(5'000);
  const auto record = [&](const std::string &instance) {
    return "ll1|" + std::string(32, 'f') + "|00000000|77|o|" + instance + "|@1600000000000000,0|v";
  };
  const auto queue = [&](const std::string &key, const std::string &instance, int64_t since_us) {
    s.node.ask({"ZADD", "ll1:q:{liblock:" + key + "}", "1", std::string(32, 'a')});
    s.node.ask({"HSET", "ll1:e:{liblock:" + key + "}", std::string(32, 'a'),
                "1|" + std::to_string(since_us) + "|3000|0|0|" + instance + "|o|1|0|"});
  };
  constexpr int64_t kLongAgo = 1'600'000'000'000'000;
  for (int n = 0; n < 100; ++n) s.node.ask({"SET", "liblock:l" + std::to_string(n), record("b")});
  for (int n = 0; n < 70; ++n) s.node.ask({"SET", "liblock:z" + std::to_string(n), record("x@far")});
  queue("l5", "x@far", kLongAgo);  // a dead one behind a living one
  queue("l6", "b", kLongAgo);
  queue("l7", "x@far", s.now_us());  // its messages may come yet
  queue("z7", "b", kLongAgo);
  queue("q8", "x@far", kLongAgo);
  s.node.ask({"ZADD", "ll1:w:{liblock:w9}", "1600000000000000", "x@far"});
  const auto list = [&](Ask::Which which) {
    std::vector<std::string> keys;
    for (liblock::ListPosition position; !position.at_end;) {
      Question question;
      question.what = Ask::What::List;
      question.which = which;
      question.flag = true;
      question.position = std::move(position);
      run_once(s.b.host(), [&] { s.b.instance().asking.start(question); });
      EXPECT(s.world.run_until([&] { return question.ends == 1; }, 20'000));
      EXPECT(question.status == Status::OK);
      for (const auto &info : question.infos) keys.push_back(info->key);
      position = std::move(question.position);
    }
    std::sort(keys.begin(), keys.end());
    return keys;
  };
  EXPECT(list(Ask::Which::Locks).size() == 70);
  EXPECT((list(Ask::Which::Queues) == std::vector<std::string>{"l5", "q8", "w9"}));
  EXPECT(list(Ask::Which::Keys).size() == 73);
}

UNIT_MAIN("zombie lists",
          cmocka_unit_test(a_list_of_instances_comes_in_pages_and_tells_zombies_from_the_rest),
          cmocka_unit_test(clearing_the_dead_by_hand_takes_them_off_the_list),
          cmocka_unit_test(lists_show_zombies_only_where_that_is_asked_for))
