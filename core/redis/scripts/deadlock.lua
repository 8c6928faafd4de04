-- SPDX-License-Identifier: MIT
-- Purpose: notes that a named owner waits for a key, and looks whether that closes a cycle of owners; ends one wait of
--   it by taking its place away. It reads keys that it finds on the way.
-- KEYS: the waits of the owner
-- ARGV: 1 owner | 2 attempt id | 3 lock key | 4 how long the note holds, in ms | 5 edges to follow at most |
--   6 self, youngest or report: whose wait ends
-- Returns: attempt id of the wait that ended, 'cycle' when it was to be reported only, or empty | owners of the cycle
-- Uses: text, words, fence, grant, hand_on
local function side(letter, name) return 'll1:' .. letter .. ':{' .. name .. '}' end
local function is_named(owner) return owner and string.find(owner, '/', 1, true) ~= nil end

local edges, walked, visited, most = 0, 0, {[ARGV[1]] = true}, tonumber(ARGV[5])

local function wait_of(id, lock)
  local entry = redis.call('HGET', side('e', lock), id)
  if not entry then return nil end
  local since, instance, owner = string.match(entry, '^%d+|(%d+)|%d+|%d+|%-?%d+|([^|]*)|([^|]*)|')
  return {id = id, lock = lock, since = tonumber(since), instance = instance, owner = owner}
end

-- The holder, and the next named owner ahead, whose own waits lead on. Those of no owner who are passed on the way have
-- a bound of their own: they must not hide the holder.
local function owners_before(wait)
  local found = {}
  local held = redis.pcall('GET', wait.lock)
  local holder = type(held) == 'string' and string.match(held, '^ll1|%x+|%x+|%d+|([^|]*)|')
  if is_named(holder) and holder ~= wait.owner then found[1] = holder end
  local queue = side('q', wait.lock)
  for rank = (redis.call('ZRANK', queue, wait.id) or 0) - 1, 0, -1 do
    walked = walked + 1
    if walked > most then break end
    local ahead = wait_of(redis.call('ZRANGE', queue, rank, rank)[1], wait.lock)
    if ahead and is_named(ahead.owner) and ahead.owner ~= wait.owner then
      found[#found + 1] = ahead.owner
      break
    end
  end
  return found
end

-- Not many more than can be followed; and away with notes of waits that have ended.
local function waits_of(owner, bound)
  local waits, notes = {}, redis.call('HGETALL', side('o', owner))
  for i = 1, #notes, 2 do
    local wait = wait_of(notes[i], notes[i + 1])
    if wait then
      waits[#waits + 1] = wait
      if #waits > bound then break end
    else
      redis.call('HDEL', side('o', owner), notes[i])
    end
  end
  return waits
end

-- The waits of a cycle, or nil.
local function search(wait, path)
  path[#path + 1] = wait
  for _, owner in ipairs(owners_before(wait)) do
    edges = edges + 1
    if edges > most then return nil end
    if owner == ARGV[1] then return path end
    if not visited[owner] then
      visited[owner] = true
      for _, next_wait in ipairs(waits_of(owner, most)) do
        local cycle = search(next_wait, path)
        if cycle then return cycle end
      end
    end
  end
  path[#path] = nil
  return nil
end

-- An owner who always waits for something keeps its notes for ever: they are looked through before there are many.
local is_new = redis.call('HSET', KEYS[1], ARGV[2], ARGV[3]) == 1
redis.call('PEXPIRE', KEYS[1], ARGV[4])
if is_new and redis.call('HLEN', KEYS[1]) % 64 == 0 then waits_of(ARGV[1], math.huge) end

local first = wait_of(ARGV[2], ARGV[3])
local cycle = first and search(first, {})
if not cycle then return {'', 0} end
if ARGV[6] == 'report' then return {'cycle', #cycle} end
local ends = first
for _, wait in ipairs(cycle) do
  if ARGV[6] == 'youngest' and wait.since > ends.since then ends = wait end
end
leave({queue = side('q', ends.lock), entries = side('e', ends.lock)}, ends.id)
redis.call('HDEL', side('o', ends.owner), ends.id)
if ends ~= first then redis.call('PUBLISH', 'll1:i:' .. ends.instance, 'x' .. ends.id .. ends.lock) end
return {ends.id, #cycle}
