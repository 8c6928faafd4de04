-- SPDX-License-Identifier: MIT
-- Purpose: makes the token of a grant the one that the nodes agree on.
-- KEYS: node; (lock, fence, metadata, tickets, alive, claim, promise) of each key
-- ARGV: 1 who | 2 boot | 3 token | 4 how many are reserved, from it on | 5 attempt id of each key …
-- Returns: OK, now, 1 = it counts | GONE, now | CONFIG, now, who it is instead | an error
-- Uses: now, text, node, names, words, held, record
local refused = admit(now, ARGV[1], ARGV[2])
if refused then return refused end
local token, tokens = tonumber(ARGV[3]), tonumber(ARGV[4])
local last = token - 1 + tokens
-- What one node has made up must not use up the tokens of all.
if last >= 4503599627370496 then return redis.error_reply('LIBLOCK there are no such fencing tokens') end
local count = (#KEYS - 1) / kNames
local records = {}
for n = 1, count do
  local held = redis.call('GET', names(n).lock)
  -- Without this, two attempts that lost a key of theirs to each other could both raise to one number.
  if not is_of(held, ARGV[n + 4]) then return {'GONE', now} end
  records[n] = parse_record(held)
end
for n = 1, count do
  local key, record = names(n), records[n]
  if register_of(key) < last then
    local raised = raise_register(key, last, tokens > 1 and ARGV[n + 4] or nil)
    if is_error(raised) then return raised end
  end
  record.token = token
  redis.call('SET', key.lock, record_of(record), 'KEEPTTL')
end
raise_high(last)
return {'OK', now, votes(now)}
