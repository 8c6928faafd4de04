-- SPDX-License-Identifier: MIT
-- Part: fencing tokens. What a server without memory refuses to write comes back as an error, and nobody was granted
-- anything then: the fence is raised first.
local function fence_of(name) return tonumber(redis.call('GET', name) or 0) or 0 end

-- A fence outlives its lead over the clock: when it is gone, the clock alone gives larger tokens.
local function raise_fence(name, last, now)
  local lead_ms = math.floor(math.max(0, last - now) / 1000)
  return redis.pcall('SET', name, digits(last), 'PX', lead_ms == 0 and '86400000' or digits(86400000 + lead_ms))
end

local kUsedUp = 'LIBLOCK the fencing tokens of this key are used up'
-- The next token of all these fences, and so many reserved; or an error.
local function next_token(fences, now, least, count)
  local token = math.max(now, tonumber(least))
  for _, name in ipairs(fences) do token = math.max(token, fence_of(name) + 1) end
  -- In this order: one more than the bound is no number of its own.
  local last = token - 1 + count
  if last >= 9007199254740992 then return redis.error_reply(kUsedUp) end
  for _, name in ipairs(fences) do
    local raised = raise_fence(name, last, now)
    if is_error(raised) then return raised end
  end
  return token
end
