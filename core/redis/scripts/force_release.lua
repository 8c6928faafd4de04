-- SPDX-License-Identifier: MIT
-- Purpose: takes a key away from whoever holds it and tells his instance; it goes to the next in its queue.
-- KEYS: lock, fence, queue, entries, anyone, metadata, gap
-- ARGV: 1 1 = the waiters are sent away as well | 2 attempt id that must hold it, or empty = whoever does
-- Returns: 1 when somebody held it, else 0 | an error
-- Uses: clock, text, names, words, fence, grant, hand_on
local key = names(1)
local held = redis.pcall('GET', key.lock)
if is_error(held) then return held end
local fits = held and (ARGV[2] == '' or string.sub(held, 1, 36) == 'll1|' .. ARGV[2])
local instance = fits and string.match(held, '^ll1|%x+|%x+|%d+|[^|]*|([^|]*)|')
if instance then redis.call('PUBLISH', 'll1:i:' .. instance, 'l' .. key.lock) end
if ARGV[1] == '1' then
  -- The holder's instance has waiters that stand in its front, and no place in the queue.
  local told = redis.call('ZRANGE', key.anyone, 0, -1)
  local holder = type(held) == 'string' and string.match(held, '^ll1|%x+|%x+|%d+|[^|]*|([^|]*)|')
  if holder then told[#told + 1] = holder end
  for _, field in ipairs(redis.call('HKEYS', key.entries)) do
    if string.sub(field, 1, 1) == 'i' then told[#told + 1] = string.sub(field, 2) end
  end
  local message = 'd' .. digits(server_now()) .. '|' .. key.lock
  for _, waiter in ipairs(told) do redis.call('PUBLISH', 'll1:i:' .. waiter, message) end
  redis.call('DEL', key.queue, key.entries, key.anyone)
end
if fits then free(key, server_now(), -1) end
return fits and 1 or 0
