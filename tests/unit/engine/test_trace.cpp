// SPDX-License-Identifier: MIT
// A trace without an engine behind it: what an engine tells it comes out with its fields, in order, and a loss that
// overtakes its grant is told behind it. And the buckets of a histogram.
#include <string>
#include <vector>

#include "../support/manual.hpp"
#include "../support/unit.hpp"
#include "engine/instruments.hpp"

using namespace liblock;

namespace {

// A listener that has everything, and a clock that is moved by hand.
struct Listener {
  explicit Listener(bool attempts = true) {
    InstrumentOptions options;
    options.log_attempts = attempts;
    instruments->set_instance("instance");
    instruments->set_options(options);
    instruments->events().listen(~uint64_t{0}, hear, this, runtime);
    instruments->log().listen(LIBLOCK_LOG_DEBUG, read, this);
  }
  ~Listener() { instruments->stop(); }  // as a context does, which else would be kept by its locks
  std::shared_ptr<Trace> begin(std::vector<Bytes> wanted) {
    return instruments->begin({wanted, &owner, &params, &clock, 7, 0});
  }
  static void hear(const liblock_event *event, void *user_data) {
    auto &told = *static_cast<Listener *>(user_data);
    told.events.push_back(*event);
    told.names += std::string(event->kind == LIBLOCK_EVENT_LOST       ? "lost "
                              : event->kind == LIBLOCK_EVENT_OBTAINED ? "obtained "
                                                                      : "other ");
    told.keys.emplace_back(static_cast<const char *>(event->key.data), event->key.size);
  }
  static void read(const liblock_log_entry *entry, void *user_data) {
    auto &told = *static_cast<Listener *>(user_data);
    std::string text = entry->name;
    for (size_t i = 0; i < entry->field_count; ++i) {
      const liblock_log_field &field = entry->fields[i];
      text += std::string(" ") + field.name + "=";
      text += field.type == LIBLOCK_FIELD_NUMBER
                  ? std::to_string(field.number)
                  : std::string(static_cast<const char *>(field.text.data), field.text.size);
    }
    told.entries.push_back(text);
  }

  std::shared_ptr<unit::ManualRuntime> runtime = std::make_shared<unit::ManualRuntime>();
  std::shared_ptr<Instruments> instruments = std::make_shared<Instruments>(nullptr);
  std::atomic<Nanos> now{kMillisecond};
  Clock clock{&now};
  LocalOwner owner{nullptr, "instance", 1, "o", true};
  AcquireParams params;
  std::vector<liblock_event> events;
  std::vector<std::string> keys, entries;
  std::string names;
};

Grant granted(Handle handle) {
  Grant grant;
  grant.status = Status::OK;
  grant.handle = handle;
  grant.token = 42;
  return grant;
}

liblock_completion loss_of(Handle handle) {
  liblock_completion completion{};
  completion.kind = LIBLOCK_KIND_LOST;
  completion.lock = handle;
  return completion;
}

}  // namespace

UNIT_TEST(an_engine_tells_nobody_where_there_is_no_trace) {
  Trace::tell_attempt(nullptr, LIBLOCK_ENTRY_ATTEMPT_STARTED);
  Trace::tell_requeued(nullptr, {});
  Trace::tell_handed_off(nullptr, {});
  Trace::tell_deadlock(nullptr, {});
}

UNIT_TEST(attempts_are_not_written_where_nobody_asks_for_them) {
  Listener told(false);
  const auto trace = told.begin({"k"});
  Trace::tell_attempt(trace.get(), LIBLOCK_ENTRY_ATTEMPT_STARTED);
  EXPECT(told.entries.empty());
}

UNIT_TEST(what_an_attempt_saw_is_written_with_all_its_fields) {
  Listener told;
  const auto trace = told.begin({"k", "l"});
  Sight sight;
  sight.key = "l";
  sight.position = 2;
  sight.length = 5;
  sight.first = "first";
  sight.held_by = "holder";
  sight.instance = "elsewhere";
  sight.token = 9;
  sight.remaining_ms = 100;
  sight.hold_count = 3;
  Trace::tell_attempt(trace.get(), LIBLOCK_ENTRY_ATTEMPT_NOT_FIRST, sight);
  EXPECT(told.entries.size() == 1);
  EXPECT(told.entries[0] ==
         "attempt_not_first key=l key_count=2 queue_ttl_ms=-1 owner=instance/1/o queue_position=2 "
         "queue_length=5 "
         "first_in_queue=first held_by=holder lock_instance=elsewhere lock_token=9 lock_remaining_ms=100 "
         "lock_hold_count=3");
  sight = {};
  sight.status = Status::CONNECT;
  Trace::tell_attempt(trace.get(), LIBLOCK_ENTRY_ATTEMPT_FAILED, sight);
  EXPECT(told.entries[1] ==
         "attempt_failed key=k key_count=2 queue_ttl_ms=-1 owner=instance/1/o status=CONNECT");
}

UNIT_TEST(what_is_told_under_locks_waits_for_the_flush_and_keeps_its_order) {
  Listener told;
  const auto trace = told.begin({"k"});
  Sight sight;
  sight.key = "k";
  sight.length = 1;
  trace->handed_off(sight);
  trace->attempt(LIBLOCK_ENTRY_ATTEMPT_FREE);
  EXPECT(told.entries.empty() && told.events.empty());
  trace->obtained(granted(1));
  EXPECT(told.names == "other obtained ");
  EXPECT(told.events[0].kind == LIBLOCK_EVENT_HANDED_OFF && told.keys[0] == "k");
  EXPECT(told.entries.size() == 3 && told.entries[0].starts_with("handed_off "));
}

UNIT_TEST(a_requeueing_and_a_cycle_are_told_with_their_numbers) {
  Listener told;
  const auto trace = told.begin({"k"});
  Sight sight;
  sight.position = 3;
  sight.length = 4;
  Trace::tell_requeued(trace.get(), sight);
  EXPECT(told.events[0].kind == LIBLOCK_EVENT_REQUEUED && told.events[0].queue_position == 3);
  EXPECT(told.entries.size() == 2 && told.entries[0].starts_with("attempt_queue_ttl_reached "));
  sight = {};
  sight.count = 3;
  Trace::tell_deadlock(trace.get(), sight);
  EXPECT(told.events[1].kind == LIBLOCK_EVENT_DEADLOCK_FOUND && told.events[1].count == 3);
  EXPECT(told.events[1].tag == 7);
}

UNIT_TEST(a_loss_that_overtakes_its_grant_is_told_behind_it_and_once) {
  Listener told;
  const auto trace = told.begin({"k"});
  trace->put_notice(loss_of(1));
  EXPECT(told.events.empty());
  trace->obtained(granted(1));
  EXPECT(told.names == "obtained lost ");
  EXPECT(told.instruments->find(1) == nullptr);
  trace->put_notice(loss_of(1));
  trace->released(Status::LOST, 0);
  trace->extended(kMillisecond, 0);
  EXPECT(told.events.size() == 2);
}

UNIT_TEST(what_is_granted_behind_the_end_of_a_context_is_kept_by_nobody) {
  Listener told;
  std::shared_ptr<Trace> trace = told.begin({"k"});
  told.instruments->stop();
  trace->obtained(granted(1));
  const std::weak_ptr<Trace> seen = trace;
  trace.reset();
  EXPECT(seen.expired() && told.events.empty() && told.entries.empty());
}

UNIT_TEST(what_a_handle_gives_back_is_told_with_its_release_and_the_least_of_it) {
  Listener told;
  const auto trace = told.begin({"k", "l"});
  trace->obtained(granted(1));
  trace->given_back(kNever);
  trace->given_back(4'000 * kMillisecond);
  trace->given_back(5'000 * kMillisecond);
  EXPECT(told.events.size() == 1);
  trace->released(Status::OK, kMillisecond);
  EXPECT(told.events.size() == 3 && told.events[1].kind == LIBLOCK_EVENT_EXTENDED);
  EXPECT(told.events[1].ttl_ms == 4'000 && told.events[1].lock == 1 && told.events[1].elapsed_us == 1'000);
  EXPECT(told.entries[told.entries.size() - 2].find(" ttl_ms=4000") != std::string::npos);
}

UNIT_TEST(an_acquire_of_several_keys_that_fails_names_the_one_that_was_last_in_its_way) {
  for (const Status status : {Status::BUSY, Status::TIMEOUT, Status::CANCELED}) {
    Listener told;
    const auto trace = told.begin({"m", "l", "k", "l"});
    Grant grant;
    grant.busy_key = 1;
    trace->failed(status, grant);
    EXPECT(told.keys.back() == "l" && told.entries.back().find(" key=l key_count=4 ") != std::string::npos);
    const auto unknown = told.begin({"m", "l"});
    unknown->failed(status, {});
    EXPECT(told.keys.back() == "m");
  }
}

UNIT_TEST(the_time_of_the_release_does_not_count_as_held) {
  Listener told;
  const auto trace = told.begin({"k"});
  told.now += 2 * kMillisecond;
  trace->obtained(granted(1));
  told.now += 10 * kMillisecond;
  trace->released(Status::OK, 3 * kMillisecond);
  const liblock_event &end = told.events.back();
  EXPECT(end.kind == LIBLOCK_EVENT_HOLD_AND_RELEASE && end.acquire_us == 2'000);
  EXPECT(end.hold_us == 7'000 && end.elapsed_us == 3'000);
}

UNIT_TEST(the_bounds_of_buckets_are_powers_of_two_of_a_microsecond) {
  const std::pair<uint64_t, size_t> known[] = {{0, 0},
                                               {1, 0},
                                               {2, 1},
                                               {3, 2},
                                               {4, 2},
                                               {5, 3},
                                               {1'024, 10},
                                               {1'025, 11},
                                               {uint64_t{1} << 38, 38},
                                               {(uint64_t{1} << 38) + 1, 39},
                                               {UINT64_MAX, 39}};
  for (const auto &[us, bucket] : known) EXPECT(Histogram::bucket_of(us) == bucket);
  Histogram histogram;
  histogram.record(1);  // what began counts as a whole one
  histogram.record(-5);
  histogram.record(2'500);
  liblock_histogram seen{};
  histogram.read(seen);
  EXPECT(seen.count == 3 && seen.sum_us == 4 && seen.buckets[0] == 2 && seen.buckets[2] == 1);
}

UNIT_MAIN("trace", cmocka_unit_test(an_engine_tells_nobody_where_there_is_no_trace),
          cmocka_unit_test(attempts_are_not_written_where_nobody_asks_for_them),
          cmocka_unit_test(what_an_attempt_saw_is_written_with_all_its_fields),
          cmocka_unit_test(what_is_told_under_locks_waits_for_the_flush_and_keeps_its_order),
          cmocka_unit_test(a_requeueing_and_a_cycle_are_told_with_their_numbers),
          cmocka_unit_test(a_loss_that_overtakes_its_grant_is_told_behind_it_and_once),
          cmocka_unit_test(what_is_granted_behind_the_end_of_a_context_is_kept_by_nobody),
          cmocka_unit_test(what_a_handle_gives_back_is_told_with_its_release_and_the_least_of_it),
          cmocka_unit_test(an_acquire_of_several_keys_that_fails_names_the_one_that_was_last_in_its_way),
          cmocka_unit_test(the_time_of_the_release_does_not_count_as_held),
          cmocka_unit_test(the_bounds_of_buckets_are_powers_of_two_of_a_microsecond))
