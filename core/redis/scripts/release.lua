-- SPDX-License-Identifier: MIT
-- Purpose: gives keys back that are still held under the given attempts; each goes to the next in its queue.
-- KEYS: (lock, fence, queue, entries, anyone, metadata, gap) of each key
-- ARGV: 1 foreign_gap_ms | 2 attempt id of each key; behind them, left out where there is neither, 1 = their places in
--   the queues are given up as well, and the instance that is not to be woken for free keys any more, or empty …
-- Returns: now: all were freed | now, then for each key: 0 = not held under this attempt, 1 = freed, or the error that
--   it makes
-- Uses: now, text, names, words, fence, grant, alone, hand_on
local count = #KEYS / 7
local gives_up, instance = ARGV[count + 2], ARGV[count + 3]
local answer, is_done, are_freed = {now}, not gives_up, true
-- Keys that nobody waits for: most are.
for n = 1, is_done and count or 0 do
  local at = (n - 1) * 7
  local held = redis.pcall('GET', KEYS[at + 1])
  if not held or held.err or string.sub(held, 1, 36) ~= 'll1|' .. ARGV[n + 1] then
    answer[n + 1], are_freed = 0, false
  elseif redis.call('EXISTS', KEYS[at + 3], KEYS[at + 5]) == 0 then
    redis.call('DEL', KEYS[at + 1], KEYS[at + 6])
    answer[n + 1] = 1
  else
    answer[n + 1], is_done = false, false
  end
end
if is_done then return are_freed and now or answer end
-- Here: text
-- Here: names
-- Here: words
-- Here: fence
-- Here: grant
-- Here: alone
-- Here: hand_on
local function give_back(n)
  local key = names((n - 1) * kNames + 1)
  local id = ARGV[n + 1]
  local held = redis.pcall('GET', key.lock)
  if gives_up == '1' then leave(key, id) end
  if instance and instance ~= '' then redis.call('ZREM', key.anyone, instance) end
  if type(held) == 'string' and string.sub(held, 1, 36) == 'll1|' .. id then
    free(key, now, tonumber(ARGV[1]))
    return 1
  end
  -- It may have been told to come for the key: the next is, instead.
  if gives_up == '1' and not held then free(key, now, -1) end
  return 0
end
for n = 1, count do
  if not answer[n + 1] then answer[n + 1] = alone(give_back, n) end
end
return answer
