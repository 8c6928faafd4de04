// SPDX-License-Identifier: MIT
// Kept as plain lists: one line, one rule. Left out is what ends a server of Redis 7.0 (error({})), and what the
// shim refuses on purpose (its README).
#include "snippets.hpp"

namespace liblock_test {

const std::vector<Words> &command_snippets() {
  static const std::string kLong(200, 'x');
  static const std::string kNoSuchSha(40, 'a');
  static const std::vector<Words> kCommands = {
      {"NOSUCH"}, {"nosuch", "a'b", kLong, "y"}, {kLong, "a"}, {"NOSUCH", "line\r\nbreak"}, {""}, {"script|load", "x"},
      {"GET"}, {"SET", "k"}, {"SET", "k", "v", "NX", "XX"}, {"SET", "k", "v", "PX", "0"}, {"SET", "k", "v", "EX", "-1"},
      {"SET", "k", "v", "EX", "9223372036854775807"}, {"SET", "k", "v", "PX", "9223372036854775807"},
      {"SET", "k", "v", "EX"}, {"SET", "k", "v", "KEEPTTL", "EX", "5"}, {"SET", "k", "v", "FOO"},
      {"SET", "k", "v", "PXAT", "1"}, {"EXISTS", "k"}, {"SET", "k", "v"}, {"PEXPIRE", "k", "x"}, {"PEXPIRE", "k", "5", "FOO"},
      {"PEXPIRE", "k", "9223372036854775807"}, {"EXPIRE", "k", "9223372036854775"}, {"PEXPIRE", "k", "1", "NX", "GT"},
      {"PEXPIRE", "k", "1", "GT", "LT"}, {"PEXPIREAT", "k", "-5"}, {"EXISTS", "k"},
      {"SET", "n", "9223372036854775807"}, {"INCR", "n"}, {"INCRBY", "n", "-1"}, {"DECRBY", "n", "-9223372036854775808"},
      {"SET", "n", " 1"}, {"INCR", "n"}, {"SET", "n", "+1"}, {"INCR", "n"}, {"SET", "n", "-0"}, {"INCR", "n"},
      {"ZADD", "z", "1"}, {"ZADD", "z", "1", "a", "2"}, {"ZADD", "z", "NX", "XX", "1", "a"}, {"ZADD", "z", "x", "a"},
      {"ZADD", "z", "GT", "LT", "1", "a"}, {"ZADD", "z", "INCR", "1", "a", "2", "b"}, {"ZADD", "z", "XX", "1", "a"},
      {"EXISTS", "z"}, {"ZADD", "z", "inf", "a", "0.1", "b", "1e300", "c", "123456789012345678", "d"},
      {"ZADD", "z", "INCR", "-inf", "a"}, {"ZRANGE", "z", "0", "-1", "WITHSCORES"}, {"ZRANGE", "z", "0", "1", "FOO"},
      {"ZRANGE", "z", "0", "1", "REV", "LIMIT", "0", "1"}, {"ZRANGE", "z", "0", "1", "LIMIT", "0", "-1"},
      {"ZRANGE", "z", "0", "1", "BYLEX", "WITHSCORES"}, {"ZRANGE", "z", "a", "b", "BYSCORE"}, {"ZRANGE", "z", "a", "b"},
      {"ZRANGE", "z", "(0.1", "inf", "BYSCORE", "LIMIT", "0"}, {"ZRANGE", "z", "0", "1", "BYSCORE", "BYLEX", "WITHSCORES"},
      {"ZRANGEBYSCORE", "z", "0", "1", "LIMIT", "a", "b"}, {"ZRANGEBYSCORE", "z", "0", "1", "REV"},
      {"ZRANGEBYSCORE", "z", "-inf", "inf", "LIMIT", "-1", "5"}, {"ZRANGEBYSCORE", "z", "-inf", "inf", "LIMIT", "1", "-5"},
      {"ZRANGEBYSCORE", "z", " 0", "0x7f"}, {"ZRANGEBYSCORE", "z", "nan", "1"},
      {"ZPOPMIN", "z", "0"}, {"ZPOPMIN", "z", "-1"}, {"ZPOPMIN", "none", "0"}, {"ZPOPMIN", "n", "0"}, {"ZPOPMIN", "z", "1", "2"},
      {"ZREMRANGEBYRANK", "z", "5", "9"}, {"ZREMRANGEBYRANK", "z", "0", "-2"}, {"ZREMRANGEBYRANK", "z", "x", "0"},
      {"LPOP", "none", "0"}, {"LPOP", "none"}, {"LPOP", "n", "0"}, {"LPOP", "n", "-1"}, {"RPUSH", "l", "a", "b", "a", "c"},
      {"LPOP", "l", "0"}, {"LPOP", "l", "1", "2"}, {"LREM", "l", "-1", "a"}, {"LRANGE", "l", "-100", "100"},
      {"LRANGE", "l", "2", "1"}, {"LPOP", "l", "9"}, {"EXISTS", "l"}, {"HSET", "h", "a"}, {"HSET", "h", "a", "1", "b"},
      {"HSET", "h", "f", "x"}, {"HINCRBY", "h", "f", "1"}, {"HSET", "h", "f", "9223372036854775807"}, {"HINCRBY", "h", "f", "1"},
      {"HMGET", "none", "a", "b"}, {"HMGET", "n", "a"}, {"HGETALL", "none"}, {"SADD", "n", "a"},
      {"SCAN", "x"}, {"SCAN", "-1"}, {"SCAN", "0", "COUNT", "0"}, {"SCAN", "0", "COUNT", "x"}, {"SCAN", "0", "FOO", "1"},
      {"SCAN", "0", "COUNT"}, {"SELECT", "0"}, {"SELECT", "1"}, {"SELECT", "x"}, {"SELECT", "-1"}, {"PING", "a", "b"},
      {"CLIENT"}, {"CLIENT", "NOSUCH"}, {"CLIENT", "SETNAME", "a b"}, {"CLIENT", "SETNAME", ""}, {"CLIENT", "SETNAME"},
      {"SCRIPT"}, {"SCRIPT", "nosuch"}, {"SCRIPT", "LOAD"}, {"SCRIPT", "FLUSH", "FOO"}, {"SCRIPT", "FLUSH", "SYNC", "x"},
      {"SCRIPT", "LOAD", "x +"}, {"SCRIPT", "LOAD", "return 1"}, {"EVALSHA", "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB", "0"},
      {"SCRIPT", "EXISTS", "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB", "x", kNoSuchSha}, {"SCRIPT", "FLUSH"},
      {"EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0"}, {"EVALSHA", kNoSuchSha, "0"}, {"EVALSHA", "x", "9"},
      {"EVALSHA", kNoSuchSha, "9"}, {"EVALSHA", kNoSuchSha, "x"}, {"EVAL", "return 1", "-1"}, {"EVAL", "return 1", "1"},
      {"EVAL", "return 1", "x"}, {"EVAL"}, {"EVAL", "\x1bLua", "0"}, {"EVAL", "", "0"}, {"EVAL", "return 1 +\n\n 'x", "0"},
      {"EVAL_RO", "return redis.call('SET', 'a', 'b')", "0"}, {"EVAL_RO", "return redis.call('PUBLISH', 'a', 'b')", "0"},
      {"EVALSHA_RO", kNoSuchSha, "0"}, {"WAIT", "0", "x"}, {"WAIT", "0", "-1"}, {"WAIT", "x", "0"}, {"WAIT", "0", "0"},
      {"FLUSHALL", "FOO"}, {"FLUSHALL", "SYNC", "FOO"}, {"FLUSHALL", "ASYNC"}, {"TIME", "x"}, {"PUBLISH", "c"},
      {"SET", "pat", "1"}, {"TYPE", "pat"}, {"TYPE", "none"}, {"DBSIZE"},
  };
  return kCommands;
}

const std::vector<std::string> &script_snippets() {
  static const std::vector<std::string> kScripts = {
      "x = 1", "return x", "\nx = 1", "local f = function() return redis.call('foo') end\nreturn f()", "string.x = 1",
      "_G.string = nil", "KEYS = 1", "ARGV[1] = 1 return ARGV[1]", "redis.foo = 1", "return string.foo", "return redis.foo",
      "rawset(_G, 'a', 1)", "setmetatable(_G, {})", "setmetatable(string, {})", "return type(getmetatable(_G))",
      "getmetatable(_G).__index = nil", "return pairs == _G.pairs", "return _G._G == _G", "return print", "return setfenv",
      "return newproxy", "return require", "return dofile", "return debug", "return io", "return getfenv", "return module",
      "return {tostring(_VERSION), redis.REDIS_VERSION_NUM, redis.REDIS_VERSION}",
      "return {redis.LOG_DEBUG, redis.LOG_VERBOSE, redis.LOG_NOTICE, redis.LOG_WARNING, redis.REPL_ALL, redis.REPL_NONE}",
      "return {type(load), type(loadstring), type(xpcall), type(gcinfo), type(collectgarbage), type(rawequal), type(error)}",
      "local out = {} for _, name in ipairs({'byte', 'char', 'dump', 'find', 'format', 'gfind', 'gmatch', 'gsub', 'len',\n"
      "'lower', 'match', 'rep', 'reverse', 'sub', 'upper'}) do out[#out + 1] = type(string[name]) end return out",
      "local out = {} for _, name in ipairs({'concat', 'foreach', 'foreachi', 'getn', 'insert', 'maxn', 'remove', 'setn',\n"
      "'sort'}) do out[#out + 1] = type(table[name]) end return out",
      "local out = {} for _, name in ipairs({'abs', 'ceil', 'exp', 'fmod', 'huge', 'log', 'mod', 'modf', 'pow', 'random',\n"
      "'randomseed', 'sqrt', 'tan'}) do out[#out + 1] = type(math[name]) end return out",
      "return redis.call()", "return redis.pcall()", "return redis.call('get')", "return redis.call('get', {})",
      "return redis.call('get', nil)", "return redis.call('GET', true)", "return redis.call('', 1)",
      "return redis.call('EVAL', 'return 1', '0')", "return redis.call('SCRIPT', 'FLUSH')", "return redis.call('SCRIPT', 'no')",
      "return redis.call('WAIT', 0, 0)", "return redis.call('CLIENT', 'SETNAME', 'x')", "return redis.call('SELECT', 0)",
      "return redis.call('PING')", "return redis.call('SET', 'k', 0.1) and redis.call('GET', 'k')",
      "return redis.call('SET', 'k', 1e17) and redis.call('GET', 'k')",
      "return redis.call('SET', 'k', 999999999999999) and redis.call('GET', 'k')",
      "return redis.call('SET', 'k', 1e15) and redis.call('GET', 'k')", "redis.call('SET', 'k', -0) return redis.call('GET', 'k')",
      "redis.call('SET', 'k', 0 / 0) return redis.call('GET', 'k')", "redis.call('SET', 'k', 1 / 0) return redis.call('GET', 'k')",
      "local o = {} for k, v in pairs(redis.pcall('foo')) do o[#o + 1] = k .. '=' .. tostring(v) end table.sort(o) return o",
      "redis.call('SET', 'k', 'abc') local o = {} for k, v in pairs(redis.pcall('INCR', 'k')) do o[#o + 1] = k .. tostring(v) end\n"
      "table.sort(o) return o",
      "local o = {} for k, v in pairs(redis.error_reply('A b')) do o[#o + 1] = k .. tostring(v) end table.sort(o) return o",
      "local ok, e = pcall(redis.call, 'get') return {ok and 1 or 0, type(e), e}",
      "local e = redis.pcall('INCR', 'k') error(e)", "local e = redis.pcall('INCR', 'k') error(e.err)",
      "local e = redis.pcall('INCR', 'k') return e", "return {pcall(error, {err = 'x'})}", "return {pcall(error, {code = 5})}",
      "return {pcall(error)}", "return {xpcall(function() error('q') end, function(e) return 'h:' .. e end)}", "return {pcall()}",
      "local ok, e = xpcall(function() redis.call('foo') end, function(e) return e end) return {type(e), e.err}",
      "return redis.error_reply('MYERR')", "return redis.error_reply('-MYERR')", "return redis.error_reply('-MYERR two')",
      "return redis.error_reply('my err\\nx')", "return redis.error_reply('x y\\r\\n')", "return redis.error_reply(1)",
      "return redis.error_reply()", "return redis.error_reply('')", "return redis.status_reply('X')", "return redis.status_reply()",
      "return redis.status_reply(1)", "return {err = 'abc'}", "return {err = '-abc d'}", "return {ok = 'a\\nb'}", "return {err = 5}",
      "return {ok = 5}", "return {err = ''}", "return {ok = ''}", "return {ok = 'a', err = 'b'}", "return {err = 'a', 1, 2}",
      "error('x')", "error('x', 0)", "error('x', 2)", "error({err = 'MY x'})", "error({err = 'MY x', line = 7})", "error()",
      "error(nil)", "error(5)", "error(true)", "error('a\\nb')", "assert(false)", "assert(nil, 'why')", "assert(false, {err = 'A b'})",
      "return nil + 1", "return nil .. 1", "return ({}).x.y", "return #5", "return {} < {}", "nofunction()",
      "local function f() return f() + 1 end return f()", "coroutine.wrap(function() error('in co') end)()",
      "return coroutine.wrap(function() return redis.call('foo') end)()", "string.rep()", "string.rep('x', -1)", "return ('x'):bad()",
      "return {1, 2.9, -2.9, 1e30, 0 / 0, 1 / 0, -1e30, 9007199254740993}", "return {1, nil, 3}", "return {false, true, 1}",
      "return {{}, {{}}}", "return 1, 2", "return", "return nil", "return true", "return false", "return function() end", "return -0.5",
      "return 3.999", "return '1.5'", "return {a = 1}", "return {double = 1.5}", "return {double = 3}", "return {double = '1'}",
      "return {[0] = 5, 6}", "return setmetatable({}, {__index = function() return 1 end})", "return {coroutine.create(print or error)}",
      "return redis.sha1hex()", "return redis.sha1hex('a')", "return redis.sha1hex(1)", "return redis.sha1hex(('x'):rep(200))",
      "return redis.sha1hex(('x'):rep(55))", "return redis.sha1hex(('x'):rep(56))", "return redis.sha1hex(('x'):rep(64))",
      "return redis.sha1hex({})", "return redis.log(1)", "return redis.log('x', 'y')", "return redis.log(9, 'y')",
      "return {redis.log(redis.LOG_DEBUG, 'a')}", "return {redis.replicate_commands(), redis.set_repl(redis.REPL_ALL)}",
      "return redis.set_repl()", "return redis.setresp()", "return redis.setresp(2)", "return math.random(0)", "return math.random(1, 2, 3)",
      "return {math.random(100), math.random(100), tostring(math.random())}", "math.randomseed(5) return {math.random(1000), math.random(7, 9)}",
      "return {loadstring('\\27Lua')}", "return select(2, loadstring('\\27Lua'))", "return select(2, loadstring('x ='))",
      "return select(2, loadstring('x =', '=name'))", "return select(2, load(function() return nil end)) or 'empty'",
      "local n = 0 local f = load(function() n = n + 1 return ({'return ', '4', '2'})[n] end) return f()",
      "local n = 0 return select(2, load(function() n = n + 1 return ({'\\27', 'Lua'})[n] end))",
      "return select(2, load(function() return {} end))", "return select(2, pcall(load, 5))", "return select(2, pcall(loadstring))",
      "return loadstring('return KEYS[1] .. ARGV[1]')()", "return select(2, pcall(loadstring('y = 1')))",
      "return {string.format('%q', 'a\"b'), ('%d'):format(3.7), tostring(1e15), tostring(0.1), tostring(100)}",
      "return {tostring(2^53), tonumber('0x10'), tonumber('10', 2), tonumber(' 5 '), tonumber('5x') or 'no'}",
      "return {table.concat({1, 2.5, 'x'}, ','), #'a\\0b', ('a\\0b'):byte(2)}", "return 'a\\0b'", "return redis.call('ECHO', 'a\\0b')",
      "redis.call('DEL', 'k') return redis.call('HGET', 'k', 'f')", "return redis.call('HMGET', 'k', 'a', 'b')",
      "return redis.call('ZADD', 'zz', 'INCR', 1, 'm')", "return {redis.call('ZPOPMIN', 'zz'), redis.call('LPOP', 'none')}",
      "return redis.call('TYPE', 'none')", "return redis.call('TYPE', 'none').ok", "return tostring(redis.call('GET', 'none'))",
  };
  return kScripts;
}

const std::vector<std::string> &declared_scripts() {
  static const std::vector<std::string> kScripts = {
      "#!lua\nreturn 1", "#!lua flags=\nreturn 1", "#!lua flags=no-writes\nreturn redis.call('SET', 'a', 'b')",
      "#!lua flags=no-writes\nreturn redis.call('GET', 'a')", "#!lua flags=no-writes\nreturn redis.call('PUBLISH', 'a', 'b')",
      "#!lua flags=allow-oom\nreturn redis.call('SET', 'a', 'b')", "#!lua flags=no-writes,allow-oom\nerror('x')",
      "#!lua flags=allow-stale,no-cluster\nx = 1", "#!lua flags=foo\nreturn 1", "#!python\nreturn 1", "#!lua name=x\nreturn 1",
      "#!lua", "#!lua foo\nreturn 1", "#!lua\nreturn 1 +", "#!lua  flags=no-writes\nreturn 1",
      "return redis.call('SET', 'a', 'b')", "redis.call('DEL', 'none') return redis.call('SET', 'a', 'b')",
      "redis.pcall('LPUSH', 'x') return redis.pcall('SET', 'a', 'b')", "redis.pcall('SET', 'a') return redis.call('SET', 'a', 'b')",
      "return redis.call('HDEL', 'none', 'b')", "return redis.call('GET', 'a')", "return redis.call('PUBLISH', 'a', 'b')",
      "redis.pcall('SET', 'a', 'b') redis.call('DEL', 'none') return redis.call('SET', 'a', 'c')",
  };
  return kScripts;
}

}  // namespace liblock_test
