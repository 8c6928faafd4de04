-- SPDX-License-Identifier: MIT
-- Purpose: gives keys back that are held under the given attempts; whoever is next is called, and the key kept for him
--   for a moment. It is never refused: what is not there any more is not touched.
-- KEYS: node; (lock, fence, metadata, tickets, alive, claim, promise) of each key
-- ARGV: 1 claim_ms | 2 id in the lines that is given up as well, or empty | 3 attempt id of each key …
-- Returns: now: all were freed | now, then for each key: 0 = not held under this attempt, 1 = freed, or the error that
--   it makes
-- Uses: now, text, held, names, line, call, alone
local function give_back(n)
  local key = names(n)
  local held = redis.pcall('GET', key.lock)
  local was_kept, is_freed = false, 0
  if ARGV[2] ~= '' then
    was_kept = redis.call('GET', key.claim) == ARGV[2]
    leave_line(key, ARGV[2])
  end
  if is_of(held, ARGV[n + 2]) then
    redis.call('DEL', key.lock, key.metadata, key.promise)
    is_freed = 1
  end
  local is_free = is_freed == 1 or (was_kept and not held)
  if is_free and redis.call('EXISTS', key.tickets) == 1 then call_next(key, now, ARGV[1]) end
  return is_freed
end
local answer, are_freed = {now}, true
for n = 1, (#KEYS - 1) / kNames do
  answer[n + 1] = alone(give_back, n)
  are_freed = are_freed and answer[n + 1] == 1
end
return are_freed and now or answer
