-- SPDX-License-Identifier: MIT
-- Purpose: releases, prolongs or updates a lock that carries a value, for whoever knows that value.
-- KEYS: lock, fence, queue, entries, anyone, metadata, gap
-- ARGV: 1 release, set, add or update | 2 the value that it must carry | 3 ttl_ms, 0 = no expiry; or the new value
-- Returns: 0 = not held, 1 = another value, or a foreign client's, 2 = done; then what is left of the lease in ms,
--   -1 = no expiry | an error
-- Uses: clock, text, names, words, fence, grant, hand_on
local key, how = names(1), ARGV[1]
local lock, metadata = key.lock, key.metadata
local held = redis.pcall('GET', lock)
if type(held) == 'table' then return held end
if not held then return {0, 0} end
local head, instance, rest = string.match(held, '^(ll1|%x+|%x+|%d+|[^|]*|([^|]*)|)(.*)$')
local since = head and string.match(rest, '^@[%d,]+|') or ''
if not head or string.sub(rest, #since + 1) ~= ARGV[2] then return {1, 0} end
if how == 'release' then
  redis.call('PUBLISH', 'll1:i:' .. instance, 'l' .. lock)
  free(key, server_now(), -1)
  return {2, 0}
end
local left = redis.call('PTTL', lock)
if how == 'update' then
  redis.call('SET', lock, head .. since .. ARGV[3], 'KEEPTTL')
  return {2, left}
end
local ttl = tonumber(ARGV[3])
local wanted = how == 'add' and ttl ~= 0 and left + ttl or ttl
-- Never shorter than its holder counts on.
if left == -1 or wanted == 0 then
  redis.call('PERSIST', lock)
  redis.call('PERSIST', metadata)
  return {2, -1}
end
if wanted > left then
  redis.call('PEXPIRE', lock, wanted)
  redis.call('PEXPIRE', metadata, wanted)
  left = wanted
end
return {2, left}
