// SPDX-License-Identifier: MIT
// What several handles of one lock share beside the lease: its value, whichever of them changes it or goes first.
#include "../support/stage.hpp"
#include "local/local_engine.hpp"

using namespace liblock;
using unit::World;

namespace {

AcquireParams carrying(Bytes value) {
  AcquireParams params;
  params.value = value;
  return params;
}

struct Stage : unit::Stage {
  std::shared_ptr<LocalOwner> me = world.owner("me");

  Handle mine(std::vector<Bytes> keys, Bytes value = {}) {
    unit::Request *request = ask(*me, std::move(keys), carrying(value));
    EXPECT(request->done && request->grant.status == Status::OK);
    return request->grant.handle;
  }
  void update(Handle h, Bytes value) { EXPECT(table().update(&world, h, value) == Status::OK); }
  std::string value_of(Bytes key) {
    const auto info = key.empty() ? table().inspect_global() : table().inspect(key, false);
    return info == nullptr || !info->is_held ? "not held" : info->value;
  }
  void let_go(Handle h) { EXPECT(release(h) == Status::OK); }
};

// Of one key, several, all.
const std::vector<std::vector<Bytes>> kLocks = {{"k"}, {"a", "b", "c"}, {}};

}  // namespace

UNIT_TEST(what_the_youngest_handle_writes_is_there_when_the_oldest_goes_first) {
  for (const std::vector<Bytes> &keys : kLocks) {
    Stage stage;
    const Bytes key = keys.empty() ? Bytes() : keys.front();
    const Handle oldest = stage.mine(keys, "one");
    const Handle middle = stage.mine(keys, "not taken");
    const Handle youngest = stage.mine(keys);
    EXPECT(stage.value_of(key) == "one");
    stage.update(youngest, "two");
    EXPECT(stage.value_of(key) == "two");
    stage.let_go(oldest);
    EXPECT(stage.value_of(key) == "two");
    stage.update(youngest, "three");
    stage.let_go(middle);
    EXPECT(stage.value_of(key) == "three");
    stage.let_go(youngest);
    EXPECT(stage.value_of(key) == "not held");
    const Handle next = stage.mine(keys);
    EXPECT(stage.value_of(key).empty());
    stage.let_go(next);
  }
}

UNIT_TEST(each_key_of_several_hands_its_value_to_its_own_heir) {
  Stage stage;
  const Handle both = stage.mine({"a", "b"}, "one");
  const Handle a = stage.mine({"a"}), b = stage.mine({"b"});
  stage.update(b, "two");
  EXPECT(stage.value_of("a") == "two" && stage.value_of("b") == "two");
  stage.let_go(both);
  stage.update(a, "of a");
  EXPECT(stage.value_of("a") == "of a" && stage.value_of("b") == "two");
  stage.let_go(a);
  stage.let_go(b);
}

UNIT_TEST(a_handle_on_more_keys_than_it_entered_again_changes_them_all) {
  Stage stage;
  const Handle a = stage.mine({"a"}, "one");
  const Handle both = stage.mine({"a", "b"}, "of both");
  EXPECT(stage.value_of("a") == "one" && stage.value_of("b") == "of both");
  stage.update(both, "two");
  EXPECT(stage.value_of("a") == "two" && stage.value_of("b") == "two");
  stage.let_go(both);
  EXPECT(stage.value_of("a") == "two" && stage.value_of("b") == "not held");
  stage.let_go(a);
}

UNIT_TEST(what_was_released_or_lost_carries_nothing_any_more) {
  for (const std::vector<Bytes> &keys : kLocks) {
    Stage stage;
    const Handle h = stage.mine(keys, "one");
    stage.let_go(h);
    EXPECT(stage.table().update(&stage.world, h, "late") == Status::NOT_HELD);
  }
}

UNIT_MAIN("what a lock carries",
          cmocka_unit_test(what_the_youngest_handle_writes_is_there_when_the_oldest_goes_first),
          cmocka_unit_test(each_key_of_several_hands_its_value_to_its_own_heir),
          cmocka_unit_test(a_handle_on_more_keys_than_it_entered_again_changes_them_all),
          cmocka_unit_test(what_was_released_or_lost_carries_nothing_any_more))
