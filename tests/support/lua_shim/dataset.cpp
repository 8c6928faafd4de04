// SPDX-License-Identifier: MIT
// Looking is what expires: every access goes through find.
#include "dataset.hpp"

namespace liblock_test::lua_shim {

Value *Dataset::find(std::string_view key) {
  const auto at = keys_.find(key);
  if (at == keys_.end()) return nullptr;
  if (at->second.expire_ms != kNoExpiry && now_ms() > at->second.expire_ms) {
    erase(at);
    return nullptr;
  }
  return &at->second;
}

Value &Dataset::find_or_make(std::string_view key) {
  if (Value *present = find(key)) return *present;
  const auto at = keys_.emplace(std::string(key), Value{}).first;
  at->second.number = next_number_++;
  by_number_.emplace(at->second.number, std::string_view(at->first));
  return at->second;
}

void Dataset::erase(Keys::iterator at) {
  by_number_.erase(at->second.number);
  keys_.erase(at);
}

bool Dataset::erase(std::string_view key) {
  if (find(key) == nullptr) return false;
  erase(keys_.find(key));
  return true;
}

void Dataset::clear() {
  by_number_.clear();
  keys_.clear();
}

void Dataset::take_keys_of(const Dataset &other) {
  keys_ = other.keys_;
  by_number_.clear();
  for (const auto &[key, value] : keys_) by_number_.emplace(value.number, std::string_view(key));
  next_number_ = other.next_number_;
}

size_t Dataset::size() {
  size_t count = 0;
  scan(0, INT64_MAX, [&](std::string_view, const Value &) { ++count; });
  return count;
}

}  // namespace liblock_test::lua_shim
