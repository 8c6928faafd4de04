-- SPDX-License-Identifier: MIT
-- Purpose: writes another owner and instance into the records of locks, for those who took them over.
-- KEYS: the locks
-- ARGV: 1 owner | 2 instance | 3 attempt id that all are held under
-- Returns: how many are held under it, and say so now
local renamed = 0
for n = 1, #KEYS do
  local held = redis.pcall('GET', KEYS[n])
  if type(held) == 'string' and string.sub(held, 1, 36) == 'll1|' .. ARGV[3] then
    local head, rest = string.match(held, '^(ll1|%x+|%x+|%d+|)[^|]*|[^|]*(|.*)$')
    redis.call('SET', KEYS[n], head .. ARGV[1] .. '|' .. ARGV[2] .. rest, 'KEEPTTL')
    renamed = renamed + 1
  end
end
return renamed
