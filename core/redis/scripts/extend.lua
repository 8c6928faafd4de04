-- SPDX-License-Identifier: MIT
-- Purpose: sets the ends of leases anew, of many at once; never takes a key that is not held.
-- KEYS: the locks, then their metadata when they have any
-- ARGV: 1 not_after | 2 number of locks | 3 ttl_ms, 0 = no expiry | 4 renew, set, or add to what remains |
--   5 number of the last change, which set and add are themselves | 6 "ll1|" and the attempt id of each lock …
-- Returns: OK, now, then for each lock: what its lease is now in ms, -1 = no expiry, -3 = not held any more |
--   LATE, now
-- Uses: clock
local now = server_now()
if now > tonumber(ARGV[1]) then return {'LATE', now} end
local answer = {'OK', now}
local count, ttl, how, number = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5]
local call, sub = redis.call, string.sub
for n = 1, count do
  local lock = KEYS[n]
  local held = redis.pcall('GET', lock)
  local left = -3
  if type(held) == 'string' and sub(held, 1, 36) == ARGV[n + 5] then
    local known = sub(held, 38, 45)
    if number < known or (number == known and how ~= 'renew') then
      left = call('PTTL', lock)
    else
      left = ttl
      local before = how == 'add' and call('PTTL', lock) or 0
      left = (ttl == 0 or before == -1) and -1 or ttl + before
      if how ~= 'renew' then call('SET', lock, sub(held, 1, 37) .. number .. sub(held, 46), 'KEEPTTL') end
      if left == -1 then
        call('PERSIST', lock)
        if KEYS[n + count] then call('PERSIST', KEYS[n + count]) end
      else
        call('PEXPIRE', lock, left)
        if KEYS[n + count] then call('PEXPIRE', KEYS[n + count], left) end
      end
    end
  end
  answer[n + 2] = left
end
return answer
