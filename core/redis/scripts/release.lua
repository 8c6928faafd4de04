-- SPDX-License-Identifier: MIT
-- Purpose: gives keys back that are still held under the given attempts; each goes to the next in its queue.
-- KEYS: (lock, fence, queue, entries, anyone, metadata, gap) of each key
-- ARGV: 1 foreign_gap_ms | 2 1 = their places in the queues are given up as well |
--   3 instance that is not to be woken for free keys any more, or empty | 4 attempt id of each key …
-- Returns: now, then for each key: 0 = not held under this attempt, 1 = freed, or the error that it makes
-- Uses: clock, text, names, words, grant, alone, hand_on
local now = server_now()
local answer = {now}
-- Keys that nobody waits for: most are.
if ARGV[2] == '0' and ARGV[3] == '' then
  local is_done = true
  for n = 1, #KEYS / kNames do
    local at = (n - 1) * kNames
    local held = redis.pcall('GET', KEYS[at + 1])
    if type(held) ~= 'string' or string.sub(held, 1, 36) ~= 'll1|' .. ARGV[n + 3] then
      answer[n + 1] = 0
    elseif redis.call('EXISTS', KEYS[at + 3], KEYS[at + 5]) == 0 then
      redis.call('DEL', KEYS[at + 1], KEYS[at + 6])
      answer[n + 1] = 1
    else
      answer[n + 1], is_done = false, false
    end
  end
  if is_done then return answer end
end
-- Here: alone
-- Here: hand_on
local function give_back(n)
  local key = names((n - 1) * kNames + 1)
  local id = ARGV[n + 3]
  local held = redis.pcall('GET', key.lock)
  if ARGV[2] == '1' then leave(key, id) end
  if ARGV[3] ~= '' then redis.call('ZREM', key.anyone, ARGV[3]) end
  if type(held) == 'string' and string.sub(held, 1, 36) == 'll1|' .. id then
    free(key, now, tonumber(ARGV[1]))
    return 1
  end
  -- It may have been told to come for the key: the next is, instead.
  if ARGV[2] == '1' and not held then free(key, now, -1) end
  return 0
end
for n = 1, #KEYS / kNames do
  if not answer[n + 1] then answer[n + 1] = alone(give_back, n) end
end
return answer
