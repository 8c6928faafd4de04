-- SPDX-License-Identifier: MIT
-- Purpose: waiters of one instance are still there. A key that has become free meanwhile is handed on.
-- KEYS: (lock, fence, queue, entries, anyone, metadata, gap) of each key; then locks that are kept while waiting
-- ARGV: 1 not_after | 2 instance | 3 alive_ms | 4 number of keys | 5 1 = the instance hears messages |
--   6 for each key the number of its waiters and their attempt ids; then for each lock that is kept its attempt id and
--   lease_ms …
-- Returns: OK, now, then for each key: {PTTL of its holder, 1 = a foreign client, length of its queue,
--   place of each waiter or -1}, then for each lock that is kept 1, or 0 = it is not held any more | LATE, now
-- Uses: clock, text, names, words, fence, grant, hand_on
local now = server_now()
if now > tonumber(ARGV[1]) then return {'LATE', now} end
local answer = {'OK', now}
local at = 6
for n = 1, tonumber(ARGV[4]) do
  local key = names((n - 1) * kNames + 1)
  local waiters = tonumber(ARGV[at])
  if redis.call('EXISTS', key.queue) == 1 then heard_of(key, now, ARGV[2], ARGV[3], ARGV[5]) end
  local held = redis.pcall('GET', key.lock)
  if not held and not is_promised(key, now) then
    hand_on(key, now, -1, nil)
    held = redis.pcall('GET', key.lock)
  end
  local is_foreign = held and (type(held) ~= 'string' or string.sub(held, 1, 4) ~= 'll1|')
  local seen = {redis.call('PTTL', key.lock), is_foreign and 1 or 0, redis.call('ZCARD', key.queue)}
  for w = 1, waiters do seen[w + 3] = redis.call('ZRANK', key.queue, ARGV[at + w]) or -1 end
  answer[n + 2] = seen
  at = at + 1 + waiters
end
for i = ARGV[4] * kNames + 1, #KEYS do
  local held = redis.pcall('GET', KEYS[i])
  local is_held = type(held) == 'string' and string.sub(held, 1, 36) == 'll1|' .. ARGV[at]
  -- Late, it may have been granted whole meanwhile: never for less.
  local left = is_held and redis.call('PTTL', KEYS[i]) or -1
  if left >= 0 and left < tonumber(ARGV[at + 1]) then redis.call('PEXPIRE', KEYS[i], ARGV[at + 1]) end
  answer[#answer + 1] = is_held and 1 or 0
  at = at + 2
end
return answer
