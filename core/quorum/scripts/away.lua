-- SPDX-License-Identifier: MIT
-- Part: taking locks away, and sending those away who wait, as an administrator wants.

-- From now on a renewal with this token does not write the lock anew; nor with one of those behind it, which its
-- instance may have given out, from hand to hand, before it could tell.
local kAhead = 4096
local function refuse_renewals(key, token)
  if token <= 0 then return end
  local refused = math.max(token + kAhead, register_of(key)) + 1
  raise_register(key, refused)
  raise_high(refused)
end

-- Whoever is just being granted it gets a larger token here than where his vote is taken away: he must raise them to
-- one, and finds that vote gone. No proposal goes further than 10 s ahead; clocks of nodes may differ by one.
local function part_votes(key, now) raise_register(key, math.max(register_of(key), now + 11000000)) end

-- His instance is told.
local function take_away(key, held, token)
  local record = parse_record(held)
  redis.call('DEL', key.lock, key.metadata, key.promise)
  if record then
    redis.call('PUBLISH', 'll1:i:' .. record.instance, 'l' .. key.lock)
    token = math.max(token, record.token)
  end
  refuse_renewals(key, token)
end

-- Who stands in line for it within an instance is known to that one alone: one that holds it or has somebody in its
-- line. owner: as records have it, or empty = all.
local function send_standing_away(key, record, owner, fits)
  local instances = {}
  if record then instances[record.instance] = true end
  local waiting = redis.call('HGETALL', key.alive)
  for n = 2, #waiting, 2 do
    local instance = string.match(waiting[n], '^%d+|([^|]*)')
    if instance then instances[instance] = true end
  end
  for instance in pairs(instances) do
    if fits(instance) then redis.call('PUBLISH', 'll1:i:' .. instance, 's' .. owner .. '|' .. key.lock) end
  end
end

-- Those of whom fits(since, instance, owner) says so; each instance hears in one message which of its own they are.
local function send_away(key, fits)
  local ids, count = {}, 0
  local line = redis.call('ZRANGE', key.tickets, 0, -1, 'WITHSCORES')
  for n = 1, #line, 2 do
    local instance, owner = string.match(redis.call('HGET', key.alive, line[n]) or '', '^%d+|([^|]*)|?(.*)$')
    if fits(tonumber(line[n + 1]), instance, owner) then
      leave_line(key, line[n])
      count = count + 1
      if instance then ids[instance] = (ids[instance] or '') .. line[n] end
    end
  end
  for instance, gone in pairs(ids) do redis.call('PUBLISH', 'll1:i:' .. instance, 'd' .. gone) end
  return count
end
