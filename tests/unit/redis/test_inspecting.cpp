// SPDX-License-Identifier: MIT
// Looking from outside, and administration: what is read of records and queues that are written here by hand, page
// after page, and what clearing takes and whom it tells.
#include "redis/clearing.hpp"
#include "redis/inspecting.hpp"
#include "redis/queue_entry.hpp"
#include "redis/queue_reader.hpp"
#include "redis/scanning.hpp"
#include "stage.hpp"

using namespace unit;
using liblock::Engine;
using liblock::KeyInfo;

namespace {

constexpr int64_t kUs = 1'000;  // in a millisecond

// The server as a clerk would fill it.
struct Scene : Stage {
  explicit Scene(const liblock::InstanceOptions &options = {}) : Stage(1, options) {
    a.take("own");  // both listen from now on
    b.take("other");
    world.run_ms(20);
  }
  int64_t now_us() {
    const auto time = node.ask({"TIME"});
    return std::stoll(time.items.at(0).text) * 1'000'000 + std::stoll(time.items.at(1).text);
  }
  static std::string id(int n) {
    char text[33];
    std::snprintf(text, sizeof text, "%032x", n);
    return text;
  }
  void hold(const std::string &key, int n, const std::string &instance, const std::string &since = "") {
    const std::string owner = instance + "/1/o";
    node.ask({"SET", "liblock:" + key,
              "ll1|" + id(n) + "|00000000|77|" + owner + "|" + instance + "|" + since + "v"});
  }
  void queue(const std::string &key, int n, const std::string &instance, int64_t since_us,
             const std::string &owner = "", const std::string &order = "0|0") {
    const std::string tag = "{liblock:" + key + "}";
    node.ask({"ZADD", "ll1:q:" + tag, std::to_string(n), id(n)});
    node.ask({"HSET", "ll1:e:" + tag, id(n),
              std::to_string(n) + "|" + std::to_string(since_us) + "|3000|" + order + "|" + instance + "|" +
                  (owner.empty() ? instance + "/1/o" : owner) + "|1|0|with|bars",
              "i" + instance, std::to_string(now_us()) + "|60000|1"});
  }
  Question &ask(Process &by, Ask::What what, const std::function<void(Ask &)> &fill = nullptr) {
    Question &question = by.question(what, fill);
    EXPECT(world.run_until([&] { return question.ends == 1; }, 20'000));
    return question;
  }
  const KeyInfo &inspect_queue(const std::string &key) {
    Question &question = ask(a, Ask::What::Inspect, [&](Ask &q) {
      q.keys = {key};
      q.flag = true;
    });
    EXPECT(question.status == Status::OK);
    return *question.infos.at(0);
  }
  std::vector<std::string> list(Ask::Which which, uint32_t batch, const std::string &prefix = "") {
    std::vector<std::string> keys;
    liblock::ListPosition position;
    while (!position.at_end) {
      Question &question = ask(a, Ask::What::List, [&](Ask &q) {
        q.which = which;
        q.batch = batch;
        q.text = prefix;
        q.position = std::move(position);
      });
      EXPECT(question.status == Status::OK && question.infos.size() <= liblock::kKeysPerLook);
      for (const auto &info : question.infos) keys.push_back(info->key);
      position = std::move(question.position);
    }
    std::sort(keys.begin(), keys.end());
    return keys;
  }
  Question &clear(Engine::Whom whom, const std::string &text = "", uint32_t batch = 100) {
    return ask(a, Ask::What::Clear, [&](Ask &q) {
      q.number = static_cast<uint64_t>(whom);
      q.text = text;
      q.batch = batch;
      q.dead_after = liblock::nanos_from_ms(86'400'000);
    });
  }
  size_t waiters(const std::string &key) {
    return static_cast<size_t>(node.ask({"ZCARD", "ll1:q:{liblock:" + key + "}"}).integer);
  }
};

}  // namespace

UNIT_TEST(an_entry_of_a_queue_is_read_field_by_field_and_what_is_none_is_refused) {
  liblock::WaiterInfo waiter;
  EXPECT(liblock::parse_queue_entry("7|1000|3000|2|-5|9-ab@host|in%7c/1/o|rest|with|bars", 3'500, waiter));
  EXPECT(waiter.owner == "in|/1/o" && waiter.instance == "9-ab@host" && waiter.since_us == 1'000);
  EXPECT(waiter.order == 2 && waiter.priority == -5 && waiter.waited_ms == 2);
  EXPECT(liblock::parse_queue_entry("7|1000|3000|0|0|i|owner", 0, waiter) && waiter.owner == "owner");
  EXPECT(waiter.waited_ms == 0);
  for (const char *entry : {"", "7", "7|1000|3000|0|0", "7|x|3000|0|0|i|o|", "7|1000|3000|9|0|i|o|",
                            "7|1000|3000|0|99999999999|i|o|", "7|0|3000|0|0|i|o|", "7|1000|3000||0|i|o|"})
    EXPECT(!liblock::parse_queue_entry(entry, 5'000, waiter));
}

UNIT_TEST(since_and_the_first_lease_are_read_where_a_record_has_them) {
  Scene s;
  const int64_t since_us = s.now_us() - 5'000 * kUs;
  s.hold("k", 1, "x@far", "@" + std::to_string(since_us) + ",60000|");
  const KeyInfo &info = s.inspect_queue("k");
  EXPECT(info.is_held && info.since_us == since_us && info.initial_ttl_ms == 60'000 && info.value == "v");
  s.hold("n", 1, "x@far", "@" + std::to_string(since_us) + ",0|");
  EXPECT(s.inspect_queue("n").initial_ttl_ms == -1);
  for (const char *none : {"", "@|", "@1|", "@x,1|", "@1,x|", "@-5,1|", "@5,-1|", "@1,2"}) {
    s.hold("o", 1, "x@far", none);
    const KeyInfo &old = s.inspect_queue("o");
    EXPECT(old.since_us == 0 && old.initial_ttl_ms == 0 && old.value == std::string(none) + "v");
  }
}

UNIT_TEST(an_update_leaves_since_and_lease_in_the_record) {
  Scene s;
  const std::string held = s.node.ask({"GET", "liblock:own"}).text;
  const size_t since = held.find('@');
  s.node.ask({"SET", "liblock:own", held.substr(0, since) + "@1700000000000000,3000|", "KEEPTTL"});
  const Handle handle = s.a.instance().holds.all().at(0);
  const auto updated = s.a.update(handle, "new|value");
  s.world.run_ms(10);
  EXPECT(updated->is(Status::OK));
  EXPECT(s.inspect_queue("own").value == "new|value");
  EXPECT(s.inspect_queue("own").since_us == 1'700'000'000'000'000);
}

UNIT_TEST(a_lock_of_ours_is_shown_with_its_first_lease_and_its_handles) {
  Scene s;
  const KeyInfo &info = s.inspect_queue("own");
  EXPECT(info.initial_ttl_ms == 3'000 && info.hold_count == 1 && info.instance == "a" && !info.is_zombie);
  EXPECT(info.since_us > 0 && s.now_us() - info.since_us < 1'000'000);
}

UNIT_TEST(handles_that_share_a_hold_are_counted_by_whom_they_belong_to) {
  Scene s;
  const auto owner = s.a.owner("o|%");
  for (int i = 0; i < 3; ++i) {
    Wanted &wanted = s.a.acquire({"k"}, waiting_ms(1'000), owner);
    EXPECT(s.world.run_until([&] { return wanted.ended(); }, 5'000) && wanted.is(Status::OK));
  }
  const KeyInfo &info = s.inspect_queue("k");
  EXPECT(info.hold_count == 3 && info.owner == owner->id());
  Question &other = s.ask(s.b, Ask::What::Inspect, [](Ask &q) { q.keys = {"k"}; });
  EXPECT(other.infos.at(0)->hold_count == 1);
}

UNIT_TEST(a_queue_is_read_page_after_page_in_its_order) {
  Scene s;
  const int64_t now_us = s.now_us();
  constexpr int kMany = 2 * static_cast<int>(liblock::kQueuePage) + 17;
  s.hold("k", 1, "a");
  for (int n = 1; n <= kMany; ++n)
    s.queue("k", n, n % 2 != 0 ? "a" : "b", now_us - n * kUs, "", "2|" + std::to_string(n));
  const KeyInfo &info = s.inspect_queue("k");
  EXPECT(info.waiters.size() == size_t{kMany} && info.waiter_count() == size_t{kMany});
  for (int n = 1; n <= kMany; ++n) {
    const liblock::WaiterInfo &waiter = info.waiters[static_cast<size_t>(n) - 1];
    EXPECT(waiter.priority == n && waiter.order == 2 && waiter.since_us == now_us - n * kUs);
    EXPECT(waiter.instance == (n % 2 != 0 ? "a" : "b") && waiter.waited_ms >= n);
  }
  // Without the waiters only the holder is looked for.
  EXPECT(s.ask(s.a, Ask::What::IsQueued, [](Ask &q) { q.keys = {"k"}; }).count == 1);
}

UNIT_TEST(a_waiter_whose_entry_is_missing_or_odd_is_counted_and_not_named) {
  Scene s;
  s.queue("k", 1, "a", s.now_us());
  s.queue("k", 2, "a", s.now_us());
  s.node.ask({"HDEL", "ll1:e:{liblock:k}", Scene::id(1)});
  const KeyInfo &info = s.inspect_queue("k");
  EXPECT(!info.is_held && info.waiters.size() == 1 && info.waiter_count() == 2);
}

UNIT_TEST(a_holder_for_whom_nobody_listens_is_a_zombie_once_it_is_no_newcomer) {
  Scene s;
  const int64_t now_us = s.now_us();
  s.hold("gone", 1, "x@far", "@" + std::to_string(now_us - 60'000 * kUs) + ",0|");
  s.hold("young", 2, "x@far", "@" + std::to_string(now_us) + ",0|");
  s.hold("alive", 3, "b", "@" + std::to_string(now_us - 60'000 * kUs) + ",0|");
  EXPECT(s.inspect_queue("gone").is_zombie && !s.inspect_queue("young").is_zombie &&
         !s.inspect_queue("alive").is_zombie);
}

UNIT_TEST(lists_tell_locks_from_queues_whatever_the_size_of_their_steps) {
  Scene s;
  const int64_t now_us = s.now_us();
  for (int n = 0; n < 300; ++n) s.hold("x/l" + std::to_string(n), n, "b");
  for (int n = 0; n < 100; ++n) s.queue("x/q" + std::to_string(n), n, "b", now_us);
  for (int n = 0; n < 50; ++n) s.queue("x/l" + std::to_string(n), n, "b", now_us);
  s.node.ask({"SET", "liblock:x/foreign", "somebody"});
  s.node.ask({"SET", "elsewhere:x/l", "ll1|"});
  s.node.ask({"ZADD", "ll1:w:{liblock:x/w}", "1", "b"});
  s.node.ask({"HSET", "liblock:x/w", "no", "lock"});
  for (const uint32_t batch : {1u, 7u, 500u, 65'536u}) {
    EXPECT(s.list(Ask::Which::Locks, batch, "x/").size() == 300);
    EXPECT(s.list(Ask::Which::Queues, batch, "x/").size() == 151);
    const std::vector<std::string> keys = s.list(Ask::Which::Keys, batch, "x/");
    EXPECT(keys.size() == 401 && std::adjacent_find(keys.begin(), keys.end()) == keys.end());
    EXPECT(s.list(Ask::Which::Locks, batch).size() == 302);
  }
  EXPECT(s.node.count("keys") == 0);
}

UNIT_TEST(clear_takes_all_locks_and_queues_in_batches_and_leaves_what_is_foreign) {
  Scene s;
  const int64_t now_us = s.now_us();
  for (int n = 0; n < 150; ++n) s.hold("l" + std::to_string(n), n, "b");
  for (int n = 0; n < 40; ++n) s.queue("l" + std::to_string(n), n, "b", now_us);
  for (int n = 0; n < 700; ++n) s.queue("crowd", n, "gone", now_us);
  s.node.ask({"SET", "liblock:foreign", "somebody"});
  const uint64_t calls = s.node.script_calls();
  Question &clear = s.clear(Engine::Whom::Everybody);
  EXPECT(clear.status == Status::OK);
  EXPECT(clear.tally.locks == 152 && clear.tally.queues == 41 && clear.tally.waiters == 740);
  EXPECT(s.node.script_calls() - calls <= 10 && clear.tally.steps <= 10);
  EXPECT(s.list(Ask::Which::Keys, 500).empty() && s.node.ask({"EXISTS", "liblock:foreign"}).is(1));
  EXPECT(s.waiters("crowd") == 0 && s.node.ask({"EXISTS", "ll1:e:{liblock:crowd}"}).is(0));
  s.world.run_ms(10);
  EXPECT(!s.a.holds(s.a.instance().holds.all().at(0)));
  EXPECT(!s.b.holds(s.b.instance().holds.all().at(0)));  // it heard of it
}

UNIT_TEST(clear_owner_takes_one_owners_locks_and_requests_and_the_next_in_line_is_told) {
  Scene s;
  const int64_t now_us = s.now_us();
  s.hold("mine", 1, "b");
  s.hold("theirs", 2, "c");
  s.queue("mine", 3, "a", now_us, "a/9/next");
  s.queue("theirs", 4, "b", now_us);
  s.queue("theirs", 5, "b", now_us, "b/2/other");
  s.queue("theirs", 6, "a", now_us);
  std::vector<std::string> told;
  const auto publish = s.node.server().on_publish;
  s.node.server().on_publish = [&](std::string_view channel, std::string_view message) {
    told.push_back(std::string(channel) + " " + std::string(message));
    return publish(channel, message);
  };
  Question &clear = s.clear(Engine::Whom::Owner, "b/1/o");
  EXPECT(clear.tally.locks == 1 && clear.tally.waiters == 1 && clear.tally.queues == 1);
  EXPECT(s.node.ask({"EXISTS", "liblock:mine", "liblock:theirs"}).is(2) && s.waiters("theirs") == 2);
  const auto was_told = [&](const std::string &what) {
    return std::count(told.begin(), told.end(), what) == 1;
  };
  EXPECT(was_told("ll1:i:b lliblock:mine"));
  EXPECT(s.node.ask({"GET", "liblock:mine"}).text.starts_with("ll1|" + Scene::id(3)));  // it has the key now
  EXPECT(was_told("ll1:i:b s" + Scene::id(4) + "liblock:theirs"));  // another one of b's stays in the queue
  const auto of_standing = [](const std::string &what) {
    return what.starts_with("ll1:i:b o") && what.ends_with("|b/1/o|liblock:mine");
  };
  EXPECT(std::count_if(told.begin(), told.end(), of_standing) >=
         1);                 // for who stands in line within its instance
  EXPECT(told.size() == 7);  // the same of other keys: that it holds, and twice that it was heard of in the queue
}

UNIT_TEST(clear_owner_sends_those_away_who_want_a_key_in_any_order_and_no_others_of_their_instance) {
  for (const bool is_in_queue : {true, false}) {
    Scene s;
    const auto owner = s.b.owner("worker"), other = s.b.owner("colleague");
    AcquireParams any = waiting_ms(60'000);
    any.order = LIBLOCK_ORDER_ANY;
    Wanted &held = s.a.take("k");
    Wanted &theirs = s.b.acquire({"k"}, any, owner);
    Wanted &stays = s.b.acquire({"k"}, any, other);
    Wanted &queued = s.b.acquire({"k"}, waiting_ms(60'000), owner);
    s.world.run_ms(50);
    if (!is_in_queue) s.b.cancel(queued);
    s.world.run_ms(50);
    s.clear(Engine::Whom::Owner, owner->id());
    s.world.run_ms(5);
    EXPECT(theirs.is(Status::DEQUEUED) && queued.is(is_in_queue ? Status::DEQUEUED : Status::CANCELED));
    EXPECT(!stays.ended() && s.waiters("k") == 0);
    s.a.release(held.grant().handle);
    s.world.run_ms(20);  // it is woken
    EXPECT(stays.is(Status::OK));
  }
}

UNIT_TEST(who_is_sent_away_with_his_owner_is_so_also_where_that_word_overtakes_the_answer_of_his_attempt) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Stage s(seed);
    const auto owner = s.b.owner("worker"), other = s.b.owner("colleague");
    AcquireParams any = waiting_ms(60'000);
    any.order = LIBLOCK_ORDER_ANY;
    s.a.take("k");
    s.b.acquire({"k"}, waiting_ms(10));  // messages come to b from now on
    s.world.run_ms(50);
    s.world.delay_least = 0;
    s.world.delay_most = 10 * kMillisecond;
    Wanted &theirs = s.b.acquire({"k"}, any, owner), &stays = s.b.acquire({"k"}, any, other);
    EXPECT(s.world.run_until([&] { return s.node.ask({"EXISTS", "ll1:w:{liblock:k}"}).is(1); }, 100));
    const Question &cleared = s.a.question(Ask::What::Clear, [&](Ask &ask) {
      ask.number = static_cast<uint64_t>(Engine::Whom::Owner);
      ask.text = owner->id();
      ask.batch = 100;
    });
    EXPECT(s.world.run_until([&] { return cleared.ends == 1; }, 1'000));
    s.world.run_ms(100);
    EXPECT(theirs.is(Status::DEQUEUED) && !stays.ended());
  }
}

UNIT_TEST(clear_instance_takes_its_locks_and_all_its_requests_of_both_kinds) {
  Scene s;
  const int64_t now_us = s.now_us();
  s.hold("k", 1, "c");
  s.queue("k", 2, "b", now_us);
  s.queue("k", 3, "b", now_us, "b/2/other");
  s.queue("k", 4, "c", now_us);
  s.node.ask({"ZADD", "ll1:w:{liblock:k}", "1", "b", "2", "c"});
  Question &clear = s.clear(Engine::Whom::Instance, "b");
  EXPECT(clear.tally.locks == 1 && clear.tally.waiters == 3 && clear.tally.queues == 1);  // "other" is b's
  EXPECT(s.waiters("k") == 1 &&
         s.node.ask({"ZRANGE", "ll1:w:{liblock:k}", "0", "-1"}).to_text() == "[\"c\"]");
}

UNIT_TEST(clear_dead_takes_from_instances_that_are_silent_twice_and_requests_that_are_old) {
  Scene s;
  const int64_t now_us = s.now_us();
  const int64_t day_us = 86'400'000 * kUs;
  s.hold("gone", 1, "x@far");
  s.hold("back", 2, "c");
  s.queue("gone", 3, "x@far", now_us);
  s.queue("gone", 4, "b", now_us - day_us - 1'000'000);
  s.queue("gone", 5, "b", now_us - day_us + 60'000'000);
  std::unique_ptr<Process> c;
  s.world.after(1'000 * kMillisecond, [&] {
    c = std::make_unique<Process>(s.world, "c", s.node);
    c->acquire({"c"}, waiting_ms(1'000));
  });
  const Nanos began_at = s.world.now();
  Question &clear = s.clear(Engine::Whom::Dead);
  EXPECT(clear.status == Status::OK && s.world.now() - began_at >= 3'000 * kMillisecond);
  EXPECT(clear.tally.locks == 1 && clear.tally.waiters == 2 && clear.tally.queues == 1);
  EXPECT(s.node.ask({"EXISTS", "liblock:gone"}).is(0) && s.node.ask({"EXISTS", "liblock:back"}).is(1));
  EXPECT(s.waiters("gone") == 0);  // the third is silent by now, and is passed over
  EXPECT(s.a.holds(s.a.instance().holds.all().at(0)));
}

UNIT_TEST(a_clearing_that_lets_time_pass_ends_when_its_context_closes) {
  Scene s;
  s.hold("gone", 1, "x@far");
  Question question;
  question.what = Ask::What::Clear;
  question.number = static_cast<uint64_t>(Engine::Whom::Dead);
  question.dead_after = liblock::nanos_from_ms(86'400'000);
  run_once(s.a.host(), [&] { s.a.instance().asking.start(question); });
  s.world.run_ms(500);
  EXPECT(question.ends == 0);
  s.a.end();
  EXPECT(question.ends == 1 && question.status == Status::CLOSED);
}

UNIT_TEST(metadata_of_a_lock_that_was_deleted_by_hand_is_not_shown_with_the_next) {
  Scene s;
  s.node.ask({"HSET", "ll1:m:{liblock:k}", "name", "value"});
  s.hold("k", 1, "x@far");
  EXPECT(s.inspect_queue("k").metadata.size() == 1);
  s.node.ask({"DEL", "liblock:k"});
  s.a.take("k");
  EXPECT(s.inspect_queue("k").metadata.empty());
}

UNIT_TEST(force_release_says_what_there_was) {
  Scene s;
  s.queue("k", 1, "b", s.now_us());
  const auto force = [&](const std::string &key) -> Question & {
    return s.ask(s.a, Ask::What::ForceRelease, [&](Ask &q) { q.keys = {key}; });
  };
  Question &queue_only = force("k");
  EXPECT(queue_only.status == Status::NOT_HELD && queue_only.tally.locks == 0 &&
         queue_only.tally.queues == 1);
  Question &lock_only = force("other");
  EXPECT(lock_only.status == Status::OK && lock_only.tally.locks == 1 && lock_only.tally.queues == 0);
  Question &nothing = force("nothing");
  EXPECT(nothing.status == Status::NOT_HELD && nothing.tally.locks + nothing.tally.queues == 0);
}

UNIT_MAIN("inspecting",
          cmocka_unit_test(an_entry_of_a_queue_is_read_field_by_field_and_what_is_none_is_refused),
          cmocka_unit_test(since_and_the_first_lease_are_read_where_a_record_has_them),
          cmocka_unit_test(an_update_leaves_since_and_lease_in_the_record),
          cmocka_unit_test(a_lock_of_ours_is_shown_with_its_first_lease_and_its_handles),
          cmocka_unit_test(handles_that_share_a_hold_are_counted_by_whom_they_belong_to),
          cmocka_unit_test(a_queue_is_read_page_after_page_in_its_order),
          cmocka_unit_test(a_waiter_whose_entry_is_missing_or_odd_is_counted_and_not_named),
          cmocka_unit_test(a_holder_for_whom_nobody_listens_is_a_zombie_once_it_is_no_newcomer),
          cmocka_unit_test(lists_tell_locks_from_queues_whatever_the_size_of_their_steps),
          cmocka_unit_test(clear_takes_all_locks_and_queues_in_batches_and_leaves_what_is_foreign),
          cmocka_unit_test(clear_owner_takes_one_owners_locks_and_requests_and_the_next_in_line_is_told),
          cmocka_unit_test(clear_owner_sends_those_away_who_want_a_key_in_any_order_and_no_others_of_their_instance),
          cmocka_unit_test(
              who_is_sent_away_with_his_owner_is_so_also_where_that_word_overtakes_the_answer_of_his_attempt),
          cmocka_unit_test(clear_instance_takes_its_locks_and_all_its_requests_of_both_kinds),
          cmocka_unit_test(clear_dead_takes_from_instances_that_are_silent_twice_and_requests_that_are_old),
          cmocka_unit_test(a_clearing_that_lets_time_pass_ends_when_its_context_closes),
          cmocka_unit_test(metadata_of_a_lock_that_was_deleted_by_hand_is_not_shown_with_the_next),
          cmocka_unit_test(force_release_says_what_there_was))
