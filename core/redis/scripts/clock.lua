-- SPDX-License-Identifier: MIT
-- Part: the server's time in microseconds since 1970, exact in a double until the year 2255.
local function server_now()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
