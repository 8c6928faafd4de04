// SPDX-License-Identifier: MIT
// Sorted sets: adding, removing, asking for one member. Ranges are read in commands_zrange.cpp.
#include <cmath>

#include "commands.hpp"
#include "errors.hpp"
#include "text.hpp"

namespace liblock_test::lua_shim {

namespace {

struct AddOptions {
  bool if_absent = false;
  bool if_present = false;
  bool if_greater = false;
  bool if_less = false;
  bool count_changed = false;
  bool increment = false;
  size_t first_pair = 2;

  void parse(const Call &call) {
    for (; first_pair < call.count(); ++first_pair) {
      const std::string_view word = call[first_pair];
      if (same_name(word, "nx")) {
        if_absent = true;
      } else if (same_name(word, "xx")) {
        if_present = true;
      } else if (same_name(word, "gt")) {
        if_greater = true;
      } else if (same_name(word, "lt")) {
        if_less = true;
      } else if (same_name(word, "ch")) {
        count_changed = true;
      } else if (same_name(word, "incr")) {
        increment = true;
      } else {
        return;
      }
    }
  }

  // What is wrong with them, or nil.
  Reply refusal(const Call &call) const {
    const size_t words = call.count() - first_pair;
    if (words == 0 || words % 2 != 0) return syntax_error();
    if (if_absent && if_present) {
      return Reply::error("ERR XX and NX options at the same time are not compatible");
    }
    if ((if_greater && if_absent) || (if_less && if_absent) || (if_greater && if_less)) {
      return Reply::error("ERR GT, LT, and/or NX options at the same time are not compatible");
    }
    if (increment && words > 2)
      return Reply::error("ERR INCR option supports a single increment-element pair");
    return {};
  }

  // Whether the member may get this score.
  bool allows(const double *present, double wanted) const {
    if (present == nullptr) return !if_present;
    return !if_absent && (!if_greater || wanted > *present) && (!if_less || wanted < *present);
  }
};

Reply add(const Call &call, const AddOptions &options) {
  std::vector<double> scores;
  for (size_t i = options.first_pair; i < call.count(); i += 2) {
    if (!parse_double(call[i], scores.emplace_back())) return not_a_float();
  }
  const auto set = call.data().find_or_make_as<SortedSet>(call.key());
  if (set.wrong_type) return wrong_type();
  int64_t added = 0;
  int64_t changed = 0;
  Reply last;
  for (size_t i = 0; i < scores.size(); ++i) {
    const std::string_view member = call[options.first_pair + 2 * i + 1];
    const double *present = set.data->score(member);
    double wanted = scores[i];
    if (options.increment && present != nullptr && !options.if_absent) wanted += *present;
    if (std::isnan(wanted)) return Reply::error("ERR resulting score is not a number (NaN)");
    if (!options.allows(present, wanted)) continue;
    added += present == nullptr ? 1 : 0;
    changed += present != nullptr && *present != wanted ? 1 : 0;
    set.data->put(member, wanted);
    last = Reply::string(format_double(wanted));
  }
  call.data().erase_if_empty(call.key(), *set.data);
  if (options.increment) return last;
  return Reply::of(options.count_changed ? added + changed : added);
}

Reply rank(const Call &call, bool reverse) {
  const auto set = call.data().find_as<SortedSet>(call.key());
  if (set.wrong_type) return wrong_type();
  if (!set || set.data->score(call[2]) == nullptr) return Reply::nil();
  const size_t place = set.data->rank(call[2]);
  return Reply::of(static_cast<int64_t>(reverse ? set.data->size() - 1 - place : place));
}

Reply pop(const Call &call, bool highest) {
  if (call.count() > 3) return syntax_error();
  int64_t count = 1;
  if (call.count() == 3 && (!parse_int(call[2], count) || count < 0)) return not_positive();
  const auto set = call.data().find_as<SortedSet>(call.key());
  if (set.wrong_type) return wrong_type();
  Reply taken = Reply::array();
  if (!set) return taken;
  for (; count > 0 && !set.data->empty(); --count) {
    const size_t place = highest ? set.data->size() - 1 : 0;
    const SortedSet::Entry &entry = set.data->at(place);
    taken.items.push_back(Reply::string(entry.member));
    taken.items.push_back(Reply::string(format_double(entry.score)));
    set.data->erase({place, place + 1});
  }
  call.data().erase_if_empty(call.key(), *set.data);
  return taken;
}

}  // namespace

Reply run_zadd(const Call &call) {
  AddOptions options;
  options.parse(call);
  if (Reply error = options.refusal(call); error.is_error()) return error;
  return add(call, options);
}

Reply run_zincrby(const Call &call) {
  AddOptions options;
  options.increment = true;
  return add(call, options);
}

Reply run_zrem(const Call &call) {
  const auto set = call.data().find_as<SortedSet>(call.key());
  if (set.wrong_type) return wrong_type();
  if (!set) return Reply::of(0);
  int64_t erased = 0;
  for (size_t i = 2; i < call.count(); ++i) erased += set.data->erase(call[i]) ? 1 : 0;
  call.data().erase_if_empty(call.key(), *set.data);
  call.in.server.members_removed += static_cast<uint64_t>(erased);
  return Reply::of(erased);
}

Reply run_zcard(const Call &call) {
  const auto set = call.data().find_as<SortedSet>(call.key());
  if (set.wrong_type) return wrong_type();
  return Reply::of(set ? static_cast<int64_t>(set.data->size()) : 0);
}

Reply run_zscore(const Call &call) {
  const auto set = call.data().find_as<SortedSet>(call.key());
  if (set.wrong_type) return wrong_type();
  const double *score = set ? set.data->score(call[2]) : nullptr;
  return score == nullptr ? Reply::nil() : Reply::string(format_double(*score));
}

Reply run_zrank(const Call &call) { return rank(call, false); }
Reply run_zrevrank(const Call &call) { return rank(call, true); }
Reply run_zpopmin(const Call &call) { return pop(call, false); }
Reply run_zpopmax(const Call &call) { return pop(call, true); }

}  // namespace liblock_test::lua_shim
