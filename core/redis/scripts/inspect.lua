-- SPDX-License-Identifier: MIT
-- Purpose: shows who holds and how many wait, of several keys at once.
-- KEYS: (lock, queue, metadata) of each key
-- ARGV:
-- Returns: for each key: record (8 KiB of it: ours are shorter) or nil, PTTL, number of waiters, metadata
--   as names and values | an error when a key holds something that is not a lock
local answer = {}
for i = 1, #KEYS, 3 do
  local held = redis.pcall('GET', KEYS[i])
  if type(held) == 'table' then return held end
  if held then held = string.sub(held, 1, 8192) end
  local left, waiters = redis.call('PTTL', KEYS[i]), redis.call('ZCARD', KEYS[i + 1])
  answer[(i + 2) / 3] = {held, left, waiters, redis.call('HGETALL', KEYS[i + 2])}
end
return answer
