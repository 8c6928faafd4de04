// SPDX-License-Identifier: MIT
// What is wrong with what a caller gave, in words for people, where there is a result to put them in. wrong_…():
// nullptr where nothing is.
#pragma once

#include "boundary.hpp"

namespace liblock::capi {

inline Status refused(std::string &message, const char *why) {
  message = why;
  return Status::INVALID_ARGUMENT;
}
inline Status refused(Outcome &outcome, const char *why) { return refused(outcome.message, why); }

constexpr const char *kNoContext = "context is NULL; liblock_open makes one";
constexpr const char *kWrongExtend = "flags must be LIBLOCK_EXTEND_SET or LIBLOCK_EXTEND_ADD";
constexpr const char *kWrongWait = "wait_ms must be 0 and more, or -1 for ever";

// As usable() without words.
inline Status usable(const liblock_context *context, std::string &message) {
  return context == nullptr ? refused(message, kNoContext) : usable(context);
}
inline Status usable(const liblock_context *context, Outcome &outcome) {
  return usable(context, outcome.message);
}

inline const char *wrong_key(const void *key, size_t size) {
  if (key == nullptr) return "the key is NULL; it has 1 to 512 bytes";
  if (size == 0) return "the key is empty; it has 1 to 512 bytes";
  return size > kKeyMax ? "the key is longer than 512 bytes; a hash of it is as good" : nullptr;
}

inline const char *wrong_count(const liblock_bytes *keys, size_t count) {
  if (keys == nullptr || count == 0) return "there are no keys; give 1 to 1,024";
  return count > kKeysMax ? "there are more than 1,024 keys; give them to several calls" : nullptr;
}

inline const char *wrong_value(const void *value, size_t size) {
  if (value == nullptr && size != 0) return "the value is NULL, but its size is not 0";
  return size > kValueMax ? "the value is longer than 4,096 bytes; store it elsewhere, and its name here" : nullptr;
}

inline const char *wrong_place(const void *place) {
  return place == nullptr ? "a pointer is NULL that tells where the answer is to go" : nullptr;
}

}  // namespace liblock::capi
