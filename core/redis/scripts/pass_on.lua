-- SPDX-License-Identifier: MIT
-- Purpose: says who has a lock now that went from hand to hand within an instance, reserves tokens for those who will
--   have it next, and looks whether others wait for it.
-- KEYS: lock, fence, queue
-- ARGV: 1 attempt id | 2 token with which the holder got it | 3 owner | 4 instance | 5 tokens to reserve | 6 how many
--   stand in line for it within the instance
-- Returns: now, 1 or 0 = not held under this attempt any more, the first of the tokens, 0 = none; 1 = somebody waits
--   in the queue
-- Uses: clock, text, words, fence, grant
local now, held = server_now(), redis.pcall('GET', KEYS[1])
if type(held) ~= 'string' or string.sub(held, 1, 36) ~= 'll1|' .. ARGV[1] then return {now, 0, 0, 0} end
local token, instance, since, value = string.match(held, '^ll1|%x+|%x+|(%d+)|[^|]*|([^|]*)|@(%d+,%d+)[%d,]*|(.*)$')
-- Another has adopted it since this was said.
if token and instance ~= ARGV[4] then return {now, 0, 0, 0} end
if token then
  -- In other hands: what the lock carries is of those who have it.
  if token ~= ARGV[2] then since, value = digits(now) .. string.match(since, ',%d+'), '' end
  local record = {string.sub(held, 1, 45), ARGV[2], ARGV[3], ARGV[4], '@' .. since .. ',' .. ARGV[6], value}
  redis.call('SET', KEYS[1], table.concat(record, '|'), 'KEEPTTL')
end
local first = 0
if tonumber(ARGV[5]) > 0 then
  first = math.max(now, fence_of(KEYS[2]) + 1)
  local last = first - 1 + ARGV[5]
  if last >= 9007199254740992 or is_error(raise_fence(KEYS[2], last, now)) then first = 0 end
end
return {now, 1, first, redis.call('EXISTS', KEYS[3])}
