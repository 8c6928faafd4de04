-- SPDX-License-Identifier: MIT
-- Purpose: sets the ends of leases anew, of many at once; never takes a key that is not held.
-- KEYS: the locks, then the metadata of those locks that have any
-- ARGV: 1 not_after | 2 number of locks | 3 for each lock: attempt id, number of this change, ttl_ms (0 = no
--   expiry), set or add, 1 = has metadata …
-- Returns: OK, now, then for each lock: what its lease is now in ms, -1 = no expiry, -3 = not held any more |
--   LATE, now
-- Uses: clock
local now = server_now()
if now > tonumber(ARGV[1]) then return {'LATE', now} end
local answer = {'OK', now}
local count = tonumber(ARGV[2])
local metadata = count
for n = 1, count do
  local at = 5 * n - 2
  local held = redis.pcall('GET', KEYS[n])
  local head, number, tail
  if type(held) == 'string' and string.sub(held, 1, 36) == 'll1|' .. ARGV[at] then
    head, number, tail = string.match(held, '^(ll1|%x+|%d+|[^|]*|[^|]*|)(%x+)(|.*)$')
  end
  if ARGV[at + 4] == '1' then metadata = metadata + 1 end
  local left = -3
  if head and ARGV[at + 1] <= number then
    left = redis.call('PTTL', KEYS[n])
  elseif head then
    local ttl = tonumber(ARGV[at + 2])
    local before = ARGV[at + 3] == 'add' and redis.call('PTTL', KEYS[n]) or 0
    if ttl == 0 or before == -1 then
      left = -1
      redis.call('SET', KEYS[n], head .. ARGV[at + 1] .. tail)
      if ARGV[at + 4] == '1' then redis.call('PERSIST', KEYS[metadata]) end
    else
      left = ttl + before
      local ms = string.format('%.0f', left)
      redis.call('SET', KEYS[n], head .. ARGV[at + 1] .. tail, 'PX', ms)
      if ARGV[at + 4] == '1' then redis.call('PEXPIRE', KEYS[metadata], ms) end
    end
  end
  answer[n + 2] = left
end
return answer
