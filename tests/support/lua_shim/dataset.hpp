// SPDX-License-Identifier: MIT
// The keys of one server and when they expire. A key lives up to and including its last millisecond and is gone
// when the clock is past it, as in Redis; it is removed when someone looks. While a script runs, time stands
// still for expiry.
//
// Each key has a number, rising with each key that is made anew. SCAN walks by it: a cursor is the number to go
// on from, so a key that is there all the time is met exactly once.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

#include "ordered_map.hpp"
#include "sorted_set.hpp"

namespace liblock_test::lua_shim {

struct Nothing {};
using List = std::deque<std::string>;
using Hash = OrderedMap<std::string>;
using Set = OrderedMap<Nothing>;

inline constexpr int64_t kNoExpiry = -1;

struct Value {
  std::variant<std::string, List, Hash, Set, SortedSet> data;
  int64_t expire_ms = kNoExpiry;
  uint64_t number = 0;
};

// What a key of the wanted type holds: nothing when it is not there, or when `wrong_type`.
template <typename Type>
struct Found {
  Type *data = nullptr;
  bool wrong_type = false;
  explicit operator bool() const { return data != nullptr; }
};

class Dataset {
 public:
  explicit Dataset(const int64_t *clock_us) : clock_us_(clock_us) {}
  Dataset(const Dataset &other) : clock_us_(other.clock_us_) { take_keys_of(other); }
  Dataset &operator=(const Dataset &) = delete;
  void take_keys_of(const Dataset &other);

  int64_t now_us() const { return *clock_us_; }
  int64_t now_ms() const { return frozen_ms_.value_or(*clock_us_ / 1000); }
  void freeze() { frozen_ms_ = *clock_us_ / 1000; }
  void thaw() { frozen_ms_.reset(); }

  Value *find(std::string_view key);
  // The key's value, made anew (a string, empty) when there is none.
  Value &find_or_make(std::string_view key);
  bool erase(std::string_view key);
  void clear();
  size_t size();

  template <typename Type>
  Found<Type> find_as(std::string_view key) {
    Value *value = find(key);
    if (value == nullptr) return {};
    Type *data = std::get_if<Type>(&value->data);
    return {data, data == nullptr};
  }
  template <typename Type>
  Found<Type> find_or_make_as(std::string_view key) {
    if (Value *value = find(key)) {
      Type *data = std::get_if<Type>(&value->data);
      return {data, data == nullptr};
    }
    return {&find_or_make(key).data.template emplace<Type>(), false};
  }
  // Redis has no empty lists, hashes or sets: whoever took from one calls this.
  template <typename Type>
  void erase_if_empty(std::string_view key, const Type &data) {
    if (data.empty()) erase(key);
  }

  // Calls visit(key, value) for at most `count` keys from the cursor on; the cursor to go on from, or 0.
  template <typename Visit>
  uint64_t scan(uint64_t cursor, int64_t count, Visit visit) {
    auto at = by_number_.lower_bound(cursor);
    for (; at != by_number_.end() && count > 0; --count) {
      const std::string_view key = at->second;
      ++at;  // find may remove the key
      if (const Value *value = find(key)) visit(key, *value);
    }
    return at == by_number_.end() ? 0 : at->first;
  }

 private:
  struct KeyHash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Keys = std::unordered_map<std::string, Value, KeyHash, std::equal_to<>>;

  void erase(Keys::iterator at);

  const int64_t *clock_us_;
  std::optional<int64_t> frozen_ms_;
  Keys keys_;
  std::map<uint64_t, std::string_view> by_number_;  // views into keys_, whose nodes stay
  uint64_t next_number_ = 1;
};

}  // namespace liblock_test::lua_shim
