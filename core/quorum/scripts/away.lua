-- SPDX-License-Identifier: MIT
-- Part: taking locks away, and sending those away who wait, as an administrator wants.

-- From now on a renewal with this token does not write the lock anew.
local function refuse_renewals(key, token)
  if token <= 0 then return end
  raise_register(key, math.max(token + 1, register_of(key)))
  raise_high(token + 1)
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
