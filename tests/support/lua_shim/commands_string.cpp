// SPDX-License-Identifier: MIT
// Strings and counters. SET reads its options before it looks at the key, as Redis does.
#include "commands.hpp"
#include "errors.hpp"
#include "text.hpp"

namespace liblock_test::lua_shim {

namespace {

struct SetOptions {
  bool if_absent = false;
  bool if_present = false;
  bool get = false;
  bool keep_ttl = false;
  std::string_view unit;  // ex, px, exat, pxat
  std::string_view amount;

  bool parse(const Call &call) {
    for (size_t i = 3; i < call.count(); ++i) {
      const std::string word = lower_case(call[i]);
      if (word == "nx" && !if_present) {
        if_absent = true;
      } else if (word == "xx" && !if_absent) {
        if_present = true;
      } else if (word == "get") {
        get = true;
      } else if (word == "keepttl" && unit.empty()) {
        keep_ttl = true;
      } else if (!takes_unit(word) || i + 1 == call.count()) {
        return false;
      } else {
        amount = call[++i];
      }
    }
    return true;
  }

  // The error, or nil.
  Reply expiry(int64_t now_ms, int64_t &at_ms) const {
    at_ms = kNoExpiry;
    if (unit.empty()) return {};
    if (!parse_int(amount, at_ms)) return not_an_integer();
    const bool seconds = unit.starts_with('e');
    const bool absolute = unit.ends_with("at");
    if (at_ms <= 0 || __builtin_mul_overflow(at_ms, seconds ? 1000 : 1, &at_ms) ||
        __builtin_add_overflow(at_ms, absolute ? 0 : now_ms, &at_ms)) {
      return Reply::error("ERR invalid expire time in 'set' command");
    }
    return {};
  }

 private:
  bool takes_unit(std::string_view word) {
    for (const std::string_view known : {"ex", "px", "exat", "pxat"}) {
      if (word != known || keep_ttl || (!unit.empty() && unit != known)) continue;
      unit = known;
      return true;
    }
    return false;
  }
};

Reply old_string(const Call &call) {
  const auto found = call.data().find_as<std::string>(call.key());
  if (found.wrong_type) return wrong_type();
  return found ? Reply::string(*found.data) : Reply::nil();
}

Reply add(const Call &call, int64_t amount) {
  const auto found = call.data().find_as<std::string>(call.key());
  if (found.wrong_type) return wrong_type();
  int64_t number = 0;
  if (found && !parse_int(*found.data, number)) return not_an_integer();
  if (__builtin_add_overflow(number, amount, &number)) return would_overflow();
  call.data().find_or_make(call.key()).data = std::to_string(number);
  return Reply::of(number);
}

}  // namespace

Reply run_get(const Call &call) { return old_string(call); }

Reply run_set(const Call &call) {
  SetOptions options;
  if (!options.parse(call)) return syntax_error();
  int64_t expire_ms = kNoExpiry;
  if (Reply error = options.expiry(call.data().now_ms(), expire_ms); error.is_error()) return error;
  Reply old;
  if (options.get) {
    old = old_string(call);
    if (old.is_error()) return old;
  }
  const bool present = call.data().find(call.key()) != nullptr;
  if ((options.if_absent && present) || (options.if_present && !present)) return old;
  Value &value = call.data().find_or_make(call.key());
  value.data = std::string(call[2]);
  if (!options.keep_ttl) value.expire_ms = expire_ms;
  return options.get ? old : Reply::ok();
}

Reply run_setnx(const Call &call) {
  if (call.data().find(call.key()) != nullptr) return Reply::of(0);
  call.data().find_or_make(call.key()).data = std::string(call[2]);
  return Reply::of(1);
}

Reply run_getdel(const Call &call) {
  Reply old = old_string(call);
  if (!old.is_error()) call.data().erase(call.key());
  return old;
}

Reply run_mget(const Call &call) {
  std::vector<Reply> values;
  for (size_t i = 1; i < call.count(); ++i) {
    const auto found = call.data().find_as<std::string>(call[i]);
    values.push_back(found ? Reply::string(*found.data) : Reply::nil());
  }
  return Reply::array(std::move(values));
}

Reply run_incr(const Call &call) { return add(call, 1); }
Reply run_decr(const Call &call) { return add(call, -1); }

Reply run_incrby(const Call &call) {
  int64_t amount = 0;
  if (!parse_int(call[2], amount)) return not_an_integer();
  return add(call, amount);
}

Reply run_decrby(const Call &call) {
  int64_t amount = 0;
  if (!parse_int(call[2], amount)) return not_an_integer();
  if (amount == INT64_MIN) return Reply::error("ERR decrement would overflow");
  return add(call, -amount);
}

}  // namespace liblock_test::lua_shim
