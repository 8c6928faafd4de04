-- SPDX-License-Identifier: MIT
-- Purpose: says whether locks are still held under the given attempts.
-- KEYS: the locks
-- ARGV: 1 attempt id of each lock …
-- Returns: now, then for each lock: what is left of its lease in ms, -1 = no expiry, -3 = not held any more
-- Uses: clock
local answer = {server_now()}
for n = 1, #KEYS do
  local held = redis.pcall('GET', KEYS[n])
  answer[n + 1] = -3
  if type(held) == 'string' and string.sub(held, 1, 36) == 'll1|' .. ARGV[n] then
    answer[n + 1] = redis.call('PTTL', KEYS[n])
  end
end
return answer
