-- SPDX-License-Identifier: MIT
-- Purpose: replaces the value that a lock carries, and leaves its lease as it is.
-- KEYS: the locks
-- ARGV: 1 number of this change | 2 value | 3 attempt id of each lock …
-- Returns: for each lock: 1 = replaced, 0 = not held under this attempt any more
local answer = {}
for n = 1, #KEYS do
  local held = redis.pcall('GET', KEYS[n])
  answer[n] = 0
  if type(held) == 'string' and string.sub(held, 1, 36) == 'll1|' .. ARGV[n + 2] then
    answer[n] = 1
    if ARGV[1] > string.sub(held, 38, 45) then
      local fields = string.match(held, '^[^|]*|[^|]*|[^|]*(|[^|]*|[^|]*|[^|]*|)')
      local since = string.match(held, '^@[%d,]+|', 46 + #fields) or ''
      redis.call('SET', KEYS[n], string.sub(held, 1, 37) .. ARGV[1] .. fields .. since .. ARGV[2], 'KEEPTTL')
    end
  end
end
return answer
