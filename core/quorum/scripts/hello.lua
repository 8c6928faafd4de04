-- SPDX-License-Identifier: MIT
-- Purpose: what the node is and how it does; a restart is noticed.
-- KEYS: node
-- ARGV: 1 boot
-- Returns: now, who or an empty string where it has no mark, record, longest lease in ms, silent until, 1 = it needs a
--   floor, largest token here, 1 = it trusts its disk, floor, 0 = it has never voted
-- Uses: now, text, node
local known = redis.call('HMGET', kMark, 'who', 'record', 'trusts_disk')
if not known[1] then return {now, '', '', 0, 0, 0, 0, 0, 0} end
admit(now, known[1], ARGV[1])
return {now, known[1], known[2], mark.max_ttl_ms, mark.silent_until, mark.needs_floor and 1 or 0,
  math.max(mark.high, mark.floor), tonumber(known[3]), mark.floor}
