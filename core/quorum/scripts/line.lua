-- SPDX-License-Identifier: MIT
-- Part: those who wait for a key. `tickets` orders them alike on all nodes, by a time that each brought along; `alive`
-- has for each: until when it counts as alive|instance|owner. `claim` is whom the key, free, is kept for.

-- The dead leave, a few in each call. Answers who is first and his ticket; nil: nobody.
local function first_in_line(key, now)
  for _ = 1, 16 do
    local first = redis.call('ZRANGE', key.tickets, 0, 0, 'WITHSCORES')
    if not first[1] then return nil end
    local until_us = string.match(redis.call('HGET', key.alive, first[1]) or '', '^(%d+)|')
    if until_us and tonumber(until_us) >= now then return first[1], tonumber(first[2]) end
    redis.call('ZREM', key.tickets, first[1])
    redis.call('HDEL', key.alive, first[1])
  end
  return nil
end

local function leave_line(key, waiter)
  if redis.call('ZREM', key.tickets, waiter) == 1 then redis.call('HDEL', key.alive, waiter) end
  if redis.call('GET', key.claim) == waiter then redis.call('DEL', key.claim) end
end
