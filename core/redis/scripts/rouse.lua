-- SPDX-License-Identifier: MIT
-- Part: tells the first waiter of a key that is free, and for whom somebody listens, to try.
local function rouse(lock, waiters, queue, entries)
  while true do
    local first = redis.call('ZPOPMIN', waiters)[1]
    if not first then break end
    if redis.call('PUBLISH', 'll1:i:' .. first, 'w' .. lock) > 0 then return end
  end
  for _, id in ipairs(redis.call('ZRANGE', queue, 0, 99)) do
    local entry = redis.call('HGET', entries, id)
    local instance = entry and string.match(entry, '^[^|]*|%d+|[^|]*|[^|]*|[^|]*|([^|]*)|')
    if instance and redis.call('PUBLISH', 'll1:i:' .. instance, 'w' .. lock) > 0 then return end
  end
end
