-- SPDX-License-Identifier: MIT
-- Purpose: shows a page of the instances that say of themselves that they live, those first that are to count as silent
--   first; or takes those off the list that are dead.
-- KEYS: instances by when they are to count as silent
-- ARGV: 1 from when on | 2 how many of the same moment to pass over | 3 how many to show at most | 4 zombies = only
--   those that are silent, forget = the same, and those for whom nobody listens are taken off; all = all
-- Returns: now, then for each: member, when it is to count as silent, 1 = somebody listens for it, 0 = nobody, -1 = not
--   known
-- Uses: clock, listens
local answer = {server_now()}
local until_when = ARGV[4] == 'all' and '+inf' or string.format('%.0f', answer[1])
local page = redis.call('ZRANGE', KEYS[1], ARGV[1], until_when, 'BYSCORE', 'LIMIT', ARGV[2], ARGV[3], 'WITHSCORES')
for n = 1, #page, 2 do
  local heard = listens(string.match(page[n], '^[^|]*'))
  answer[#answer + 1] = page[n]
  answer[#answer + 1] = string.format('%.0f', page[n + 1])
  answer[#answer + 1] = heard
  if heard == 0 and ARGV[4] == 'forget' then redis.call('ZREM', KEYS[1], page[n]) end
end
return answer
