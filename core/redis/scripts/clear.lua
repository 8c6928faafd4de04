-- SPDX-License-Identifier: MIT
-- Purpose: takes locks away and sends waiters away, of many keys at once, as an administrator wants: of everybody, of
-- one owner, of one instance, or of the dead. What is free then goes to the next in its queue.
-- KEYS: (lock, fence, queue, entries, anyone, metadata, gap) of each key
-- ARGV: 1 all, owner, instance, dead; or look: nothing changes, and who may be dead is told | 2 the owner as records
--   have it, or the instance; dead: how long a request may wait, in us | 3 the instances that are dead …
-- Returns: now, then for each key: attempt id of the lock that was taken away, or empty; look: the instance that holds
--   it and that nobody listens for, or empty; then how many waiters were sent away (instances count as one each)
-- Uses: clock, text, names, words, fence, grant, hand_on, listens, send_away
local now, whom, named, dead = server_now(), ARGV[1], ARGV[2], {}
for n = 3, #ARGV do dead[ARGV[n]] = true end
local function is_meant(instance, owner)
  if whom == 'dead' then return dead[instance] and listens(instance) == 0 end
  return whom == 'all' or named == (whom == 'owner' and owner or instance)
end
local function waiter_fits(since, instance, owner)
  if whom == 'dead' and since and now - since > tonumber(named) then return true end
  return whom == 'all' or (instance and is_meant(instance, owner))
end
-- Who has waited since then fits, whoever he is; nil: others have waited for as long.
local since_most
if whom == 'dead' then
  since_most = math.max(0, now - named - 1)
elseif whom ~= 'owner' then
  since_most = now
end
local function instances_away(key)
  local count = 0
  for _, instance in ipairs(redis.call('ZRANGE', key.anyone, 0, -1)) do
    if whom ~= 'owner' and is_meant(instance) then
      count = count + redis.call('ZREM', key.anyone, instance)
      redis.call('PUBLISH', 'll1:i:' .. instance, 'd' .. digits(now) .. '|' .. key.lock)
    end
  end
  return count
end
-- Who stands in line within the holder's instance has no place in the queue: it is told. Answers how many there are,
-- where all of them are.
local function standing_away(key, held, instance)
  if not is_meant(instance) then return 0 end
  redis.call('PUBLISH', 'll1:i:' .. instance, 'd' .. digits(now) .. '|' .. key.lock)
  return tonumber(string.match(held, '^ll1|%x+|%x+|%d+|[^|]*|[^|]*|@%d+,%d+,(%d+)|')) or 0
end
-- Of those of one owner who stand in line, or want the key in any order, only their instance knows. Where there are
-- any it holds the key, has been heard of in the queue, or wants the key.
local function owner_away(key, holder)
  local own = string.match(named, '^[^/]*')
  local has_some = holder == own or redis.pcall('HGET', key.entries, 'i' .. own)
  if not has_some and not redis.call('ZSCORE', key.anyone, own) then return end
  redis.call('PUBLISH', 'll1:i:' .. own, 'o' .. digits(now) .. '|' .. named .. '|' .. key.lock)
end
local answer = {now}
for at = 1, #KEYS, kNames do
  local key = names(at)
  local held, taken, away = redis.pcall('GET', key.lock), '', 0
  local id, owner, instance
  if type(held) == 'string' then id, owner, instance = string.match(held, '^ll1|(%x+)|%x+|%d+|([^|]*)|([^|]*)|') end
  if whom == 'look' then
    if id and listens(instance) == 0 then taken = instance end
  else
    -- First: when one that leads a line leaves it, none of his owner is left who could go to the queue in his stead.
    if whom == 'owner' then owner_away(key, instance) end
    away = send_away(key, waiter_fits, since_most) + instances_away(key)
    if id and (whom == 'all' or whom == 'instance') then away = away + standing_away(key, held, instance) end
    if id and is_meant(instance, owner) then
      redis.call('PUBLISH', 'll1:i:' .. instance, 'l' .. key.lock)
      taken = id
    end
    if taken ~= '' or (away > 0 and not held) then free(key, now, -1) end
  end
  answer[#answer + 1] = taken
  answer[#answer + 1] = away
end
return answer
