-- SPDX-License-Identifier: MIT
-- Purpose: gives keys back that are still held under the given attempts; each goes to the next in its queue.
-- KEYS: (lock, fence, queue, entries, anyone, metadata, gap) of each key
-- ARGV: 1 foreign_gap_ms | 2 1 = their places in the queues are given up as well |
--   3 instance that is not to be woken for free keys any more, or empty | 4 attempt id of each key …
-- Returns: now, then for each key: 0 = not held under this attempt, 1 = freed
-- Uses: clock, text, names, words, grant, hand_on
local now = server_now()
-- One key that nobody waits for: most are.
if #KEYS == kNames and ARGV[2] == '0' and ARGV[3] == '' then
  local held = redis.pcall('GET', KEYS[1])
  if type(held) ~= 'string' or string.sub(held, 1, 36) ~= 'll1|' .. ARGV[4] then return {now, 0} end
  if redis.call('EXISTS', KEYS[3], KEYS[5]) == 0 then
    redis.call('DEL', KEYS[1], KEYS[6])
    return {now, 1}
  end
end
-- Here: hand_on
local answer = {now}
for n = 1, #KEYS / kNames do
  local key = names((n - 1) * kNames + 1)
  local id = ARGV[n + 3]
  local held = redis.pcall('GET', key.lock)
  answer[n + 1] = 0
  if ARGV[2] == '1' then leave(key, id) end
  if ARGV[3] ~= '' then redis.call('ZREM', key.anyone, ARGV[3]) end
  if type(held) == 'string' and string.sub(held, 1, 36) == 'll1|' .. id then
    free(key, now, tonumber(ARGV[1]))
    answer[n + 1] = 1
  elseif ARGV[2] == '1' and not held then
    -- It may have been told to come for the key: the next is, instead.
    free(key, now, -1)
  end
end
return answer
