// SPDX-License-Identifier: MIT
// A map that is walked in the order in which its keys came, so that replies never depend on a hash: small Redis
// hashes do the same, and a simulator must. Replacing a value keeps the key's place.
#pragma once

#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace liblock_test::lua_shim {

template <typename Value>
class OrderedMap {
 public:
  using Items = std::list<std::pair<const std::string, Value>>;

  OrderedMap() = default;
  OrderedMap(const OrderedMap &other) { *this = other; }
  OrderedMap(OrderedMap &&) noexcept = default;  // nodes move with their list, and the views into them stay
  OrderedMap &operator=(const OrderedMap &other) {
    if (this == &other) return *this;
    index_.clear();
    items_.clear();
    for (const auto &[key, value] : other) put(key, value);
    return *this;
  }
  OrderedMap &operator=(OrderedMap &&) noexcept = default;

  Value *find(std::string_view key) {
    const auto at = index_.find(key);
    return at == index_.end() ? nullptr : &at->second->second;
  }

  // True when the key is new.
  bool put(std::string_view key, Value value) {
    if (Value *present = find(key)) {
      *present = std::move(value);
      return false;
    }
    const auto place = items_.emplace(items_.end(), std::string(key), std::move(value));
    index_.emplace(std::string_view(place->first), place);
    return true;
  }

  bool erase(std::string_view key) {
    const auto at = index_.find(key);
    if (at == index_.end()) return false;
    const auto place = at->second;
    index_.erase(at);
    items_.erase(place);
    return true;
  }

  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  Items items_;
  std::unordered_map<std::string_view, typename Items::iterator>
      index_;  // views into items_, whose nodes stay
};

}  // namespace liblock_test::lua_shim
