-- SPDX-License-Identifier: MIT
-- Purpose: sets the ends of leases anew, of many at once, and brings along what the node does not know yet of them: a
--   lock that it lost is there again afterwards, unless another one was granted meanwhile; of its value it then knows
--   no more than whoever brought it, until he says that nobody knows more. A value that is about to be changed is left
--   alone.
-- KEYS: node; (lock, fence, metadata, tickets, alive, claim, promise) of each lock
-- ARGV: 1 who | 2 boot | 3 not_after | 4 renew = never shorter than it is, only = the same, but nothing is
--   written anew, set = as told | 5 for each lock: attempt id, sequence, ttl_ms, token, version, owner, instance,
--   lease_ms, ticket, value, metadata, votes, 0 = nothing more, 1 = is nothing newer known here of its value, else as
--   1, and since it was restored here at that time, it has become known that nothing newer is lost …
-- Returns: OK, now, 1 = it counts, then for each lock: 1 = set, 2 = written anew, 0 = another one is there,
--   -1 = another one was there, -2 = it is not there; what was left of its lease in ms before; a newer
--   version or 0, and its value; 1 = nothing newer is known here, 0 = something is or may be, or it was not asked,
--   less = when it was restored here, behind a minus | LATE, now | TTL, now, longest lease in ms | CONFIG, now, who it
--   is instead | an error
-- Uses: now, text, node, names, words, held, record, promised
local refused = admit(now, ARGV[1], ARGV[2])
if refused then return refused end
if now > tonumber(ARGV[3]) then return {'LATE', now} end
local kFields = 13
local answer = {'OK', now, 0}
for n = 1, (#KEYS - 1) / kNames do
  local at = 5 + (n - 1) * kFields
  local key = names(n)
  local ttl_ms, token, version = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  if ttl_ms > mark.max_ttl_ms then return {'TTL', now, mark.max_ttl_ms} end
  -- What nobody has given out must not use up the tokens of all.
  if token >= 4503599627370496 then return redis.error_reply('LIBLOCK there are no such fencing tokens') end
  local held = redis.pcall('GET', key.lock)
  local code, left, newer, newer_value, knows = 0, -2, 0, '', 0
  local record = is_of(held, ARGV[at]) and parse_record(held)
  if record then
    code, left = 1, redis.call('PTTL', key.lock)
    local is_newer = ARGV[at + 1] > record.sequence
    local px_ms = ttl_ms
    -- In its last millisecond it has none left, which would be no expiry.
    if ARGV[4] ~= 'set' or not is_newer then px_ms = math.max(left, ARGV[4] ~= 'set' and ttl_ms or 1) end
    if record.version > version then newer, newer_value = record.version, record.value end
    local number, until_us = 0, 0
    if record.version < version then number, until_us = promise_of(key) end
    local is_older = record.version < version and (number < version or until_us < now)
    local is_as_told = is_older or record.version == version
    local state = record.state == 'p' and 'c' or record.state
    if votes(now) == 0 then
      state = restored(now)
    elseif is_as_told and state == restored(ARGV[at + 12]) then
      state = 'c'
    end
    if is_newer or record.token ~= token or is_older or record.state ~= state then
      -- Under another token it is in other hands.
      if is_newer or record.token ~= token then record.instance, record.owner = ARGV[at + 6], ARGV[at + 5] end
      if is_newer then record.sequence = ARGV[at + 1] end
      if record.state == 'p' then record.lease_ms = ARGV[at + 7] end
      if is_older then record.version, record.value = version, ARGV[at + 9] end
      if record.token < token then
        -- It granted late, or was not told whose it is now: its register may not know yet what was agreed on.
        if register_of(key) < token then
          local raised = raise_register(key, token)
          if is_error(raised) then return raised end
        end
        raise_high(token)
      end
      if record.token ~= token then record.ticket = ARGV[at + 8] end
      record.token, record.state = token, state
      redis.call('SET', key.lock, record_of(record), 'PX', px_ms)
    else
      redis.call('PEXPIRE', key.lock, px_ms)
    end
    if ARGV[at + 10] ~= '' then redis.call('PEXPIRE', key.metadata, px_ms) end
    -- While a change is promised here, nobody can tell what will become of it.
    if restored_at(state) ~= 0 or ARGV[at + 12] ~= '0' then
      number, until_us = promise_of(key)
      local is_over = number <= version or until_us < now
      if is_over then knows = restored_at(state) ~= 0 and -restored_at(state) or is_as_told and 1 or 0 end
    end
  elseif not held then
    local register, by = reserved_in(redis.call('GET', key.fence) or '0')
    local is_last = register <= token or by == ARGV[at]
    code = -1
    if is_last and ARGV[4] == 'only' then
      code = -2
    elseif is_last then
      local raised = raise_register(key, math.max(token, register_of(key)), by == ARGV[at] and by or nil)
      if is_error(raised) then return raised end
      local written = write_record(key, {
        id = ARGV[at], sequence = ARGV[at + 1], token = token, owner = ARGV[at + 5], instance = ARGV[at + 6],
        since = now, lease_ms = ARGV[at + 7], state = restored(now), version = version, ticket = ARGV[at + 8],
        votes = ARGV[at + 11], value = ARGV[at + 9],
      }, ttl_ms, ARGV[at + 10])
      if is_error(written) then return written end
      raise_high(token)
      code = 2
      local number, until_us = promise_of(key)
      if number <= version or until_us < now then knows = -now end
    end
  end
  for _, field in ipairs({code, left, newer, newer_value, knows}) do answer[#answer + 1] = field end
end
answer[3] = votes(now)
return answer
