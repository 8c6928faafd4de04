-- SPDX-License-Identifier: MIT
-- Purpose: makes a server without a mark a node. One that joins may have forgotten what it knew: it is silent until no
--   lease of then can be left, and until it is told a floor. Only a cluster that is new as a whole may begin at once.
-- KEYS: node
-- ARGV: 1 who | 2 boot | 3 record | 4 max_ttl_ms | 5 1 = trusts its disk | 6 join, begin, or replace = begin whatever
--   is there; one that has joined and never voted may still begin | 7 who it must be, of one that was a node before,
--   under an id that no node has any more, and joins anew
-- Returns: OK, now | CONFIG, now, who it is already | an error
-- Uses: now, text, node
local joins = ARGV[6] == 'join'
local known = redis.call('HMGET', kMark, 'who', 'floor')
-- A mark of a later epoch than the first says that there was a quorum, and that a lock of it may be held still.
local has_voted = known[1] and (known[2] ~= '0' or not string.find(known[1], '^[^|]*|1|'))
if known[1] and known[1] ~= ARGV[7] and (joins or (has_voted and ARGV[6] ~= 'replace')) then
  if joins and known[1] == ARGV[1] then return {'OK', now} end
  return {'CONFIG', now, known[1]}
end
local high = joins and '0' or digits(now)
local written = redis.pcall('HSET', kMark, 'who', ARGV[1], 'boot', ARGV[2], 'record', ARGV[3], 'max_ttl_ms', ARGV[4],
  'trusts_disk', ARGV[5], 'silent_until', joins and digits(now + ARGV[4] * 1010) or '0', 'needs_floor',
  joins and '1' or '0', 'high', high, 'floor', high)
if is_error(written) then return written end
return {'OK', now}
