-- SPDX-License-Identifier: MIT
-- Purpose: tells an observer what became of locks. What arrives late does not take it back.
-- KEYS: (lock, told, metadata) of each; told is no fence, since an observer may become a node
-- ARGV: 1 for each: attempt id, token or (of its end) 0 = not known, record or empty = it is not held any more, ttl_ms,
--   metadata …
-- Returns: now
-- Uses: now, text, words, held, record
for n = 1, #KEYS / 3 do
  local at = 1 + (n - 1) * 5
  local key = {lock = KEYS[3 * n - 2], told = KEYS[3 * n - 1], metadata = KEYS[3 * n]}
  local id, token, text, ttl_ms = ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2], tonumber(ARGV[at + 3])
  local known, ended = string.match(redis.call('GET', key.told) or '', '^(%d+)(r?)$')
  known = tonumber(known or 0)
  local held = redis.call('GET', key.lock)
  local there = is_of(held, id) and parse_record(held)
  if text == '' then
    -- Nobody else ever has its id: it has ended, whatever its token was. A later lock has another id, and stays.
    if there then
      redis.call('DEL', key.lock, key.metadata)
      token = math.max(token, known)
    end
    if token > 0 and token >= known then redis.call('SET', key.told, digits(token) .. 'r', 'PX', 3600000) end
  elseif token > known or (token == known and ended ~= 'r') then
    local brought = parse_record(text)
    -- Several tell of it, in any order: as on nodes, only its holder's own later word makes it shorter.
    if there and brought.sequence <= there.sequence then ttl_ms = math.max(ttl_ms, redis.call('PTTL', key.lock)) end
    if not there or there.version <= brought.version then
      redis.call('SET', key.told, digits(token), 'PX', 3600000)
      write_record(key, brought, ttl_ms, ARGV[at + 4])
    else
      redis.call('PEXPIRE', key.lock, ttl_ms)
      redis.call('PEXPIRE', key.metadata, ttl_ms)
    end
  end
end
return {now}
