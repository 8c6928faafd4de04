-- SPDX-License-Identifier: MIT
-- Purpose: tells a node that may have forgotten tokens which one it must exceed; its votes count again.
-- KEYS: node
-- ARGV: 1 who | 2 boot | 3 floor | 4 until when the node was to be silent when the others were asked
-- Returns: OK, now | EARLY, now, silent until: or it has forgotten once more since | CONFIG, now, who it is instead |
--   an error
-- Uses: now, text, node
local refused = admit(now, ARGV[1], ARGV[2])
if refused then return refused end
if now < mark.silent_until then return {'EARLY', now, mark.silent_until} end
if tonumber(ARGV[4]) ~= mark.silent_until then return {'EARLY', now, mark.silent_until} end
if tonumber(ARGV[3]) >= 4503599627370496 then
  return redis.error_reply('LIBLOCK there are no such fencing tokens')
end
local floor = math.max(mark.floor, tonumber(ARGV[3]), 1)
redis.call('HSET', kMark, 'floor', digits(floor), 'high', digits(math.max(mark.high, floor)), 'needs_floor', '0')
return {'OK', now}
