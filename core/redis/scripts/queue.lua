-- SPDX-License-Identifier: MIT
-- Purpose: shows a page of the queue of a key: who waits, in the order in which they will be served.
-- KEYS: queue, entries
-- ARGV: 1 place of the first to show | 2 how many at most
-- Returns: now, length of the queue, then for each that is shown: attempt id, its entry (2 KiB of it, which has
--   everything before its rest) or an empty string
-- Uses: clock
local answer = {server_now(), redis.call('ZCARD', KEYS[1])}
local ids = redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[1] + ARGV[2] - 1)
if #ids == 0 then return answer end
local entries = redis.call('HMGET', KEYS[2], unpack(ids))
for n, id in ipairs(ids) do
  answer[#answer + 1] = id
  answer[#answer + 1] = string.sub(entries[n] or '', 1, 2048)
end
return answer
