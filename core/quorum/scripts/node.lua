-- SPDX-License-Identifier: MIT
-- Part: what the node knows of itself, in the hash KEYS[1]:
--   who          cluster|epoch|hash of the configuration|id of the node: must be what the caller believes
--   boot         run id of the server when it was last asked; another one means that it has restarted
--   silent_until its votes do not count before that time
--   needs_floor  1: nor before somebody has told it the largest token that others gave out
--   high, floor  the largest token that it gave out; the least that it must exceed
--   max_ttl_ms   no lease is longer
--   trusts_disk  1: a restart that finds this hash has lost nothing
--   record       the configuration itself
--   ballot       of several who change it at once, the latest that was promised; taken, taken_by: what was taken last,
--                and under which ballot
local kMark = KEYS[1]
local mark = {}

-- Nil: go on. Else the answer that refuses whoever believes in another configuration. A restart is noticed here.
local function admit(now, who, boot)
  local known = redis.call('HMGET', kMark, 'who', 'boot', 'silent_until', 'needs_floor', 'high', 'floor', 'max_ttl_ms')
  if known[1] ~= who then return {'CONFIG', now, known[1] or ''} end
  mark = {
    silent_until = tonumber(known[3]), needs_floor = known[4] == '1', high = tonumber(known[5]),
    floor = tonumber(known[6]), max_ttl_ms = tonumber(known[7]),
  }
  local longest = now + mark.max_ttl_ms * 1010
  if known[2] ~= boot then
    if redis.call('HGET', kMark, 'trusts_disk') ~= '1' then
      mark.silent_until, mark.needs_floor = longest, true
    end
    redis.call('HSET', kMark, 'boot', boot, 'silent_until', digits(mark.silent_until), 'needs_floor',
      mark.needs_floor and '1' or '0')
  elseif mark.silent_until > longest then
    -- Its clock was set back.
    mark.silent_until = longest
    redis.call('HSET', kMark, 'silent_until', digits(longest))
  end
end

local function votes(now) return (now >= mark.silent_until and not mark.needs_floor) and 1 or 0 end

-- The largest token of a key that was given out here, as far as it is known, and the attempt that it is reserved for:
-- nobody else has been granted the key since, and nobody has taken it away.
local function reserved_in(text)
  local token, id = string.match(text, '^(%d+)|?(%x*)$')
  return tonumber(token), id
end
local function register_of(key)
  local text = redis.call('GET', key.fence)
  return text and (tonumber(text) or reserved_in(text)) or mark.high
end

-- It outlives every lease that could be older: when it is gone, `high` stands in for it.
local function raise_register(key, token, id)
  local ms = mark.max_ttl_ms * 2.1
  return redis.pcall('SET', key.fence, digits(token) .. (id and '|' .. id or ''), 'PX',
    ms > 3600000 and digits(ms) or '3600000')
end

local function raise_high(token)
  if token > mark.high then
    mark.high = token
    redis.call('HSET', kMark, 'high', digits(token))
  end
end
