-- SPDX-License-Identifier: MIT
-- Purpose: shows who holds and who waits, of several keys at once.
-- KEYS: node; (lock, fence, metadata, tickets, alive, claim, promise) of each key
-- ARGV: 1 who, or empty = whoever it is | 2 how many of those who wait are named | 3 1 = say also whether anybody
--   listens for the holder's instance
-- Returns: now, then for each key: record (8 KiB of it: ours are shorter; empty where the key is no string), or nil;
--   PTTL; how many wait; metadata as names and values; 1 = somebody listens for the holder's instance, 0 = nobody,
--   -1 = not known; of each who waits, in their order: id in the line, ticket, until when it counts as
--   alive|instance|owner | CONFIG, now, who it is instead
-- Uses: now, text, node, names, listens
if ARGV[1] ~= '' then
  local known = redis.call('HGET', kMark, 'who')
  if known ~= ARGV[1] then return {'CONFIG', now, known or ''} end
end
local function named_waiters(key)
  local named = {}
  if ARGV[2] == '0' then return named end
  local line = redis.call('ZRANGE', key.tickets, 0, ARGV[2] - 1, 'WITHSCORES')
  for n = 1, #line, 2 do
    named[#named + 1] = line[n]
    named[#named + 1] = digits(tonumber(line[n + 1]))
    named[#named + 1] = redis.call('HGET', key.alive, line[n]) or ''
  end
  return named
end
local answer = {now}
for n = 1, (#KEYS - 1) / kNames do
  local key, heard_of = names(n), -1
  local held = redis.pcall('GET', key.lock)
  if type(held) == 'table' then held = '' end
  if held then
    held = string.sub(held, 1, 8192)
    local instance = ARGV[3] == '1' and string.match(held, '^ll1|%x+|%x+|%d+|[^|]*|([^|]*)|')
    if instance then heard_of = listens(instance) end
  end
  answer[n + 1] = {held, redis.call('PTTL', key.lock), redis.call('ZCARD', key.tickets),
    redis.call('HGETALL', key.metadata), heard_of, named_waiters(key)}
end
return answer
