// SPDX-License-Identifier: MIT
// Small scripts of the kinds that a lock needs, and of the kinds that go wrong. None returns a time.
#include "trace.hpp"

namespace liblock_test {

// Instances by when they count as silent: times of this century in us, exact in both directions.
constexpr char kInstances[] =
    "local now = 1700000000123456\n"
    "for i, member in ipairs(ARGV) do redis.call('ZADD', 'z1', string.format('%.0f', now + i), member) "
    "end\n"
    "local page = redis.call('ZRANGE', 'z1', '-inf', string.format('%.0f', now + 2), 'BYSCORE', 'LIMIT', "
    "0, 3,\n"
    "'WITHSCORES')\n"
    "return {#page, page, redis.call('ZSCORE', 'z1', ARGV[1] or 'a'), redis.call('ZRANGE', 'z1', page[2] "
    "or 0,\n"
    "'+inf', 'BYSCORE', 'LIMIT', 1, 2), redis.pcall('PUBSUB', 'NUMSUB', 'none')}";

const std::vector<std::string> &trace_scripts() {
  static const std::vector<std::string> kScripts = {
      // Conversions of what is returned.
      "return {1, 2.9, -2.9, ARGV[1], {ok = 'FINE'}, {err = 'BAD thing'}, {}, {1, {2}}, true, false, 3, nil, "
      "4}",
      "return {#KEYS, #ARGV, KEYS[1] or 'none', ARGV[2] or 'none', tonumber(ARGV[1]) or 'no number'}",
      "return tonumber(ARGV[1])",
      // Conversions of arguments and replies.
      "local n = tonumber(ARGV[1]) or 0.1\nredis.call('SET', 's0', n) return redis.call('GET', 's0')",
      "redis.call('HSET', 'h0', 'n', 1 / 3, 'm', 2 ^ 40, 'x', 1e17, 'y', -0.5, 'z', 0 * -1)\n"
      "return redis.call('HMGET', 'h0', 'n', 'm', 'x', 'y', 'z', 'none')",
      "local r = redis.call(ARGV[1] or 'GET', KEYS[1])\n"
      "return {type(r), type(r) == 'table' and (r.ok or #r) or r}",
      "local r = redis.pcall(ARGV[1] or 'GET', KEYS[1])\n"
      "return {type(r), type(r) == 'table' and (r.err or r.ok or #r) or r}",
      "return redis.call(unpack(ARGV))",
      "return redis.pcall(unpack(ARGV))",
      "return {pcall(redis.call, unpack(ARGV))}",
      "return {pcall(function() return redis.call('INCR', KEYS[1] or 'h0') end)}",
      // Errors, and what stays of a script that failed.
      "redis.call('SET', 's1', 'kept') redis.call('LPUSH', 's1', ARGV[1])",
      "if ARGV[1] == 'a' then error('a text') elseif ARGV[1] == 'b' then error({err = 'CODE a table'})\n"
      "elseif ARGV[1] == '1' then return redis.error_reply('CODE given') end\nreturn nil + 1",
      "return {redis.error_reply(ARGV[1] or 'X y'), redis.status_reply(ARGV[2] or 'FINE')}",
      "assert(ARGV[1] == 'a', 'not a') return 'a'",
      "newglobal = ARGV[1]",
      "return unknownglobal",
      "local f, problem = loadstring(ARGV[1] or 'return 5') if not f then return problem end\n"
      "return {pcall(f)}",
      // Expiry.
      "if redis.call('EXISTS', 'k') == 0 then redis.call('SET', 'k', 'v', 'PX', 100000000) end\n"
      "local alive = redis.call('PTTL', 'k') > 99000000 and 'long' or 'none'\n"
      "redis.call(ARGV[1] == 'a' and 'PERSIST' or 'EXISTS', 'k') return {alive, redis.call('PTTL', 'k') == "
      "-1}",
      "redis.call('SET', 'k', 'v') redis.call('PEXPIREAT', 'k', 1) return redis.call('EXISTS', 'k')",
      "local t = redis.call('TIME') return {#t, type(t[1]), tonumber(t[1]) > 1000000000, tonumber(t[2]) < "
      "1000000}",
      // A lock with a queue.
      "if redis.call('SET', 's0', ARGV[1] or 'me', 'NX', 'PX', 100000000) then\n"
      "  return {1, redis.call('HINCRBY', 'h0', 'token', 1)} end\n"
      "redis.call('ZADD', 'z0', 'NX', redis.call('INCR', 's1'), ARGV[1] or 'me')\n"
      "return {0, redis.call('ZRANK', 'z0', ARGV[1] or 'me'), redis.call('GET', 's0')}",
      "if redis.call('GET', 's0') ~= ARGV[1] then return {err = 'NOTHELD not yours'} end\n"
      "redis.call('DEL', 's0') local first = redis.call('ZPOPMIN', 'z0') redis.call('PUBLISH', 'c', 'free')\n"
      "return first",
      "for i = 1, #ARGV, 2 do redis.call('HSET', 'h1', ARGV[i], ARGV[i + 1] or '') end\n"
      "local out = {} local all = redis.call('HGETALL', 'h1')\n"
      "for i = 1, #all, 2 do out[#out + 1] = all[i] .. '=' .. all[i + 1] end return table.concat(out, ',')",
      "for i, member in ipairs(ARGV) do redis.call('ZADD', 'z1', i * 1.5, member) end\n"
      "return redis.call('ZRANGE', 'z1', 0, -1, 'WITHSCORES')",
      kInstances,
      // The libraries.
      "return {math.random(1000), tostring(math.random()), math.random(5, 9), math.floor(2.7), math.max(1, "
      "3)}",
      "local words = {} for word in string.gmatch('c b a', '%a') do table.insert(words, word) end\n"
      "table.sort(words) return {table.concat(words, '-'), ('x'):rep(3), string.format('%5.2f|%d', 1.239, "
      "7),\n"
      "string.upper(ARGV[1] or 'u'), select('#', unpack(ARGV)), redis.sha1hex(ARGV[1] or '')}",
      "local co = coroutine.wrap(function() coroutine.yield(redis.call('PING').ok) error('inside') end)\n"
      "return {co(), pcall(co)}",
      "local t = setmetatable({}, {__index = function(_, k) return k end}) return {t.some, rawget(t, 'some') "
      "or 'no'}",
  };
  return kScripts;
}

}  // namespace liblock_test
