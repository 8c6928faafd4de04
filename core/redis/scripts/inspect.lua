-- SPDX-License-Identifier: MIT
-- Purpose: shows who holds and how many wait, of several keys at once.
-- KEYS: (lock, anyone, queue, metadata) of each key
-- ARGV: 1 1 = say also whether anybody listens for the holder's instance, 2 = pass over what is not a lock, 3 = both
-- Returns: now, then for each key: record (8 KiB of it: ours are shorter) or nil, PTTL, number of instances that want
--   any free key, number of requests in the queue, 1 = somebody listens for the holder's instance, 0 = nobody, -1 =
--   not known, metadata as names and values, how many stand in line for it within the holder's instance | an error
--   when a key holds what is no lock, unless that is passed over
-- Uses: clock, listens
local answer = {server_now()}
for i = 1, #KEYS, 4 do
  local held = redis.pcall('GET', KEYS[i])
  if type(held) == 'table' then
    if ARGV[1] < '2' then return held end
    held = false
  end
  local heard_of = -1
  if held then
    held = string.sub(held, 1, 8192)
    local tells = ARGV[1] == '1' or ARGV[1] == '3'
    local instance = tells and string.match(held, '^ll1|%x+|%x+|%d+|[^|]*|([^|]*)|')
    if instance then heard_of = listens(instance) end
  end
  local left = redis.call('PTTL', KEYS[i])
  local waiters, queued = redis.call('ZCARD', KEYS[i + 1]), redis.call('ZCARD', KEYS[i + 2])
  answer[#answer + 1] = {held, left, waiters, queued, heard_of, redis.call('HGETALL', KEYS[i + 3]),
    tonumber(held and string.match(held, '^ll1|%x+|%x+|%d+|[^|]*|[^|]*|@%d+,%d+,(%d+)|')) or 0}
end
return answer
