-- SPDX-License-Identifier: MIT
-- Purpose: takes all the keys at once, or says which one is busy and has the caller woken when it is freed.
-- KEYS: (lock, fence, waiters, metadata) of each key, sorted by key; then the fences of keys that the owner holds
--   already, which the new token counts for as well
-- ARGV: 1 attempt id | 2 owner | 3 instance | 4 ttl_ms, 0 = none | 5 not_after | 6 least token |
--   7 tokens to reserve | 8 0 = do not wait, 1 = wait from now on, else since when | 9 alive_ms |
--   10 on a grant: leave or stay among the waiters, or none | 11 value |
--   12 number of fences at the end of KEYS | 13 names and values of metadata …
-- Returns: OK, now, token | BUSY, now, index of the key, PTTL of its holder, since when, place, 1 = held by
--   a foreign client | LATE, now | an error
-- Uses: clock
local now = server_now()
if now > tonumber(ARGV[5]) then return {'LATE', now} end
local ours = 'll1|' .. ARGV[1]
local taken = #KEYS - ARGV[12]
for i = 1, taken, 4 do
  local held = redis.pcall('GET', KEYS[i])
  if type(held) == 'table' then return held end
  if held and string.sub(held, 1, 36) == ours then
    return {'OK', now, tonumber(string.match(held, '^ll1|%x+|%x+|(%d+)|'))}
  end
  if held then
    local since, place = tonumber(ARGV[8]), -1
    if since > 0 then
      if since == 1 then since = now end
      redis.call('ZADD', KEYS[i + 2], 'NX', string.format('%.0f', since), ARGV[3])
      redis.call('PEXPIRE', KEYS[i + 2], ARGV[9])
      place = redis.call('ZRANK', KEYS[i + 2], ARGV[3])
    end
    local foreign = string.sub(held, 1, 4) ~= 'll1|' and 1 or 0
    return {'BUSY', now, (i + 3) / 4, redis.call('PTTL', KEYS[i]), since, place, foreign}
  end
end
local fences = {}
for i = 1, taken, 4 do fences[#fences + 1] = KEYS[i + 1] end
for i = taken + 1, #KEYS do fences[#fences + 1] = KEYS[i] end
local token = math.max(now, tonumber(ARGV[6]))
for _, key in ipairs(fences) do
  local fence = tonumber(redis.call('GET', key) or 0) or 0
  if fence >= token then token = fence + 1 end
end
local last = token + ARGV[7] - 1
if last >= 9007199254740992 then return redis.error_reply('LIBLOCK the fencing tokens of this key are used up') end
local record = table.concat({ours, '00000000', string.format('%.0f', token), ARGV[2], ARGV[3], ARGV[11]}, '|')
-- A fence outlives its lead over the clock: when it is gone, the clock alone gives larger tokens.
local fence_ms = string.format('%.0f', 86400000 + math.max(0, (last - now) / 1000))
for _, key in ipairs(fences) do redis.call('SET', key, string.format('%.0f', last), 'PX', fence_ms) end
for i = 1, taken, 4 do
  if ARGV[4] == '0' then
    redis.call('SET', KEYS[i], record)
  else
    redis.call('SET', KEYS[i], record, 'PX', ARGV[4])
  end
  if #ARGV > 12 then
    redis.call('DEL', KEYS[i + 3])
    redis.call('HSET', KEYS[i + 3], unpack(ARGV, 13))
    if ARGV[4] ~= '0' then redis.call('PEXPIRE', KEYS[i + 3], ARGV[4]) end
  end
  if ARGV[10] == 'leave' then
    redis.call('ZREM', KEYS[i + 2], ARGV[3])
  elseif ARGV[10] == 'stay' then
    redis.call('ZADD', KEYS[i + 2], 'NX', string.format('%.0f', now), ARGV[3])
    redis.call('PEXPIRE', KEYS[i + 2], ARGV[9])
  end
end
return {'OK', now, token}
