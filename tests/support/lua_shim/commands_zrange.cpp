// SPDX-License-Identifier: MIT
// Ranges of sorted sets, by rank and by score. A range by bytes (BYLEX) is refused: nothing here needs it.
#include <algorithm>

#include "commands.hpp"
#include "errors.hpp"
#include "text.hpp"

namespace liblock_test::lua_shim {

namespace {

bool parse_end(std::string_view text, double &value, bool &open) {
  open = text.starts_with('(');
  return parse_bound(open ? text.substr(1) : text, value);
}

bool parse_scores(std::string_view low, std::string_view high, ScoreRange &range) {
  return parse_end(low, range.low, range.low_open) && parse_end(high, range.high, range.high_open);
}

Reply not_a_range() { return Reply::error("ERR min or max is not a float"); }

struct RangeOptions {
  bool by_score = false;
  bool by_lex = false;
  bool reverse = false;
  bool with_scores = false;
  bool limited = false;
  int64_t skip = 0;
  int64_t most = -1;

  // What is wrong with them, or nil. ZRANGE has words that its older relatives lack.
  Reply parse(const Call &call, bool is_zrange) {
    for (size_t i = 4; i < call.count(); ++i) {
      const std::string word = lower_case(call[i]);
      if (word == "withscores") {
        with_scores = true;
      } else if (word == "limit" && call.count() - i > 2) {
        if (!parse_int(call[i + 1], skip) || !parse_int(call[i + 2], most)) return not_an_integer();
        limited = true;
        i += 2;
      } else if (is_zrange && word == "rev" && !reverse) {
        reverse = true;
      } else if (is_zrange && word == "bylex" && !by_score && !by_lex) {
        by_lex = true;
      } else if (is_zrange && word == "byscore" && !by_score && !by_lex) {
        by_score = true;
      } else {
        return syntax_error();
      }
    }
    if (limited && most != -1 && !by_score && !by_lex) {
      return Reply::error(
          "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX");
    }
    if (with_scores && by_lex) {
      return Reply::error("ERR syntax error, WITHSCORES not supported in combination with BYLEX");
    }
    if (by_lex) return Reply::error("ERR lua_shim: BYLEX is not supported");
    return {};
  }
};

// The places in the order wanted, first `skip` left out, then at most `most` (all when negative).
Reply list_places(const SortedSet &set, SortedSet::Places places, const RangeOptions &options) {
  Reply out = Reply::array();
  const auto total = static_cast<int64_t>(places.last - places.first);
  if (options.skip < 0 || options.skip >= total) return out;
  int64_t count = total - options.skip;
  if (options.most >= 0) count = std::min(count, options.most);
  for (int64_t i = options.skip; i < options.skip + count; ++i) {
    const auto step = static_cast<size_t>(i);
    const SortedSet::Entry &entry = set.at(options.reverse ? places.last - 1 - step : places.first + step);
    out.items.push_back(Reply::string(entry.member));
    if (options.with_scores) out.items.push_back(Reply::string(format_double(entry.score)));
  }
  return out;
}

Reply range_by_score(const Call &call, const RangeOptions &options) {
  ScoreRange range;
  const bool parsed =
      options.reverse ? parse_scores(call[3], call[2], range) : parse_scores(call[2], call[3], range);
  if (!parsed) return not_a_range();
  const auto set = call.data().find_as<SortedSet>(call.key());
  if (set.wrong_type) return wrong_type();
  return set ? list_places(*set.data, set.data->within(range), options) : Reply::array();
}

Reply range_by_rank(const Call &call, RangeOptions options) {
  int64_t first = 0;
  int64_t last = 0;
  if (!parse_int(call[2], first) || !parse_int(call[3], last)) return not_an_integer();
  const auto set = call.data().find_as<SortedSet>(call.key());
  if (set.wrong_type) return wrong_type();
  if (!set) return Reply::array();
  const size_t size = set.data->size();
  SortedSet::Places places = clamp_places(first, last, size);
  if (options.reverse) places = {size - places.last, size - places.first};
  options.skip = 0;
  options.most = -1;
  return list_places(*set.data, places, options);
}

Reply erase_places(const Call &call, const Found<SortedSet> &set, SortedSet::Places places) {
  set.data->erase(places);
  call.data().erase_if_empty(call.key(), *set.data);
  return Reply::of(static_cast<int64_t>(places.last - places.first));
}

Reply ranged_by_score(const Call &call, bool reverse) {
  RangeOptions options;
  options.by_score = true;
  options.reverse = reverse;
  if (Reply error = options.parse(call, false); error.is_error()) return error;
  return range_by_score(call, options);
}

}  // namespace

SortedSet::Places clamp_places(int64_t first, int64_t last, size_t size) {
  const auto count = static_cast<int64_t>(size);
  if (first < 0) first = std::max<int64_t>(first + count, 0);
  if (last < 0) last += count;
  last = std::min(last, count - 1);
  if (first > last) return {};
  return {static_cast<size_t>(first), static_cast<size_t>(last) + 1};
}

Reply run_zrange(const Call &call) {
  RangeOptions options;
  if (Reply error = options.parse(call, true); error.is_error()) return error;
  return options.by_score ? range_by_score(call, options) : range_by_rank(call, options);
}

Reply run_zrangebyscore(const Call &call) { return ranged_by_score(call, false); }
Reply run_zrevrangebyscore(const Call &call) { return ranged_by_score(call, true); }

Reply run_zcount(const Call &call) {
  ScoreRange range;
  if (!parse_scores(call[2], call[3], range)) return not_a_range();
  const auto set = call.data().find_as<SortedSet>(call.key());
  if (set.wrong_type) return wrong_type();
  if (!set) return Reply::of(0);
  const SortedSet::Places places = set.data->within(range);
  return Reply::of(static_cast<int64_t>(places.last - places.first));
}

Reply run_zremrangebyscore(const Call &call) {
  ScoreRange range;
  if (!parse_scores(call[2], call[3], range)) return not_a_range();
  const auto set = call.data().find_as<SortedSet>(call.key());
  if (set.wrong_type) return wrong_type();
  return set ? erase_places(call, set, set.data->within(range)) : Reply::of(0);
}

Reply run_zremrangebyrank(const Call &call) {
  int64_t first = 0;
  int64_t last = 0;
  if (!parse_int(call[2], first) || !parse_int(call[3], last)) return not_an_integer();
  const auto set = call.data().find_as<SortedSet>(call.key());
  if (set.wrong_type) return wrong_type();
  return set ? erase_places(call, set, clamp_places(first, last, set.data->size())) : Reply::of(0);
}

}  // namespace liblock_test::lua_shim
