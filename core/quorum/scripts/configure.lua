-- SPDX-License-Identifier: MIT
-- Purpose: takes a node from one configuration to the next, or brings a new server in.
-- KEYS: node
-- ARGV: 1 who it must be, several separated by spaces | 2 who it is to be | 3 boot | 4 record | 5 max_ttl_ms
-- Returns: OK, now | NEW, now: it has no mark | CONFIG, now, who it is instead | an error
-- Uses: now, text, node
local known = redis.call('HGET', kMark, 'who')
if not known then return {'NEW', now} end
if known == ARGV[2] then return {'OK', now} end
if not string.find(' ' .. ARGV[1] .. ' ', ' ' .. known .. ' ', 1, true) then return {'CONFIG', now, known} end
admit(now, known, ARGV[3])
-- Leases of before are as long as they were: a node that forgets them is silent for no less.
local longest_ms = math.max(mark.max_ttl_ms, tonumber(ARGV[5]))
-- One that is silent already, since it was marked by somebody who knew of no longer ones, is so from now on.
local silent_until = mark.silent_until
if mark.needs_floor and longest_ms > mark.max_ttl_ms then silent_until = now + longest_ms * 1010 end
local written = redis.pcall('HSET', kMark, 'who', ARGV[2], 'record', ARGV[4], 'max_ttl_ms', digits(longest_ms),
  'silent_until', digits(silent_until))
if is_error(written) then return written end
return {'OK', now}
