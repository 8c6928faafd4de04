-- SPDX-License-Identifier: MIT
-- hello.c from LuaJIT: the declarations are the header's own, copied. Usage: luajit hello.lua [URL]; the library is
-- liblock.so.0 where the loader finds it, or what LIBLOCK_LIBRARY names.
local ffi = require "ffi"

ffi.cdef [[
typedef int32_t liblock_status;
typedef uint64_t liblock_lock;
typedef struct liblock_context liblock_context;
typedef struct liblock_result {
  size_t struct_size;
  liblock_status status;
  uint32_t attempts;
  uint64_t token;
  int64_t waited_ms, remaining_ms, queue_position, queue_length;
  uint32_t hold_count, flags, votes, nodes;
  char message[256];
  uint32_t replicas, reserved;
  void *info;
} liblock_result;
liblock_status liblock_open(const char *url, const void *options, liblock_context **context, liblock_result *result);
liblock_status liblock_acquire(liblock_context *context, const void *key, size_t key_size, const void *options,
                               liblock_lock *lock, liblock_result *result);
liblock_status liblock_try_acquire(liblock_context *context, const void *key, size_t key_size, const void *options,
                                   liblock_lock *lock, liblock_result *result);
liblock_status liblock_release(liblock_context *context, liblock_lock lock, liblock_result *result);
void liblock_context_free(liblock_context *context);
const char *liblock_status_text(liblock_status status);
]]
local OK, BUSY = 0, 1
local liblock = ffi.load(os.getenv("LIBLOCK_LIBRARY") or "liblock.so.0")

-- Of the calls that fill a result, which is their last argument: its message has cause and cure of what failed.
local function checked(call, ...)
  local result = ffi.new("liblock_result", {struct_size = ffi.sizeof("liblock_result")})
  local arguments = {...}
  arguments[select("#", ...) + 1] = result
  local status = call(unpack(arguments, 1, select("#", ...) + 1))
  if status == OK then return result end
  local why = ffi.string(result.message)
  error(why ~= "" and why or ffi.string(liblock.liblock_status_text(status)), 2)
end

local function open(url)
  local context = ffi.new("liblock_context *[1]")
  checked(liblock.liblock_open, url, nil, context)
  return ffi.gc(context[0], liblock.liblock_context_free)
end

-- Runs work(token) while the key is held, and gives it back however that ends.
local function hold(context, key, work)
  local lock = ffi.new("liblock_lock[1]")
  local token = checked(liblock.liblock_acquire, context, key, #key, nil, lock).token
  local good, why = pcall(work, token)
  checked(liblock.liblock_release, context, lock[0])
  if not good then error(why, 0) end
  return token
end

local context = open(arg[1] or "local:hello")
local first = hold(context, "greeting", function(token)
  print('hello: I hold "greeting" with token ' .. (tostring(token):gsub("ULL$", "")))
  local second = ffi.new("liblock_lock[1]")
  assert(liblock.liblock_try_acquire(context, "greeting", 8, nil, second, nil) == BUSY, "somebody else could take it")
end)
assert(not pcall(hold, context, "greeting", function() error("in the work") end), "an error of the work is told")
assert(hold(context, "greeting", function() end) > first, "a later token is not larger")
