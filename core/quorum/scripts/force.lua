-- SPDX-License-Identifier: MIT
-- Purpose: takes one key away, from whoever holds it or from one lock alone; it is then kept for the next in its line,
--   who is called.
-- KEYS: node; lock, fence, metadata, tickets, alive, claim, promise
-- ARGV: 1 who | 2 boot | 3 not_after | 4 claim_ms | 5 attempt id of the lock, or empty = whoever holds it | 6 the
--   largest number that its value may have | 7 token whose renewals are refused from now on, 0 = none | 8 1 = the
--   waiters are sent away
-- Returns: OK, now, 1 = it is not held here any more, 0 = by another lock, or with a newer value; how many waiters were
--   sent away; attempt id of the lock that was taken away, or empty | LATE, now | CONFIG, now, who it is instead |
--   an error
-- Uses: now, text, node, names, words, held, record, line, call, away
local refused = admit(now, ARGV[1], ARGV[2])
if refused then return refused end
-- Whoever gave up may have been told that nothing happened, and the key be held by another one.
if now > tonumber(ARGV[3]) then return {'LATE', now} end
local key = names(1)
local held = redis.pcall('GET', key.lock)
if is_error(held) then return held end
local record = held and parse_record(held)
local fits = ARGV[5] == '' or not held or
  (record and record.id == ARGV[5] and record.version <= tonumber(ARGV[6]))
local away = 0
if ARGV[8] == '1' then
  send_standing_away(key, record, '', function() return true end)
  away = send_away(key, function() return true end) + tonumber(record and record.standing or 0)
end
if not fits then return {'OK', now, 0, away, ''} end
if held then take_away(key, held, tonumber(ARGV[7])) else refuse_renewals(key, tonumber(ARGV[7])) end
-- Of a lock that is named, the token is known: whoever has it was granted it long since.
if ARGV[5] == '' or tonumber(ARGV[7]) <= 0 then part_votes(key, now) end
if held and redis.call('EXISTS', key.tickets) == 1 then call_next(key, now, ARGV[4]) end
return {'OK', now, 1, away, record and record.id or ''}
