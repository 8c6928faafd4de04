// SPDX-License-Identifier: MIT
// The names and the memory of pending calls, options that calls share, and notices on their way to the thread
// that delivers them.
#include <algorithm>
#include <set>

#include "context/options.hpp"
#include "context/request_table.hpp"
#include "context/shared_params.hpp"
#include "runtime/notice_queue.hpp"

// cmocka's macros take the names of functions of the standard library: last.
#include "../support/unit.hpp"

using namespace liblock;

namespace {

// A call whose engine's side is counted by hand.
class Call final : public PendingCall, public PendingCall::EnginePart {
 public:
  explicit Call(RequestTable &table) : table_(table) { engine_part = this; }
  void ended(const Grant &) override { set_over(); }
  bool destroy_if_sole() override { return sole; }
  void drop() override { gone(); }
  void gone() override {
    ++gone_count;
    table_.give_back_memory(this);
  }
  static inline int gone_count = 0;
  bool sole = true;
  liblock_request id = 0;

 private:
  RequestTable &table_;
};

struct Stage {
  Random random{7};
  std::shared_ptr<int> keeper = std::make_shared<int>(1);
  RequestTable table;
  explicit Stage(size_t requests_max) : table(requests_max, random) { Call::gone_count = 0; }

  Call *add() {
    auto *call = new (table.take_memory(sizeof(Call), keeper)) Call(table);
    call->id = table.add(*call);
    return call;
  }
  bool remove(Call *call) {
    return table.remove(call->id, true, [call] { return static_cast<void *>(call); });
  }
};

class Listening final : public RequestTable::Idle {
 public:
  explicit Listening(std::weak_ptr<int> keeper) : keeper_(std::move(keeper)) {}
  void nothing_is_pending() override {
    ++times;
    was_kept = !keeper_.expired();
  }
  int times = 0;
  bool was_kept = false;

 private:
  const std::weak_ptr<int> keeper_;
};

class Noted final : public Notice {
 public:
  Noted(std::vector<int> &log, int name) : log_(log), name_(name) {}
  void deliver() override {
    log_.push_back(name_);
    for (const auto &[queue, notice] : brings_about) queue->push(notice);
  }
  void dispose() override {}
  std::vector<std::pair<NoticeQueue *, Notice *>> brings_about;

 private:
  std::vector<int> &log_;
  const int name_;
};

}  // namespace

UNIT_TEST(a_request_answers_by_its_own_name_until_it_is_over_and_never_again) {
  Stage stage(100);
  Call *call = stage.add();
  const liblock_request id = call->id;
  EXPECT(id != 0 && stage.table.find(id) == call && !call->is_sole());
  call->unpin();
  EXPECT(stage.table.find(id + 1) == nullptr && stage.table.find(id + (uint64_t{1} << 32)) == nullptr);
  call->ended(Grant{});
  EXPECT(stage.table.find(id) == nullptr);
  EXPECT(stage.remove(call) && stage.table.find(id) == nullptr);
  Call *next = stage.add();
  EXPECT(next->id != id && static_cast<uint32_t>(next->id) == static_cast<uint32_t>(id));
  EXPECT(stage.table.find(id) == nullptr && stage.remove(next));
}

UNIT_TEST(the_bound_is_exact_and_does_not_count_the_one_that_is_being_delivered) {
  Stage stage(2);
  Call *first = stage.add();
  Call *second = stage.add();
  Call *refused = stage.add();
  EXPECT(refused->id == 0);
  refused->unpin();
  EXPECT(Call::gone_count == 1);
  stage.table.begin_delivery();
  Call *third = stage.add();
  EXPECT(third->id != 0);
  EXPECT(stage.remove(first));
  refused = stage.add();
  EXPECT(refused->id == 0);
  refused->unpin();
  EXPECT(stage.remove(second) && stage.remove(third));
}

UNIT_TEST(memory_is_used_again_and_the_keeper_goes_with_the_last) {
  Stage stage(100);
  Call *first = stage.add();
  EXPECT(stage.keeper.use_count() == 2);
  EXPECT(stage.remove(first) && stage.keeper.use_count() == 1);
  EXPECT(stage.add() == first && stage.keeper.use_count() == 2);
  EXPECT(stage.remove(first));
}

UNIT_TEST(a_call_that_others_refer_to_goes_with_the_last_of_them) {
  Stage stage(100);
  Call *pinned = stage.add();
  Call *with_timer = stage.add();
  pinned->pin();
  with_timer->sole = false;
  EXPECT(!stage.remove(pinned) && !stage.remove(with_timer));
  pinned->unpin();
  EXPECT(Call::gone_count == 0 && stage.keeper.use_count() == 2);
  pinned->unpin();
  EXPECT(Call::gone_count == 1);
  with_timer->unpin();
  EXPECT(Call::gone_count == 2 && stage.keeper.use_count() == 1);
}

UNIT_TEST(that_nothing_is_pending_is_told_once_by_the_last_while_the_keeper_is_there) {
  Stage stage(100);
  Listening told(stage.keeper);
  Call *first = stage.add();
  Call *last = stage.add();
  last->pin();
  stage.table.tell_when_idle(told);
  stage.keeper.reset();
  EXPECT(stage.remove(first) && told.times == 0);
  EXPECT(!stage.remove(last) && told.times == 1 && told.was_kept);
  last->unpin();
  last->unpin();
  Call *forgotten = stage.add();
  stage.table.tell_when_idle(told);
  EXPECT(told.times == 1);
  stage.table.forget(forgotten->id);
  EXPECT(told.times == 2);
  forgotten->unpin();
  stage.table.tell_when_idle(told);
  EXPECT(told.times == 3);
  EXPECT(stage.remove(stage.add()) && told.times == 3);
}

UNIT_TEST(that_nothing_is_pending_is_told_before_the_keeper_goes) {
  Stage stage(100);
  Listening told(stage.keeper);
  Call *call = stage.add();
  stage.table.tell_when_idle(told);
  stage.keeper.reset();
  EXPECT(stage.remove(call) && told.times == 1 && told.was_kept);
}

UNIT_TEST(equal_options_share_their_parameters_and_those_with_pointers_do_not) {
  SharedParams shared;
  liblock_acquire_options options = default_acquire_options();
  options.ttl_ms = 100;
  const AcquireParams params = acquire_params(options, {});
  const AcquireParams *known = shared.of(options, params);
  EXPECT(known != nullptr && known->ttl == params.ttl && shared.of(options, params) == known);
  liblock_acquire_options other = options;
  other.owner = LIBLOCK_OWNER_THREAD;
  EXPECT(shared.of(other, params) == known);
  other.value = "v";
  EXPECT(shared.of(other, params) == nullptr);
  std::set<const AcquireParams *> sets = {known};
  for (int i = 0; i < 20; ++i) {
    options.ttl_ms = 200 + i;
    if (const AcquireParams *found = shared.of(options, acquire_params(options, {})); found != nullptr)
      sets.insert(found);
  }
  EXPECT(sets.size() == 8 && shared.of(options, params) == nullptr);
}

UNIT_TEST(what_a_callback_brings_about_takes_turns_with_what_others_push) {
  NoticeQueue queue, elsewhere;
  std::vector<int> log;
  std::vector<Noted> own;
  for (int i = 0; i < 100; ++i) own.emplace_back(log, i);
  for (int i = 0; i + 1 < 100; ++i) own[i].brings_about.push_back({&queue, &own[i + 1]});
  Noted other(log, -1), apart(log, -2);
  own[10].brings_about.push_back({&elsewhere, &apart});
  EXPECT(queue.push(&own[0]) == NoticeQueue::Pushed::First);
  EXPECT(queue.deliver_round() < 100);
  EXPECT(queue.push(&other) == NoticeQueue::Pushed::First);
  while (queue.deliver_round() > 0) {}
  EXPECT(log.size() == 101);
  const auto place = static_cast<size_t>(std::find(log.begin(), log.end(), -1) - log.begin());
  EXPECT(place < 100);  // not after the whole chain
  log.erase(log.begin() + static_cast<std::ptrdiff_t>(place));
  for (int i = 0; i < 100; ++i) EXPECT(log[static_cast<size_t>(i)] == i);
  EXPECT(elsewhere.deliver_round() == 1 && log.back() == -2);
}

UNIT_MAIN("requests and notices",
          cmocka_unit_test(a_request_answers_by_its_own_name_until_it_is_over_and_never_again),
          cmocka_unit_test(the_bound_is_exact_and_does_not_count_the_one_that_is_being_delivered),
          cmocka_unit_test(memory_is_used_again_and_the_keeper_goes_with_the_last),
          cmocka_unit_test(a_call_that_others_refer_to_goes_with_the_last_of_them),
          cmocka_unit_test(that_nothing_is_pending_is_told_once_by_the_last_while_the_keeper_is_there),
          cmocka_unit_test(that_nothing_is_pending_is_told_before_the_keeper_goes),
          cmocka_unit_test(equal_options_share_their_parameters_and_those_with_pointers_do_not),
          cmocka_unit_test(what_a_callback_brings_about_takes_turns_with_what_others_push))
