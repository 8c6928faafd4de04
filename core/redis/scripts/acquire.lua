-- SPDX-License-Identifier: MIT
-- Purpose: takes all the keys at once; or says which one is busy, keeps the free ones before it, and stands in its
--   queue.
-- KEYS: (lock, fence, queue, entries, anyone, metadata, gap) of each key, sorted by key; then the fences of keys that
--   the owner holds already, which the new token counts for as well
-- ARGV: 1 attempt id | 2 owner | 3 instance | 4 ttl_ms, 0 = none | 5 not_after | 6 least token |
--   7 tokens to reserve | 8 try = do not wait, barge = nor look at the queue, queue, any = barge and be woken |
--   9 alive_ms | 10 others of this instance want any key too | 11 value | 12 number of fences at the end of KEYS |
--   13 metadata | 14 lease_ms of a grant in the queue | 15 order | 16 what its sort key is more than its ticket |
--   17 priority | 18 ticket, 0 = a new one | 19 waiting since, 0 = now | 20 number of the attempt |
--   21 1 = to the end of the queue |
--   22 index of the key in whose queue it stands, 0 = none | 23 1 = its instance hears messages |
--   24 1 = say who holds the key and who is first
-- Returns: OK, now, token, 1 = others wait in the queue of the last key | BUSY, now, index of the key, PTTL of its
--   holder, waiting since, place, 1 = held by a foreign client, length of the queue, ticket, how many dead ones left
--   the queue (, record of the holder, owner of the first in the queue) | LATE, now | an error
-- Uses: clock, text, names, words, grant, hand_on
local now = server_now()
if now > tonumber(ARGV[5]) then return {'LATE', now} end
local id, mode = ARGV[1], ARGV[8]
local barges = mode == 'any' or mode == 'barge'
-- One key that is free and that nobody waits for: that is what most ask for.
if #KEYS == kNames and ARGV[22] == '0' and mode ~= 'any' then
  local held = redis.pcall('GET', KEYS[1])
  if is_error(held) then return held end
  if not held and (barges or redis.call('EXISTS', KEYS[3]) == 0) then
    local token = next_token({KEYS[2]}, now, ARGV[6], ARGV[7])
    if is_error(token) then return token end
    local record = record_of(id, token, ARGV[2], ARGV[3], now, ARGV[4], ARGV[11])
    local written = write_record(names(1), record, ARGV[4], ARGV[13])
    if is_error(written) then return written end
    return {'OK', now, token, 0}
  end
end
-- Here: hand_on
local ours = 'll1|' .. id
local count = (#KEYS - ARGV[12]) / kNames
local keys, tokens, waited_for, busy, holder = {}, {}, {}, nil, nil
for n = 1, count do
  local key = names((n - 1) * kNames + 1)
  keys[n] = key
  local held = redis.pcall('GET', key.lock)
  if is_error(held) then return held end
  if held then
    tokens[n] = string.sub(held, 1, 36) == ours and tonumber(string.match(held, '^ll1|%x+|%x+|(%d+)|'))
    if not tokens[n] then holder = held end
  elseif not barges and redis.call('EXISTS', key.queue) == 1 then
    waited_for[n] = true
    local is_first = redis.call('ZRANGE', key.queue, 0, 0)[1] == id
    if not is_first and (is_promised(key, now) or hand_on(key, now, -1, id)) then
      holder = redis.call('GET', key.lock) or ''
    end
  end
  if holder then
    busy = n
    break
  end
end
-- Where it stood or what it held behind the key that is busy now, it does not any more.
local stood = tonumber(ARGV[22])
if stood > 0 then
  if stood ~= busy then leave(keys[stood] or names((stood - 1) * kNames + 1), id) end
  for n = busy and busy + 1 or count + 1, count do
    local key = names((n - 1) * kNames + 1)
    if string.sub(redis.call('GET', key.lock) or '', 1, 36) == ours then free(key, now, -1) end
  end
end
local function with_names(answer)
  if ARGV[24] ~= '1' then return answer end
  local first = redis.call('ZRANGE', keys[busy].queue, 0, 0)[1]
  local entry = first and redis.call('HGET', keys[busy].entries, first) or ''
  answer[11] = string.sub(holder, 1, 1024)
  answer[12] = string.match(entry, '^%d+|%d+|%d+|%d+|%-?%d+|[^|]*|([^|]*)|') or ''
  return answer
end
if busy and (mode == 'try' or mode == 'barge') then
  local length = ARGV[24] == '1' and redis.call('ZCARD', keys[busy].queue) or 0
  return with_names({'BUSY', now, busy, redis.call('PTTL', keys[busy].lock), 0, -1, 0, length, 0, buried})
end

local taken = not busy and count or mode == 'any' and 0 or busy - 1
local ttl_ms = busy and ARGV[14] or ARGV[4]
local fences = {}
for n = 1, taken do fences[n] = keys[n].fence end
if not busy then
  for n = count * kNames + 1, #KEYS do fences[#fences + 1] = KEYS[n] end
end
local is_held = #fences == taken
for n = 1, taken do is_held = is_held and tokens[n] and (busy or tokens[n] == tokens[1]) end
if is_held then
  -- Handed to it, or asked for again: its lease counts from now on.
  for n = 1, taken do
    for _, name in ipairs({keys[n].lock, keys[n].metadata}) do
      if ttl_ms == '0' then redis.call('PERSIST', name) else redis.call('PEXPIRE', name, ttl_ms) end
    end
  end
  if not busy then return {'OK', now, tokens[1], redis.call('EXISTS', keys[count].queue)} end
else
  local token = next_token(fences, now, ARGV[6], ARGV[7])
  if is_error(token) then return token end
  local record = record_of(id, token, ARGV[2], ARGV[3], now, ttl_ms, ARGV[11])
  for n = 1, taken do
    local written = write_record(keys[n], record, ttl_ms, busy and '' or ARGV[13])
    if is_error(written) then return written end
    if waited_for[n] then leave(keys[n], id) end
    if mode == 'any' then
      redis.call('ZREM', keys[n].anyone, ARGV[3])
      if ARGV[10] == '1' then
        redis.call('ZADD', keys[n].anyone, digits(now), ARGV[3])
        redis.call('PEXPIRE', keys[n].anyone, ARGV[9])
      end
    end
  end
  if not busy then return {'OK', now, token, waited_for[count] and redis.call('EXISTS', keys[count].queue) or 0} end
end

local key = keys[busy]
local since, ticket = tonumber(ARGV[19]), tonumber(ARGV[18])
if since == 0 then since = now end
if mode == 'any' then
  redis.call('ZADD', key.anyone, 'NX', digits(now), ARGV[3])
  redis.call('PEXPIRE', key.anyone, ARGV[9])
else
  local was_empty = redis.call('EXISTS', key.queue) == 0
  if ARGV[21] == '1' or not redis.call('ZSCORE', key.queue, id) then
    ticket = enqueue(key, now, id, {
      ticket = ticket, anew = ARGV[21] == '1', order = tonumber(ARGV[15]), offset = tonumber(ARGV[16]),
    })
  end
  local entry = {digits(ticket), digits(since), ARGV[14], ARGV[15], ARGV[17], ARGV[3],
    ARGV[2], ARGV[20], #ARGV[13], ARGV[13] .. ARGV[11]}
  redis.call('HSET', key.entries, id, table.concat(entry, '|'))
  heard_of(key, now, ARGV[3], ARGV[9], ARGV[23])
  local held_by = was_empty and string.match(holder, '^ll1|%x+|%x+|%d+|[^|]*|([^|]*)|')
  if held_by then redis.call('PUBLISH', 'll1:i:' .. held_by, 'q' .. key.lock) end
end
local place = redis.call('ZRANK', key.queue, id)
local is_foreign = holder ~= '' and string.sub(holder, 1, 4) ~= 'll1|' and 1 or 0
return with_names({'BUSY', now, busy, redis.call('PTTL', key.lock), since, place or -1, is_foreign,
  redis.call('ZCARD', key.queue), ticket, buried})
