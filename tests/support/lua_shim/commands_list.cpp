// SPDX-License-Identifier: MIT
// Lists, and sets, whose members come back in the order in which they were added.
#include <algorithm>

#include "commands.hpp"
#include "errors.hpp"
#include "text.hpp"

namespace liblock_test::lua_shim {

namespace {

Reply push(const Call &call, bool left) {
  const auto list = call.data().find_or_make_as<List>(call.key());
  if (list.wrong_type) return wrong_type();
  for (size_t i = 2; i < call.count(); ++i) {
    if (left) {
      list.data->emplace_front(call[i]);
    } else {
      list.data->emplace_back(call[i]);
    }
  }
  return Reply::of(static_cast<int64_t>(list.data->size()));
}

std::string take_end(List &list, bool left) {
  std::string item = std::move(left ? list.front() : list.back());
  if (left) {
    list.pop_front();
  } else {
    list.pop_back();
  }
  return item;
}

Reply pop(const Call &call, bool left) {
  if (call.count() > 3) return wrong_count(left ? "lpop" : "rpop");
  int64_t count = 1;
  if (call.count() == 3 && (!parse_int(call[2], count) || count < 0)) return not_positive();
  const auto list = call.data().find_as<List>(call.key());
  if (list.wrong_type) return wrong_type();
  if (!list) return Reply::nil();
  Reply taken = Reply::array();
  for (; count > 0 && !list.data->empty(); --count) {
    taken.items.push_back(Reply::string(take_end(*list.data, left)));
  }
  call.data().erase_if_empty(call.key(), *list.data);
  return call.count() == 2 ? taken.items.front() : taken;
}

}  // namespace

Reply run_lpush(const Call &call) { return push(call, true); }
Reply run_rpush(const Call &call) { return push(call, false); }
Reply run_lpop(const Call &call) { return pop(call, true); }
Reply run_rpop(const Call &call) { return pop(call, false); }

Reply run_llen(const Call &call) {
  const auto list = call.data().find_as<List>(call.key());
  if (list.wrong_type) return wrong_type();
  return Reply::of(list ? static_cast<int64_t>(list.data->size()) : 0);
}

Reply run_lrange(const Call &call) {
  int64_t first = 0;
  int64_t last = 0;
  if (!parse_int(call[2], first) || !parse_int(call[3], last)) return not_an_integer();
  const auto list = call.data().find_as<List>(call.key());
  if (list.wrong_type) return wrong_type();
  Reply items = Reply::array();
  if (!list) return items;
  const SortedSet::Places places = clamp_places(first, last, list.data->size());
  for (size_t i = places.first; i < places.last; ++i) items.items.push_back(Reply::string((*list.data)[i]));
  return items;
}

Reply run_lrem(const Call &call) {
  int64_t count = 0;
  if (!parse_int(call[2], count)) return not_an_integer();
  const auto list = call.data().find_as<List>(call.key());
  if (list.wrong_type) return wrong_type();
  if (!list) return Reply::of(0);
  const int64_t wanted = count == 0 ? INT64_MAX : count;
  int64_t erased = 0;
  const auto goes = [&](const std::string &item) {
    if (item != call[3] || (wanted > 0 ? erased >= wanted : erased <= wanted)) return false;
    erased += wanted > 0 ? 1 : -1;
    return true;
  };
  if (wanted < 0) std::reverse(list.data->begin(), list.data->end());
  List kept;
  for (const std::string &item : *list.data) {
    if (!goes(item)) kept.push_back(item);
  }
  if (wanted < 0) std::reverse(kept.begin(), kept.end());
  *list.data = std::move(kept);
  call.data().erase_if_empty(call.key(), *list.data);
  return Reply::of(std::abs(erased));
}

Reply run_sadd(const Call &call) {
  const auto set = call.data().find_or_make_as<Set>(call.key());
  if (set.wrong_type) return wrong_type();
  int64_t added = 0;
  for (size_t i = 2; i < call.count(); ++i) added += set.data->put(call[i], {}) ? 1 : 0;
  return Reply::of(added);
}

Reply run_srem(const Call &call) {
  const auto set = call.data().find_as<Set>(call.key());
  if (set.wrong_type) return wrong_type();
  if (!set) return Reply::of(0);
  int64_t erased = 0;
  for (size_t i = 2; i < call.count(); ++i) erased += set.data->erase(call[i]) ? 1 : 0;
  call.data().erase_if_empty(call.key(), *set.data);
  return Reply::of(erased);
}

Reply run_smembers(const Call &call) {
  const auto set = call.data().find_as<Set>(call.key());
  if (set.wrong_type) return wrong_type();
  Reply members = Reply::array();
  if (!set) return members;
  for (const auto &item : *set.data) members.items.push_back(Reply::string(item.first));
  return members;
}

Reply run_sismember(const Call &call) {
  const auto set = call.data().find_as<Set>(call.key());
  if (set.wrong_type) return wrong_type();
  return Reply::of(set && set.data->find(call[2]) != nullptr ? 1 : 0);
}

Reply run_scard(const Call &call) {
  const auto set = call.data().find_as<Set>(call.key());
  if (set.wrong_type) return wrong_type();
  return Reply::of(set ? static_cast<int64_t>(set.data->size()) : 0);
}

}  // namespace liblock_test::lua_shim
