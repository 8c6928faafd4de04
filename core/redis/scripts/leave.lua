-- SPDX-License-Identifier: MIT
-- Purpose: an instance stops waiting for a key. Where the key is free, it may have been woken for it: the next
-- is woken instead.
-- KEYS: lock, waiters
-- ARGV: 1 instance
-- Returns: 1 when it was among the waiters, else 0
-- Uses: wake
local was = redis.call('ZREM', KEYS[2], ARGV[1])
if redis.call('EXISTS', KEYS[1]) == 0 then wake(KEYS[2], KEYS[1], ARGV[1]) end
return was
