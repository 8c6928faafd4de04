-- SPDX-License-Identifier: MIT
-- Part: says whether anybody listens for an instance: 1, 0, or -1 where the server does not tell. Asks once for
-- each.
local heard = {}
local function listens(instance)
  if not heard[instance] then
    local answer = redis.pcall('PUBSUB', 'NUMSUB', 'll1:i:' .. instance)
    heard[instance] = answer.err and -1 or math.min(1, tonumber(answer[2]))
  end
  return heard[instance]
end
