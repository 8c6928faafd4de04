-- SPDX-License-Identifier: MIT
-- Purpose: one node's vote for an attempt: takes all the keys at once, or says which is in the way and stands in its
--   line.
-- KEYS: node; (lock, fence, metadata, tickets, alive, claim, promise) of each key
-- ARGV: 1 who | 2 boot | 3 not_after | 4 attempt id | 5 lease_ms | 6 token that is proposed | 7 owner | 8 instance |
--   9 ticket | 10 id in the line, empty = does not wait | 11 alive_ms | 12 1 = passes over those who wait |
--   13 state of the record | 14 value | 15 metadata | 16 1 = say who holds the key and who is first | 17 votes |
--   18 how many tokens are reserved, from its own on
-- Returns: OK, now, token, 1 = it counts, largest token here, 1 = others wait in the line | BUSY, now, index of the
--   key, PTTL of its holder or of whom it is kept for, largest token here, place in the line, length of the line,
--   ticket of the holder, for how many us he has held it or -1 = nobody does, least ticket in the line or 0,
--   1 = held by a foreign client (, record of the holder, id of the first) | LATE, now | TTL, now, longest lease in
--   ms | CONFIG, now, who it is instead | an error
-- Uses: now, text, node, names, words, held, record, line
local refused = admit(now, ARGV[1], ARGV[2])
if refused then return refused end
if tonumber(ARGV[5]) > mark.max_ttl_ms then return {'TTL', now, mark.max_ttl_ms} end
if now > tonumber(ARGV[3]) then return {'LATE', now} end
local id, waiter, ticket, barges = ARGV[4], ARGV[10], tonumber(ARGV[9]), ARGV[12] == '1'
local count = (#KEYS - 1) / kNames
local keys, busy, holder, first, first_ticket, answered, told = {}, nil, nil, nil, nil, 0, nil
local crowded = false
for n = 1, count do
  local key = names(n)
  keys[n] = key
  -- One question instead of three for a key of which nothing is there.
  key.is_new = redis.call('EXISTS', key.lock, key.metadata, key.tickets, key.claim, key.promise) == 0
  local held = not key.is_new and redis.pcall('GET', key.lock)
  if is_error(held) then return held end
  if key.is_new then
    key.has_no_line = true
  elseif held then
    if is_of(held, id) then
      answered, told = answered + 1, held
    else
      busy, holder = n, held
    end
  elseif not barges and redis.call('EXISTS', key.tickets, key.claim) == 0 then
    key.has_no_line = true
  elseif not barges then
    crowded = true
    local kept_for = redis.call('GET', key.claim)
    if kept_for ~= waiter or not kept_for then
      first, first_ticket = first_in_line(key, now)
      -- Who does not wait has the last ticket.
      if kept_for or (first and first ~= waiter and (waiter == '' or first_ticket < ticket)) then busy = n end
    end
  end
  if busy then break end
end

if busy then
  -- Answers whether it is new there.
  local function stand_in_line(key, now, waiter, ticket, instance, owner, alive_ms)
    local is_new = redis.call('ZADD', key.tickets, ticket, waiter) == 1
    redis.call('HSET', key.alive, waiter, digits(now + alive_ms * 1000) .. '|' .. instance .. '|' .. owner)
    if redis.call('PTTL', key.tickets) < tonumber(alive_ms) then
      redis.call('PEXPIRE', key.tickets, alive_ms)
      redis.call('PEXPIRE', key.alive, alive_ms)
    end
    return is_new
  end
  local key = keys[busy]
  local record = holder and parse_record(holder)
  local is_new = waiter ~= '' and count == 1 and
    stand_in_line(key, now, waiter, ARGV[9], ARGV[8], ARGV[7], ARGV[11])
  -- His instance may pass it on among its own, and is to know of others who wait.
  if is_new and record and record.instance ~= ARGV[8] then
    redis.call('PUBLISH', 'll1:i:' .. record.instance, 'q' .. key.lock)
  end
  if holder then first, first_ticket = first_in_line(key, now) end
  local place = waiter ~= '' and redis.call('ZRANK', key.tickets, waiter) or -1
  local answer = {'BUSY', now, busy, redis.call('PTTL', holder and key.lock or key.claim),
    math.max(mark.high, mark.floor), place, redis.call('ZCARD', key.tickets), record and tonumber(record.ticket) or 0,
    holder and math.max(0, now - (record and record.since or 0)) or -1, first_ticket or 0,
    holder and string.sub(holder, 1, 4) ~= 'll1|' and 1 or 0}
  if ARGV[16] == '1' then
    answer[12] = string.sub(holder or '', 1, 1024)
    answer[13] = first or ''
  end
  return answer
end

-- The same attempt once more. Where it lost a key meanwhile, it takes all of them anew.
if told and answered == count then
  return {'OK', now, tonumber(string.match(told, '^ll1|%x+|%x+|(%d+)|')), votes(now), mark.high, 0}
end
local token = math.min(tonumber(ARGV[6]), now + 10000000)
for n = 1, count do token = math.max(token, math.max(register_of(keys[n]), mark.floor) + 1) end
local tokens = tonumber(ARGV[18])
local last = token - 1 + tokens
if last >= 4503599627370496 then return redis.error_reply('LIBLOCK the fencing tokens of this key are used up') end
for n = 1, count do
  local raised = raise_register(keys[n], last, tokens > 1 and id or nil)
  if is_error(raised) then return raised end
end
for n = 1, count do
  local written = write_record(keys[n], {
    id = id, sequence = '00000000', token = token, owner = ARGV[7], instance = ARGV[8], since = now,
    lease_ms = ARGV[5], state = ARGV[13], version = 0, ticket = ARGV[9], votes = ARGV[17],
    value = ARGV[14],
  }, ARGV[5], ARGV[15], not keys[n].is_new and keys[n].promise)
  if is_error(written) then
    for k = 1, n - 1 do redis.call('DEL', keys[k].lock, keys[k].metadata) end
    return written
  end
  if waiter ~= '' and not keys[n].has_no_line then leave_line(keys[n], waiter) end
end
raise_high(last)
return {'OK', now, token, votes(now), mark.high, crowded and first_in_line(keys[1], now) and 1 or 0}
