-- SPDX-License-Identifier: MIT
-- Part: wakes the first waiter of a key that was just freed. A waiter is an instance; one that nobody
-- listens for any more is taken out, and the next has its turn. Answers 1 when it is the caller himself.
local function wake(waiters, lock, self)
  while true do
    local first = redis.call('ZPOPMIN', waiters)[1]
    if not first then return 0 end
    if first == self then return 1 end
    if redis.call('PUBLISH', 'll1:i:' .. first, 'w' .. lock) > 0 then return 0 end
  end
end
