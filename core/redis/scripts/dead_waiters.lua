-- SPDX-License-Identifier: MIT
-- Purpose: says of several keys whether somebody waits for them whose instance is gone.
-- KEYS: (queue, entries, anyone) of each key
-- ARGV: 1 so long, in us, nobody needs to listen for who has begun to wait
-- Returns: for each key 1 = for one who waits nobody listens, else 0
-- Uses: clock, listens
local young_from, answer = server_now() - tonumber(ARGV[1]), {}
local function is_dead(since, instance)
  return since and tonumber(since) < young_from and listens(instance) == 0
end
local function has_dead(queue, entries, anyone)
  local waiting = redis.call('ZRANGE', anyone, 0, -1, 'WITHSCORES')
  for n = 1, #waiting, 2 do
    if is_dead(waiting[n + 1], waiting[n]) then return 1 end
  end
  local at = 0
  while true do
    local ids = redis.call('ZRANGE', queue, at, at + 499)
    if #ids == 0 then return 0 end
    for _, entry in ipairs(redis.call('HMGET', entries, unpack(ids))) do
      if is_dead(string.match(entry or '', '^[^|]*|(%d+)|[^|]*|[^|]*|[^|]*|([^|]*)|')) then return 1 end
    end
    at = at + #ids
  end
end
for n = 1, #KEYS, 3 do answer[#answer + 1] = has_dead(KEYS[n], KEYS[n + 1], KEYS[n + 2]) end
return answer
