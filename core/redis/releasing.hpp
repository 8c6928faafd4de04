// SPDX-License-Identifier: MIT
// What the release script answers: the server's time, and of each key whether it was held under its attempt; the time
// alone where all were. One whose queue is none, or that may not be written, answers what is wrong with it, and the
// others are given back all the same.
#pragma once

#include "base/clock.hpp"
#include "redis/reply.hpp"

namespace liblock {

bool fits_release(const Reply &reply, size_t keys);
int64_t time_of_release(const Reply &reply);
bool is_freed(const Reply &reply, size_t key);
// What it may be long: a text for each key.
ReplyLimits limits_of_release(size_t keys);
// How long a cleaner waits behind a call that failed, and, at most, for a server whose clock is behind.
inline constexpr Nanos kCleaningPause = 200 * kMillisecond;
inline constexpr Nanos kCleaningPatience = 2'000 * kMillisecond;
// The first of so many keys, from that one on, with which something is wrong; nullptr: none.
const Reply *wrong_in_release(const Reply &reply, size_t from, size_t keys);

}  // namespace liblock
