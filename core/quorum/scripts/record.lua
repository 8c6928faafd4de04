-- SPDX-License-Identifier: MIT
-- Part: the string that a lock is:
--   ll1|attempt id|sequence|token|owner|instance|@granted_us,lease_ms,state,version,ticket,votes[,standing]|value
-- state c = as it is, p = promised only: whoever asked has not heard yet that it is his, r and a time = restored then:
-- a renewal brought it, and a newer value may have been agreed on with this node before that. votes: how many nodes
-- must have a lock that is on some of them; 0 = as many as the quorum takes. standing: how many stand in line for it
-- within the instance. A string that is not built so was set by another kind of client.
local function record_of(r)
  local granted = r.since == now and since or digits(r.since)
  local version = r.version == 0 and '0' or digits(r.version)
  return 'll1|' .. r.id .. '|' .. r.sequence .. '|' .. digits(r.token) .. '|' .. r.owner .. '|' .. r.instance ..
    '|@' .. granted .. ',' .. r.lease_ms .. ',' .. r.state .. ',' .. version .. ',' .. r.ticket .. ',' .. r.votes ..
    (r.standing and ',' .. r.standing or '') .. '|' .. r.value
end

local function parse_record(text)
  local id, sequence, token, owner, instance, since, lease_ms, state, version, ticket, votes, standing, value =
    string.match(text, '^ll1|(%x+)|(%x+)|(%d+)|([^|]*)|([^|]*)|@(%d+),(%d+),(%a%d*),(%d+),(%d+),(%d+),?(%d*)|(.*)$')
  if not id then return nil end
  return {
    id = id, sequence = sequence, token = tonumber(token), owner = owner, instance = instance, since = tonumber(since),
    lease_ms = lease_ms, state = state, version = tonumber(version), ticket = ticket, votes = votes,
    standing = standing ~= '' and standing or nil, value = value,
  }
end

local function restored(at) return 'r' .. (type(at) == 'number' and digits(at) or at) end
local function restored_at(state) return tonumber(string.sub(state, 2)) or 0 end

-- What a server without memory refuses comes back as an error, and nothing is there then. promise: where this is
-- another lock than was here before: what was promised of that one would keep this one's value out. false: there is
-- neither that nor metadata.
local function write_record(key, r, px_ms, metadata, promise)
  local written = redis.pcall('SET', key.lock, record_of(r), 'PX', px_ms)
  if is_error(written) then return written end
  if promise ~= false then redis.call('DEL', key.metadata, promise or key.metadata) end
  if metadata == '' then return written end
  written = redis.pcall('HSET', key.metadata, unpack(unpack_words(metadata)))
  if is_error(written) then
    redis.call('DEL', key.lock)
  else
    redis.call('PEXPIRE', key.metadata, px_ms)
  end
  return written
end
