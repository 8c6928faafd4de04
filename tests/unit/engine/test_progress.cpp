// SPDX-License-Identifier: MIT
// Where a request stands, on its way to on_queued: one notice at a time, the newest place, nothing after the end. And a
// thread that is nudged where it waits.
#include <thread>
#include <utility>
#include <vector>

#include "../support/manual.hpp"
#include "../support/unit.hpp"
#include "engine/progress.hpp"

using namespace liblock;

namespace {

using Places = std::vector<std::pair<int64_t, int64_t>>;

void on_queued(int64_t position, int64_t length, void *user_data) {
  static_cast<Places *>(user_data)->emplace_back(position, length);
}

// Keeps notices until they are wanted, as a callback thread that is busy.
class BusyRuntime final : public Runtime {
 public:
  Nanos now() const override { return 0; }
  bool arm(Timer &, Nanos) override { return false; }
  bool cancel(Timer &) override { return false; }
  void post(Notice *notice) override { posted.push_back(notice); }
  void run_on_loop(LoopTask &task) override { task.run(); }
  ByteStream *make_stream(ByteStream::Listener &) override { return nullptr; }
  // With `meanwhile` just before it gives the notice back.
  template <typename Meanwhile>
  void deliver_one(Meanwhile meanwhile) {
    Notice *notice = posted.front();
    posted.erase(posted.begin());
    notice->deliver();
    meanwhile();
    notice->dispose();
  }
  void deliver_one() {
    deliver_one([] {});
  }
  std::vector<Notice *> posted;
};

struct Told {
  std::shared_ptr<BusyRuntime> runtime = std::make_shared<BusyRuntime>();
  Places places;
  std::shared_ptr<RequestProgress> progress = std::make_shared<RequestProgress>(on_queued, &places, runtime);
};

void a_place_that_was_told_is_not_told_again(void **) {
  Told told;
  told.progress->stands(3, 4);
  told.runtime->deliver_one();
  told.progress->stands(3, 4);
  assert_int_equal(told.runtime->posted.size(), 0);
  assert_true((told.places == Places{{3, 4}}));
}

void of_several_places_in_a_row_the_newest_is_told(void **) {
  Told told;
  for (int64_t place = 5; place >= 0; --place) told.progress->stands(place, place + 1);
  assert_int_equal(told.runtime->posted.size(), 1);
  told.runtime->deliver_one();
  assert_int_equal(told.runtime->posted.size(), 0);
  assert_true((told.places == Places{{0, 1}}));
}

void a_place_that_comes_while_another_is_told_has_its_turn(void **) {
  Told told;
  told.progress->stands(1, 2);
  told.runtime->deliver_one([&] { told.progress->stands(0, 1); });
  assert_int_equal(told.runtime->posted.size(), 1);
  told.runtime->deliver_one();
  assert_true((told.places == Places{{1, 2}, {0, 1}}));
}

void nothing_is_told_after_the_end(void **) {
  Told told;
  told.progress->stands(1, 2);
  told.progress->end();
  told.runtime->deliver_one([&] { told.progress->stands(0, 1); });
  assert_int_equal(told.runtime->posted.size(), 0);
  assert_int_equal(told.places.size(), 0);
}

void a_request_that_is_gone_leaves_its_notice_whole(void **) {
  Told told;
  told.progress->stands(1, 2);
  told.progress.reset();
  told.runtime->deliver_one();
  assert_int_equal(told.places.size(), 1);
}

void a_thread_is_told_on_itself_and_parks_again(void **) {
  Places places;
  for (int round = 0; round < 2'000; ++round) {
    places.clear();
    Parking parking;
    ThreadProgress progress(on_queued, &places);
    progress.nudge_in(parking);
    std::thread other([&] {
      progress.stands(1, 2);
      progress.stands(0, 1);
      parking.unpark();
    });
    while (!parking.park()) progress.tell();
    other.join();
    assert_true(places.size() <= 2);
    if (!places.empty()) assert_true(places.front().second - places.front().first == 1);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_place_that_was_told_is_not_told_again),
      cmocka_unit_test(of_several_places_in_a_row_the_newest_is_told),
      cmocka_unit_test(a_place_that_comes_while_another_is_told_has_its_turn),
      cmocka_unit_test(nothing_is_told_after_the_end),
      cmocka_unit_test(a_request_that_is_gone_leaves_its_notice_whole),
      cmocka_unit_test(a_thread_is_told_on_itself_and_parks_again),
  };
  return cmocka_run_group_tests_name("progress", tests, nullptr, nullptr);
}
