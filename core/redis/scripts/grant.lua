-- SPDX-License-Identifier: MIT
-- Part: writing a grant.

-- ttl_ms 0: no expiry. What is left of a lock that somebody deleted by hand goes with it.
local function write_record(key, record, ttl_ms, metadata)
  local written
  if tonumber(ttl_ms) == 0 then
    written = redis.pcall('SET', key.lock, record)
  else
    written = redis.pcall('SET', key.lock, record, 'PX', ttl_ms)
  end
  if is_error(written) then return written end
  redis.call('DEL', key.metadata)
  if metadata == '' then return written end
  written = redis.pcall('HSET', key.metadata, unpack(unpack_words(metadata)))
  if is_error(written) then
    redis.call('DEL', key.lock)
  elseif tonumber(ttl_ms) ~= 0 then
    redis.call('PEXPIRE', key.metadata, ttl_ms)
  end
  return written
end

local function record_of(id, token, owner, instance, now, ttl_ms, value)
  local since = digits(now)
  return 'll1|' .. id .. '|00000000|' .. (token == now and since or digits(token)) .. '|' .. owner .. '|' .. instance ..
    '|@' .. since .. ',' .. ttl_ms .. '|' .. value
end
