-- SPDX-License-Identifier: MIT
-- Purpose: an instance says that it lives, and hears which others have been silent for too long and are listened for by
--   nobody. One of those who hear it gets the turn to flush them; where he goes silent himself, the turn passes on.
-- KEYS: instances by when they are to count as silent, whose turn it is
-- ARGV: 1 this instance as a member: ID|INTERVAL_MS | 2 how long it may be silent, in us | 3 how long a turn lasts, in
--   ms, 0 = it wants none, and gives back what it has | 4 how many of the silent to pass over | 5 how many to look at |
--   6 members whose flush is over …
-- Returns: now, 1 = this instance has the turn, how many silent ones were looked at, then the members that are dead
-- Uses: clock, listens
local now = server_now()
local function id_of(member) return string.match(member, '^[^|]*') end
local self, day_us = id_of(ARGV[1]), 86400000000
redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(ARGV[2])), ARGV[1])
redis.call('PEXPIRE', KEYS[1], day_us / 1000)
for n = 6, #ARGV do
  local silent_at = redis.call('ZSCORE', KEYS[1], ARGV[n])
  if silent_at and tonumber(silent_at) <= now then redis.call('ZREM', KEYS[1], ARGV[n]) end
end
local wants = ARGV[3] ~= '0'
if (#ARGV > 5 or not wants) and redis.call('GET', KEYS[2]) == self then redis.call('DEL', KEYS[2]) end
local silent = redis.call('ZRANGE', KEYS[1], '-inf', string.format('%.0f', now), 'BYSCORE', 'LIMIT', ARGV[4], ARGV[5],
  'WITHSCORES')
local answer = {now, 0, #silent / 2}
for n = 1, #silent, 2 do
  if listens(id_of(silent[n])) == 0 then
    answer[#answer + 1] = silent[n]
  elseif now - tonumber(silent[n + 1]) > day_us then
    -- Stopped for a day, or the server does not tell who listens: nobody will ever flush it.
    redis.call('ZREM', KEYS[1], silent[n])
  end
end
if #answer > 3 and wants then
  local whose = redis.call('GET', KEYS[2])
  if not whose or whose == self then
    redis.call('SET', KEYS[2], self, 'PX', ARGV[3])
    answer[2] = 1
  end
end
return answer
