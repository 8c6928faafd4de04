-- SPDX-License-Identifier: MIT
-- Part: the wait queue of a key. `queue` orders attempt ids by their sort keys; `entries` has for each
--   ticket|since|lease_ms|order|priority|instance|owner|number of the attempt|size of metadata|metadata, value
-- and for each instance, behind an 'i': when it was last heard of|alive_ms|1 = it hears messages; and under 't' the
-- last ticket.
-- `anyone` has instances that want to be woken when nobody is in the queue.
local function leave(key, id)
  redis.call('ZREM', key.queue, id)
  redis.call('HDEL', key.entries, id)
  if redis.call('EXISTS', key.queue) == 0 then redis.call('DEL', key.entries) end
end

-- Nobody is subscribed to it here. Who may be subscribed at a replica only would hear it from there, and a monitor
-- hears of everything by a pattern: PUBLISH counts both, though they are nobody.
local function is_deaf(channel)
  return tonumber(redis.pcall('PUBSUB', 'NUMSUB', channel)[2]) == 0
end

local function wake_anyone(key)
  for _ = 1, 4096 do
    local first = redis.call('ZPOPMIN', key.anyone)[1]
    if not first then return end
    local channel = 'll1:i:' .. first
    if not is_deaf(channel) and redis.call('PUBLISH', channel, 'w' .. key.lock) > 0 then return end
  end
end

-- Foreign clients cannot queue: so that they do not starve, a key that goes from hand to hand is left free once in a
-- while, and the next is only told. gap_ms < 0: never.
local function gap_is_due(key, now, gap_ms)
  if gap_ms < 0 then return false end
  local last = redis.call('GET', key.gap)
  if last and now - last < gap_ms * 1000 then return false end
  local ms = digits(math.max(10000, 2 * gap_ms))
  return not is_error(redis.pcall('SET', key.gap, digits(now), 'PX', ms)) and last ~= false
end

-- The key was left free, and whoever was told has not come yet.
local function is_promised(key, now)
  local last = redis.call('GET', key.gap)
  return last and now - last >= 0 and now - last < 20000
end

-- What of the lease is left that a waiter counts from when he was last heard of; nil: he is dead. And whether he hears
-- messages: he looks himself as soon as he does.
local function lease_left(key, now, lease_ms, instance)
  local heard = redis.call('HGET', key.entries, 'i' .. instance) or ''
  local seen, alive_ms, listens = string.match(heard, '^(%d+)|(%d+)|(%d)$')
  if not seen then return nil end
  local silent_ms = math.max(0, now - seen) / 1000
  local left = math.floor(lease_ms - silent_ms)
  if silent_ms >= tonumber(alive_ms) or left < lease_ms / 8 then return nil end
  return left, listens == '1'
end

-- Grants a free key to a waiter, with a block of tokens for those of its instance who get the key from hand to hand
-- (remote/front.hpp); nil: there is no memory for it.
local kTokenBlock = 256
local function grant_to(key, now, id, entry, left)
  local lease_ms, owner, size, rest = string.match(entry, '^%d+|%d+|(%d+)|%d+|%-?%d+|[^|]*|([^|]*)|%d+|(%d+)|()')
  local instance, number = string.match(entry, '^%d+|%d+|%d+|%d+|%-?%d+|([^|]*)|[^|]*|(%d+)|')
  local token = math.max(now, fence_of(key.fence) + 1)
  local last = token - 1 + kTokenBlock
  if last >= 9007199254740992 or is_error(raise_fence(key.fence, last, now)) then return nil end
  local record = record_of(id, token, owner, instance, now, lease_ms, string.sub(entry, rest + size))
  local metadata = string.sub(entry, rest, rest + size - 1)
  if is_error(write_record(key, record, left, metadata)) then return nil end
  local others = redis.call('ZCARD', key.queue) - 1
  return 'g' .. id .. number .. '|' .. digits(token) .. '|' .. left .. '|' .. others .. '|' .. key.lock
end

-- A key is free: the first in its queue who lives and listens gets it, or is told to come for it. The dead leave the
-- queue. `asking` is the attempt that the caller makes, or nil. False: nobody is before him, or nobody there at all.
local buried = 0
local function hand_on(key, now, gap_ms, asking)
  local gap
  for _ = 1, 4096 do
    local id = redis.call('ZRANGE', key.queue, 0, 0)[1]
    if not id or id == asking then return false end
    local entry = redis.call('HGET', key.entries, id) or ''
    local lease_ms, instance = string.match(entry, '^%d+|%d+|(%d+)|%d+|%-?%d+|([^|]*)|')
    local left, listens
    if lease_ms then left, listens = lease_left(key, now, tonumber(lease_ms), instance) end
    if left then
      if gap == nil then gap = gap_is_due(key, now, gap_ms) end
      local message = (not gap or not listens) and grant_to(key, now, id, entry, left)
      local channel = 'll1:i:' .. instance
      local heard = not listens or not is_deaf(channel)
      if heard then heard = redis.call('PUBLISH', channel, message or 'h' .. id .. key.lock) > 0 or not listens end
      if heard and message then leave(key, id) end
      if heard then return true end
      redis.call('DEL', key.lock, key.metadata)
    end
    leave(key, id)
    buried = buried + 1
  end
  return true
end

-- The same when the key was just given back.
local function free(key, now, gap_ms)
  redis.call('DEL', key.lock, key.metadata)
  if redis.call('EXISTS', key.queue, key.anyone) == 0 then return end
  if not hand_on(key, now, gap_ms, nil) then wake_anyone(key) end
end

-- Behind all that go first by their order; anew: behind everybody. Answers the ticket, which is never given twice.
local function enqueue(key, now, id, place)
  local ticket = place.ticket
  if ticket == 0 or place.anew then
    ticket = math.max(now, (tonumber(redis.call('HGET', key.entries, 't')) or 0) + 1)
    redis.call('HSET', key.entries, 't', digits(ticket))
  end
  local score = (place.order == 1 and -ticket or ticket) + place.offset
  if place.anew then
    local last = redis.call('ZRANGE', key.queue, -1, -1, 'WITHSCORES')[2]
    -- By as much as a number of that size can grow.
    score = math.max(ticket, last and last + math.max(1, math.abs(last) * 2 ^ -52) or 0)
  end
  redis.call('ZADD', key.queue, digits(score), id)
  return ticket
end

-- What was last heard of instances that are dead by now.
local function forget_dead(key, now)
  for _, field in ipairs(redis.call('HKEYS', key.entries)) do
    if string.sub(field, 1, 1) == 'i' then
      local seen, alive_ms = string.match(redis.call('HGET', key.entries, field), '^(%d+)|(%d+)|')
      if not seen or now - seen >= alive_ms * 1000 then redis.call('HDEL', key.entries, field) end
    end
  end
end

-- Its instance lives, and so does the queue. Processes come and go while a queue is never empty: before they are many,
-- those who are gone are forgotten.
local function heard_of(key, now, instance, alive_ms, listens)
  local heard = digits(now) .. '|' .. alive_ms .. '|' .. listens
  local is_new = redis.call('HSET', key.entries, 'i' .. instance, heard) == 1
  if is_new and redis.call('HLEN', key.entries) % 64 == 0 then forget_dead(key, now) end
  if redis.call('PTTL', key.entries) < tonumber(alive_ms) then
    redis.call('PEXPIRE', key.entries, alive_ms)
    redis.call('PEXPIRE', key.queue, alive_ms)
  end
end
