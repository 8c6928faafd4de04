-- SPDX-License-Identifier: MIT
-- Purpose: takes all the keys at once; or says which one is busy, keeps the free ones before it, and stands in its
--   queue.
-- KEYS: (lock, fence, queue, entries, anyone, metadata, gap) of each key, sorted by key; then the fences of keys that
--   the owner holds already, which the new token counts for as well
-- ARGV: 1 attempt id | 2 owner, a bar, instance | 3 not_after | 4 ttl_ms, 0 = none | 5 tokens to reserve | 6 value |
--   7 what matters where a key is not had at once, with blanks between: try = does not wait, barge = nor looks at the
--   queue, queue, any = barges and is woken; alive_ms; 1 = others of this instance want any key too; lease_ms of a
--   grant in the queue; order; what its sort key is more than its ticket; priority; ticket, 0 = a new one; waiting
--   since, 0 = now; number of the attempt; 1 = to the end of the queue; index of the key in whose queue it stands, 0 =
--   none; 1 = its instance hears messages; 1 = say who holds the key and who is first; least token; number of fences at
--   the end of KEYS |
--   8 metadata; left out by who has none and asks for a lease of one key, not as any, standing in no queue, with any
--   token
-- Returns: now, which is the token as well, and nobody waits | OK, now, token, 1 = others wait in the queue of the
--   last key | BUSY, now, index of the key, PTTL of its holder, waiting since, place, 1 = held by a foreign client,
--   length of the queue, ticket, how many dead ones left the queue (, record of the holder, owner of the first in
--   the queue) | LATE, now | an error
-- Uses: now, text, names, words, fence, grant, hand_on
if now > ARGV[3] + 0 then return {'LATE', now} end
-- One key that is free, that nobody waits for, and of which no metadata are left: that is what most ask for. Each
-- function that is made and each word that is taken apart counts here.
if not ARGV[8] and redis.call('EXISTS', KEYS[1], KEYS[3], KEYS[6]) == 0 then
  local token, answer, last, micros = since, now, since, time[2] - 1 + ARGV[5]
  if micros >= 1000000 then
    last = string.format('%.0f', now - 1 + ARGV[5])
  elseif ARGV[5] ~= '1' then
    last = string.format('%s%06d', time[1], micros)
  end
  -- The clock is ahead of the fence mostly. Where it is not, the fence is mended at once: behind the first write a
  -- script is refused nothing any more.
  local before = redis.pcall('SET', KEYS[2], last, 'PX', '86400000', 'GET')
  if before and before.err then return before end
  local fence = before and tonumber(before) or 0
  if fence >= now then
-- Here: text
-- Here: fence
    local is_used_up = fence + ARGV[5] >= 9007199254740992
    local raised = raise_fence(KEYS[2], is_used_up and fence or fence + ARGV[5], now)
    if is_used_up then
      -- What is so large that not even its lead can be written is no token of ours, and stays all the same.
      if is_error(raised) then redis.call('SET', KEYS[2], before, 'PX', '86400000') end
      raised = redis.error_reply(kUsedUp)
    end
    if is_error(raised) then return raised end
    token, answer = digits(fence + 1), {'OK', now, fence + 1, 0}
  end
  local written = redis.pcall('SET', KEYS[1], 'll1|' .. ARGV[1] .. '|00000000|' .. token .. '|' .. ARGV[2] .. '|@' ..
    since .. ',' .. ARGV[4] .. '|' .. ARGV[6], 'PX', ARGV[4])
  return written.err and written or answer
end
-- Here: text
-- Here: names
-- Here: words
-- Here: fence
-- Here: grant
-- Here: hand_on
local id, ttl, value, metadata = ARGV[1], ARGV[4], ARGV[6], ARGV[8] or ''
local owner, instance = string.match(ARGV[2], '^([^|]*)|(.*)$')
local mode, alive_ms, has_others, queue_ms, order, offset, priority, ticket, waits_since, number, to_end, stood, hears,
  names_them, least, raised = string.match(ARGV[7], '^' .. string.rep('(%S+) ', 15) .. '(%d+)$')
local barges = mode == 'any' or mode == 'barge'
local ours = 'll1|' .. id
local count = (#KEYS - raised) / kNames
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
stood = tonumber(stood)
if stood > 0 then
  if stood ~= busy then leave(keys[stood] or names((stood - 1) * kNames + 1), id) end
  for n = busy and busy + 1 or count + 1, count do
    local key = names((n - 1) * kNames + 1)
    if string.sub(redis.call('GET', key.lock) or '', 1, 36) == ours then free(key, now, -1) end
  end
end
local function with_names(answer)
  if names_them ~= '1' then return answer end
  local first = redis.call('ZRANGE', keys[busy].queue, 0, 0)[1]
  local entry = first and redis.call('HGET', keys[busy].entries, first) or ''
  answer[11] = string.sub(holder, 1, 1024)
  answer[12] = string.match(entry, '^%d+|%d+|%d+|%d+|%-?%d+|[^|]*|([^|]*)|') or ''
  return answer
end
if busy and (mode == 'try' or mode == 'barge') then
  local length = names_them == '1' and redis.call('ZCARD', keys[busy].queue) or 0
  return with_names({'BUSY', now, busy, redis.call('PTTL', keys[busy].lock), 0, -1, 0, length, 0, buried})
end

local taken = not busy and count or mode == 'any' and 0 or busy - 1
local ttl_ms = busy and queue_ms or ttl
local fences = {}
for n = 1, taken do fences[n] = keys[n].fence end
if not busy then
  for n = count * kNames + 1, #KEYS do fences[#fences + 1] = KEYS[n] end
end
local is_held = #fences == taken and taken > 0
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
  local token = next_token(fences, now, least, ARGV[5])
  if is_error(token) then return token end
  local record = record_of(id, token, owner, instance, now, ttl_ms, value)
  for n = 1, taken do
    local written = write_record(keys[n], record, ttl_ms, busy and '' or metadata)
    if is_error(written) then return written end
    if waited_for[n] then leave(keys[n], id) end
    if mode == 'any' then
      redis.call('ZREM', keys[n].anyone, instance)
      if has_others == '1' then
        redis.call('ZADD', keys[n].anyone, digits(now), instance)
        redis.call('PEXPIRE', keys[n].anyone, alive_ms)
      end
    end
  end
  if not busy then return {'OK', now, token, waited_for[count] and redis.call('EXISTS', keys[count].queue) or 0} end
end

local key = keys[busy]
waits_since, ticket = tonumber(waits_since), tonumber(ticket)
if waits_since == 0 then waits_since = now end
if mode == 'any' then
  redis.call('ZADD', key.anyone, 'NX', digits(now), instance)
  redis.call('PEXPIRE', key.anyone, alive_ms)
else
  local was_empty = redis.call('EXISTS', key.queue) == 0
  if to_end == '1' or not redis.call('ZSCORE', key.queue, id) then
    ticket = enqueue(key, now, id, {
      ticket = ticket, anew = to_end == '1', order = tonumber(order), offset = tonumber(offset),
    })
  end
  local entry = {digits(ticket), digits(waits_since), queue_ms, order, priority, instance,
    owner, number, #metadata, metadata .. value}
  redis.call('HSET', key.entries, id, table.concat(entry, '|'))
  heard_of(key, now, instance, alive_ms, hears)
  local held_by = was_empty and string.match(holder, '^ll1|%x+|%x+|%d+|[^|]*|([^|]*)|')
  if held_by then redis.call('PUBLISH', 'll1:i:' .. held_by, 'q' .. key.lock) end
end
local place = redis.call('ZRANK', key.queue, id)
local is_foreign = holder ~= '' and string.sub(holder, 1, 4) ~= 'll1|' and 1 or 0
return with_names({'BUSY', now, busy, redis.call('PTTL', key.lock), waits_since, place or -1, is_foreign,
  redis.call('ZCARD', key.queue), ticket, buried})
