-- SPDX-License-Identifier: MIT
-- Part: who may change the value of a key's lock next: number of the change|until when, in us|id of the change. It is
--   open until then. Its number stays known afterwards: whoever writes a value without a quorum had promises of one, so
--   that the next change, which has one of those nodes as well, gets a larger number than any value anywhere.
local function promise_of(key)
  local number, until_us, id = string.match(redis.call('GET', key.promise) or '', '^(%d+)|(%d+)|(%x+)$')
  return tonumber(number or 0), tonumber(until_us or 0), id
end

local function write_promise(key, number, until_us, id)
  local ms = digits(math.max(3600000, (mark.max_ttl_ms or 0) * 2.1))
  return redis.pcall('SET', key.promise, digits(number) .. '|' .. digits(until_us) .. '|' .. id, 'PX', ms)
end
