-- SPDX-License-Identifier: MIT
-- Purpose: second phase: writes the value where it was promised, or gives the promise up.
-- KEYS: node; (lock, fence, metadata, tickets, alive, claim, promise) of each key
-- ARGV: 1 id of the change | 2 1 = write, 0 = give it up | 3 number | 4 value | 5 attempt id that must hold each key …
-- Returns: now, 1 = written, 0 = of a key: not promised any more, or not held, or as newer
-- Uses: now, text, node, names, words, held, record, promised
local all = 1
for n = 1, (#KEYS - 1) / kNames do
  local key = names(n)
  local number, until_us, id = promise_of(key)
  local held = redis.pcall('GET', key.lock)
  local record = id == ARGV[1] and ARGV[2] == '1' and until_us >= now and is_of(held, ARGV[4 + n]) and
    parse_record(held)
  if record and record.version < tonumber(ARGV[3]) then
    record.version, record.value = tonumber(ARGV[3]), ARGV[4]
    if restored_at(record.state) ~= 0 then record.state = 'c' end
    redis.call('SET', key.lock, record_of(record), 'KEEPTTL')
    redis.call('DEL', key.promise)
  else
    all = 0
    -- Where some may have written, it goes on to say until when others may: extend.lua tells that.
    if id == ARGV[1] and ARGV[2] == '0' then write_promise(key, number, 0, id) end
  end
end
return {now, all}
