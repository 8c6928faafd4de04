-- SPDX-License-Identifier: MIT
-- Part: writing a grant. What a server without memory refuses to write comes back as an error, and nobody was granted
-- anything then: the fence is raised first.
local function fence_of(name) return tonumber(redis.call('GET', name) or 0) or 0 end

-- A fence outlives its lead over the clock: when it is gone, the clock alone gives larger tokens.
local function raise_fence(name, last, now)
  local lead_ms = math.floor(math.max(0, last - now) / 1000)
  return redis.pcall('SET', name, digits(last), 'PX', lead_ms == 0 and '86400000' or digits(86400000 + lead_ms))
end

-- The next token of all these fences, and so many reserved; or an error.
local function next_token(fences, now, least, count)
  local token = least == '0' and now or math.max(now, tonumber(least))
  for _, name in ipairs(fences) do token = math.max(token, fence_of(name) + 1) end
  -- In this order: one more than the bound is no number of its own.
  local last = token - 1 + count
  if last >= 9007199254740992 then return redis.error_reply('LIBLOCK the fencing tokens of this key are used up') end
  for _, name in ipairs(fences) do
    local raised = raise_fence(name, last, now)
    if is_error(raised) then return raised end
  end
  return token
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
  local since = digits(now)
  return 'll1|' .. id .. '|00000000|' .. (token == now and since or digits(token)) .. '|' .. owner .. '|' .. instance ..
    '|@' .. since .. ',' .. ttl_ms .. '|' .. value
end
