-- SPDX-License-Identifier: MIT
-- Part: takes those requests out of a queue that `fits` names (by since when in us, instance and owner), and tells
-- their instances: 's' and the attempt id of each; or 'd' and since_most, where these are all of theirs that have
-- waited since then, so that those leave as well whom only their instance knows; then the lock key. Answers how many.
-- A member without an entry is nobody's: only everybody includes it.
local function send_away(key, fits, since_most)
  local lock, queue, entries = key.lock, key.queue, key.entries
  local gone, told, at = {}, {}, 0
  while true do
    local ids = redis.call('ZRANGE', queue, at, at + 499)
    if #ids == 0 then break end
    local found = redis.call('HMGET', entries, unpack(ids))
    for n, id in ipairs(ids) do
      local since, instance, owner =
        string.match(found[n] or '', '^[^|]*|(%d+)|[^|]*|[^|]*|[^|]*|([^|]*)|([^|]*)')
      if fits(tonumber(since), instance, owner) then
        gone[#gone + 1] = id
        if instance then
          told[instance] = told[instance] or {}
          table.insert(told[instance], id)
        end
      end
    end
    at = at + #ids
  end
  for n = 1, #gone, 500 do
    local part = {unpack(gone, n, math.min(n + 499, #gone))}
    redis.call('ZREM', queue, unpack(part))
    redis.call('HDEL', entries, unpack(part))
  end
  for instance, ids in pairs(told) do
    if since_most then
      redis.call('PUBLISH', 'll1:i:' .. instance, 'd' .. digits(since_most) .. '|' .. lock)
    else
      for _, id in ipairs(ids) do redis.call('PUBLISH', 'll1:i:' .. instance, 's' .. id .. lock) end
    end
  end
  if #gone > 0 and redis.call('EXISTS', queue) == 0 then redis.call('DEL', entries) end
  return #gone
end
