-- SPDX-License-Identifier: MIT
-- Purpose: gives keys back that are still held under the given attempts, and wakes the next waiter of each.
-- KEYS: (lock, waiters, metadata) of each key
-- ARGV: 1 instance | 2 attempt id of each key …
-- Returns: now, then for each key: 0 = not held under this attempt, 1 = freed, 2 = freed and the caller is next
-- Uses: clock, wake
local answer = {server_now()}
for i = 1, #KEYS, 3 do
  local n = (i + 2) / 3
  local held = redis.pcall('GET', KEYS[i])
  answer[n + 1] = 0
  if type(held) == 'string' and string.sub(held, 1, 36) == 'll1|' .. ARGV[n + 1] then
    redis.call('DEL', KEYS[i], KEYS[i + 2])
    answer[n + 1] = 1 + wake(KEYS[i + 1], KEYS[i], ARGV[1])
  end
end
return answer
