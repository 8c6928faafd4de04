-- SPDX-License-Identifier: MIT
-- Purpose: which configuration is to follow the one that this node has. It promises a ballot to hear of no lower one
--   any more, and then takes what is proposed under it: what a quorum has taken is found by every later ballot.
-- KEYS: node
-- ARGV: 1 who | 2 boot | 3 ballot, as texts compare | 4 record that is proposed, or empty = a promise only
-- Returns: OK, now, ballot of what was taken here before, or empty, and its record | NO, now, the ballot that was
--   promised | CONFIG, now, who it is instead | an error
-- Uses: now, text, node
local refused = admit(now, ARGV[1], ARGV[2])
if refused then return refused end
local known = redis.call('HMGET', kMark, 'ballot', 'taken_by', 'taken')
if ARGV[3] < (known[1] or '') then return {'NO', now, known[1]} end
local written = redis.pcall('HSET', kMark, 'ballot', ARGV[3])
if not is_error(written) and ARGV[4] ~= '' then
  written = redis.pcall('HSET', kMark, 'taken_by', ARGV[3], 'taken', ARGV[4])
end
if is_error(written) then return written end
return {'OK', now, known[2] or '', known[3] or ''}
