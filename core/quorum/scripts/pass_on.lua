-- SPDX-License-Identifier: MIT
-- Purpose: says who has a lock now that went from hand to hand within an instance, reserves tokens for those who will
--   have it next, and looks whether others wait for it.
-- KEYS: node; lock, fence, metadata, tickets, alive, claim, promise
-- ARGV: 1 who | 2 boot | 3 attempt id | 4 token of the holder | 5 owner | 6 instance | 7 ticket | 8 the last of the
--   tokens that are reserved | 9 how many stand in line for it within the instance
-- Returns: OK, now, 1 = it counts, 1 = somebody waits in the line | GONE, now, 1 = not held under this attempt any
--   more, 0 = nor known | CONFIG, now, who it is instead | an error
-- Uses: now, text, node, names, words, held, record, line
local refused = admit(now, ARGV[1], ARGV[2])
if refused then return refused end
local id, token, last = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[8])
-- What one node has made up must not use up the tokens of all.
if last >= 4503599627370496 then return redis.error_reply('LIBLOCK there are no such fencing tokens') end
local key = names(1)
local held = redis.pcall('GET', key.lock)
-- As in raise.lua: a number is reserved only for who is known here to hold the key.
local record = is_of(held, id) and parse_record(held)
if not record then return {'GONE', now, votes(now)} end
-- Another has adopted it since this was said.
if record.instance ~= ARGV[6] then return {'GONE', now, 0} end
if register_of(key) < last then
  local raised = raise_register(key, last, id)
  if is_error(raised) then return raised end
end
raise_high(last)
-- A word that comes late takes nothing back.
if token >= record.token then
  if token > record.token then record.since = now end
  record.token, record.owner, record.instance, record.ticket = token, ARGV[5], ARGV[6], ARGV[7]
  record.standing = ARGV[9] ~= '0' and ARGV[9] or nil
  redis.call('SET', key.lock, record_of(record), 'KEEPTTL')
end
return {'OK', now, votes(now), first_in_line(key, now) and 1 or 0}
