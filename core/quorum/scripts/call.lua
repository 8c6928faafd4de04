-- SPDX-License-Identifier: MIT
-- Part: calling the next of a line (line.lua).

-- The key is free: it is kept for the first who lives and listens, and he is told. Who cannot be told stays in line,
-- and looks himself.
local function call_next(key, now, claim_ms)
  if not first_in_line(key, now) then return end
  for _, waiter in ipairs(redis.call('ZRANGE', key.tickets, 0, 15)) do
    local until_us, instance = string.match(redis.call('HGET', key.alive, waiter) or '', '^(%d+)|([^|]*)')
    if until_us and tonumber(until_us) >= now and
      redis.call('PUBLISH', 'll1:i:' .. instance, 'c' .. waiter .. key.lock) > 0 then
      redis.call('SET', key.claim, waiter, 'PX', claim_ms)
      return
    end
  end
end
