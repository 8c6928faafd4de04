-- SPDX-License-Identifier: MIT
-- Purpose: takes a key away from whoever holds it, tells his instance, and wakes the next waiter.
-- KEYS: lock, waiters, metadata
-- ARGV: 1 1 = the waiters are sent away as well | 2 attempt id that must hold it, or empty = whoever does
-- Returns: 1 when somebody held it, else 0 | an error
-- Uses: wake
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then return held end
local fits = held and (ARGV[2] == '' or string.sub(held, 1, 36) == 'll1|' .. ARGV[2])
if fits then
  redis.call('DEL', KEYS[1], KEYS[3])
  local instance = string.match(held, '^ll1|%x+|%x+|%d+|[^|]*|([^|]*)|')
  if instance then redis.call('PUBLISH', 'll1:i:' .. instance, 'l' .. KEYS[1]) end
end
if ARGV[1] == '1' then
  for _, waiter in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
    redis.call('PUBLISH', 'll1:i:' .. waiter, 'd' .. KEYS[1])
  end
  redis.call('DEL', KEYS[2])
elseif fits then
  wake(KEYS[2], KEYS[1], '')
end
return fits and 1 or 0
