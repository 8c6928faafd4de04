-- SPDX-License-Identifier: MIT
-- Purpose: takes locks away and sends waiters away, of many keys at once: of everybody, of one owner, or of some
--   instances. Foreign clients' locks stay.
-- KEYS: node; (lock, fence, metadata, tickets, alive, claim, promise) of each key
-- ARGV: 1 who | 2 boot | 3 not_after | 4 claim_ms | 5 all, owner or instances | 6 for how long one may wait, in us,
--   0 = for ever | 7 1 = only the waiters | 8 the owner as records have it, or the instances …
-- Returns: OK, now, then for each key: attempt id of the lock that was taken away, or empty; how many waiters were sent
--   away | LATE, now | CONFIG, now, who it is instead | an error
-- Uses: now, text, node, names, words, held, record, line, call, away
local refused = admit(now, ARGV[1], ARGV[2])
if refused then return refused end
if now > tonumber(ARGV[3]) then return {'LATE', now} end
local named, longest = {}, tonumber(ARGV[6])
for n = 8, #ARGV do named[ARGV[n]] = true end
local function is_meant(instance, owner)
  if ARGV[5] == 'all' then return true end
  return named[ARGV[5] == 'owner' and owner or instance]
end
local function waiter_fits(since, instance, owner)
  return (longest > 0 and now - since > longest) or is_meant(instance or '', owner or '')
end
local answer = {'OK', now}
for n = 1, (#KEYS - 1) / kNames do
  local key, taken = names(n), ''
  local held = redis.pcall('GET', key.lock)
  local record = type(held) == 'string' and parse_record(held)
  send_standing_away(key, record, ARGV[5] == 'owner' and ARGV[8] or '', function(instance)
    return ARGV[5] ~= 'instances' or named[instance]
  end)
  local away = send_away(key, waiter_fits)
  if record and ARGV[7] ~= '1' and is_meant(record.instance, record.owner) then
    take_away(key, held, 0)
    taken, held = record.id, false
  end
  if not held and ARGV[7] ~= '1' then part_votes(key, now) end
  if not held and (taken ~= '' or away > 0) and redis.call('EXISTS', key.tickets) == 1 then
    call_next(key, now, ARGV[4])
  end
  answer[#answer + 1] = taken
  answer[#answer + 1] = away
end
return answer
