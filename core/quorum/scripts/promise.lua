-- SPDX-License-Identifier: MIT
-- Purpose: first phase of a change of a lock's value: promises it to one who asks, when the lock is as he believes.
-- KEYS: node; (lock, fence, metadata, tickets, alive, claim, promise) of each key
-- ARGV: 1 who | 2 boot | 3 not_after | 4 id of the change | 5 promise_ms | 6 number of the change, and of the value |
--   7 id = the attempt id of each lock is, value = its value is | 8 that, of each key …
-- Returns: OK, now, 1 = it counts, attempt id of the first, 1 = none was restored here | NO, now, 0 = not held,
--   1 = as something else, 2 = promised to another, 3 = the number is too small, the largest number here | LATE, now |
--   CONFIG, now, who it is instead | an error
-- Uses: now, text, node, names, words, held, record, promised
local refused = admit(now, ARGV[1], ARGV[2])
if refused then return refused end
if now > tonumber(ARGV[3]) then return {'LATE', now} end
local first, knows = nil, 1
for n = 1, (#KEYS - 1) / kNames do
  local key = names(n)
  local held = redis.pcall('GET', key.lock)
  if is_error(held) then return held end
  if not held then return {'NO', now, 0, 0} end
  local record = parse_record(held)
  local fits = record and (ARGV[7] == 'id' and record.id == ARGV[7 + n] or
    ARGV[7] == 'value' and record.state ~= 'p' and record.value == ARGV[7 + n])
  if not fits then return {'NO', now, 1, 0} end
  first = first or record.id
  if restored_at(record.state) ~= 0 then knows = 0 end
  local number, until_us = promise_of(key)
  local largest = math.max(number, record.version)
  if until_us >= now then return {'NO', now, 2, largest} end
  if tonumber(ARGV[6]) <= largest then return {'NO', now, 3, largest} end
end
for n = 1, (#KEYS - 1) / kNames do
  local written = write_promise(names(n), tonumber(ARGV[6]), now + ARGV[5] * 1000, ARGV[4])
  if is_error(written) then return written end
end
return {'OK', now, votes(now), first, knows}
