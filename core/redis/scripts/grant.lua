-- SPDX-License-Identifier: MIT
-- Part: writing a grant. What a server without memory refuses to write comes back as an error, and nobody was granted
-- anything then: the fence is raised first.
local function fence_of(name) return tonumber(redis.call('GET', name) or 0) or 0 end

local function is_error(answer) return type(answer) == 'table' and answer.err end

-- A fence outlives its lead over the clock: when it is gone, the clock alone gives larger tokens.
local function raise_fence(name, last, now)
  local fence_ms = string.format('%.0f', 86400000 + math.max(0, (last - now) / 1000))
  return redis.pcall('SET', name, string.format('%.0f', last), 'PX', fence_ms)
end

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
  local since = string.format('@%.0f,%.0f', now, ttl_ms)
  return table.concat({'ll1|' .. id, '00000000', string.format('%.0f', token), owner, instance, since, value}, '|')
end
