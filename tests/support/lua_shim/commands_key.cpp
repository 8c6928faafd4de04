// SPDX-License-Identifier: MIT
// Commands about keys of any type: whether they are there, until when, and which there are.
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>

#include "commands.hpp"
#include "errors.hpp"
#include "text.hpp"

namespace liblock_test::lua_shim {

namespace {

std::string_view type_name(const Value &value) {
  constexpr std::string_view kNames[] = {"string", "list", "hash", "set", "zset"};
  return kNames[value.data.index()];
}

struct ExpireOptions {
  bool if_none = false;
  bool if_some = false;
  bool if_greater = false;
  bool if_less = false;

  // The error, or nil.
  Reply parse(const Call &call) {
    for (size_t i = 3; i < call.count(); ++i) {
      if (same_name(call[i], "nx")) {
        if_none = true;
      } else if (same_name(call[i], "xx")) {
        if_some = true;
      } else if (same_name(call[i], "gt")) {
        if_greater = true;
      } else if (same_name(call[i], "lt")) {
        if_less = true;
      } else {
        return Reply::error("ERR Unsupported option " + std::string(call[i]));
      }
    }
    if (if_none && (if_some || if_greater || if_less)) {
      return Reply::error("ERR NX and XX, GT or LT options at the same time are not compatible");
    }
    if (if_greater && if_less)
      return Reply::error("ERR GT and LT options at the same time are not compatible");
    return {};
  }

  bool allows(int64_t present, int64_t wanted) const {
    if (if_none) return present == kNoExpiry;
    if (if_some && present == kNoExpiry) return false;
    // Without an expiry a key lives for ever, which is later than anything.
    if (if_greater) return present != kNoExpiry && wanted > present;
    if (if_less) return present == kNoExpiry || wanted < present;
    return true;
  }
};

Reply expire(const Call &call, int64_t unit_ms, bool absolute, std::string_view name) {
  ExpireOptions options;
  if (Reply error = options.parse(call); error.is_error()) return error;
  int64_t wanted = 0;
  if (!parse_int(call[2], wanted)) return not_an_integer();
  const Reply invalid = Reply::error("ERR invalid expire time in '" + std::string(name) + "' command");
  const int64_t base = absolute ? 0 : call.data().now_ms();
  if (__builtin_mul_overflow(wanted, unit_ms, &wanted)) return invalid;
  if (__builtin_add_overflow(wanted, base, &wanted)) return invalid;

  Value *value = call.data().find(call.key());
  if (value == nullptr || !options.allows(value->expire_ms, wanted)) return Reply::of(0);
  if (wanted <= call.data().now_ms()) {
    call.data().erase(call.key());
  } else {
    value->expire_ms = wanted;
  }
  return Reply::of(1);
}

Reply time_left(const Call &call, int64_t unit_ms) {
  const Value *value = call.data().find(call.key());
  if (value == nullptr) return Reply::of(-2);
  if (value->expire_ms == kNoExpiry) return Reply::of(-1);
  const int64_t left_ms = std::max<int64_t>(value->expire_ms - call.data().now_ms(), 0);
  return Reply::of((left_ms + unit_ms / 2) / unit_ms);
}

// As strtoul reads it, down to the empty text and numbers below zero.
bool parse_cursor(std::string_view text, uint64_t &cursor) {
  const std::string copy(text);
  char *end = nullptr;
  errno = 0;
  cursor = std::strtoull(copy.c_str(), &end, 10);
  return std::isspace(static_cast<unsigned char>(copy[0])) == 0 && *end == '\0' && errno == 0;
}

}  // namespace

Reply run_del(const Call &call) {
  int64_t erased = 0;
  for (size_t i = 1; i < call.count(); ++i) erased += call.data().erase(call[i]) ? 1 : 0;
  return Reply::of(erased);
}

Reply run_exists(const Call &call) {
  int64_t found = 0;
  for (size_t i = 1; i < call.count(); ++i) found += call.data().find(call[i]) != nullptr ? 1 : 0;
  return Reply::of(found);
}

Reply run_type(const Call &call) {
  const Value *value = call.data().find(call.key());
  return Reply::status(value == nullptr ? "none" : type_name(*value));
}

Reply run_pttl(const Call &call) { return time_left(call, 1); }
Reply run_ttl(const Call &call) { return time_left(call, 1000); }

Reply run_pexpiretime(const Call &call) {
  const Value *value = call.data().find(call.key());
  return Reply::of(value == nullptr ? -2 : value->expire_ms);
}

Reply run_pexpire(const Call &call) { return expire(call, 1, false, "pexpire"); }
Reply run_expire(const Call &call) { return expire(call, 1000, false, "expire"); }
Reply run_pexpireat(const Call &call) { return expire(call, 1, true, "pexpireat"); }

Reply run_persist(const Call &call) {
  Value *value = call.data().find(call.key());
  if (value == nullptr || value->expire_ms == kNoExpiry) return Reply::of(0);
  value->expire_ms = kNoExpiry;
  return Reply::of(1);
}

Reply run_scan(const Call &call) {
  uint64_t cursor = 0;
  if (!parse_cursor(call[1], cursor)) return Reply::error("ERR invalid cursor");
  int64_t count = 10;
  std::string_view pattern = "*";
  std::string type;
  for (size_t i = 2; i < call.count(); i += 2) {
    if (i + 1 == call.count()) return syntax_error();
    if (same_name(call[i], "count")) {
      if (!parse_int(call[i + 1], count)) return not_an_integer();
      if (count < 1) return syntax_error();
    } else if (same_name(call[i], "match")) {
      pattern = call[i + 1];
    } else if (same_name(call[i], "type")) {
      type = lower_case(call[i + 1]);
    } else {
      return syntax_error();
    }
  }
  std::vector<Reply> keys;
  cursor = call.data().scan(cursor, count, [&](std::string_view key, const Value &value) {
    if (!type.empty() && type != type_name(value)) return;
    if (matches(pattern, key)) keys.push_back(Reply::string(key));
  });
  return Reply::array({Reply::string(std::to_string(cursor)), Reply::array(std::move(keys))});
}

Reply run_dbsize(const Call &call) { return Reply::of(static_cast<int64_t>(call.data().size())); }

Reply run_flushall(const Call &call) {
  if (call.count() > 2 ||
      (call.count() == 2 && !same_name(call[1], "sync") && !same_name(call[1], "async"))) {
    return syntax_error();
  }
  call.data().clear();
  return Reply::ok();
}

}  // namespace liblock_test::lua_shim
