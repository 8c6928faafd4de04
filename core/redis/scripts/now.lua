-- SPDX-License-Identifier: MIT
-- Part: the server's time in microseconds since 1970: `now`, exact in a double until the year 2255, and `since`, its
--   digits. Not a function, and not printed: who is in a hurry has both for less than clock.lua and text.lua take.
local time = redis.call('TIME')
local since = time[1] .. string.sub('00000', #time[2]) .. time[2]
local now = since + 0
