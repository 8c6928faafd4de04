// SPDX-License-Identifier: MIT
// Every command that the server knows, in the order of the names. Arities and flags are Redis's own; a test compares
// them with what COMMAND INFO says.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "commands.hpp"
#include "text.hpp"

namespace liblock_test::lua_shim {

namespace {

constexpr unsigned kWrite = Command::kWrite;
constexpr unsigned kDenyOom = Command::kDenyOom;
constexpr unsigned kLoading = Command::kLoading;
constexpr unsigned kNoScript = Command::kNoScript;
constexpr unsigned kMayReplicate = Command::kMayReplicate;

constexpr auto kTable = std::to_array<Command>({
    {"client|setname", 3, kLoading | kNoScript, run_client_setname},
    {"dbsize", 1, 0, run_dbsize},
    {"decr", 2, kWrite | kDenyOom, run_decr},
    {"decrby", 3, kWrite | kDenyOom, run_decrby},
    {"del", -2, kWrite, run_del},
    {"echo", 2, kLoading, run_echo},
    {"eval", -3, kNoScript, run_eval},
    {"eval_ro", -3, kNoScript, run_eval_ro},
    {"evalsha", -3, kNoScript, run_evalsha},
    {"evalsha_ro", -3, kNoScript, run_evalsha_ro},
    {"exists", -2, 0, run_exists},
    {"expire", -3, kWrite, run_expire},
    {"flushall", -1, kWrite, run_flushall},
    {"get", 2, 0, run_get},
    {"getdel", 2, kWrite, run_getdel},
    {"hdel", -3, kWrite, run_hdel},
    {"hexists", 3, 0, run_hexists},
    {"hget", 3, 0, run_hget},
    {"hgetall", 2, 0, run_hgetall},
    {"hincrby", 4, kWrite | kDenyOom, run_hincrby},
    {"hkeys", 2, 0, run_hkeys},
    {"hlen", 2, 0, run_hlen},
    {"hmget", -3, 0, run_hmget},
    {"hset", -4, kWrite | kDenyOom, run_hset},
    {"hsetnx", 4, kWrite | kDenyOom, run_hsetnx},
    {"incr", 2, kWrite | kDenyOom, run_incr},
    {"incrby", 3, kWrite | kDenyOom, run_incrby},
    {"info", -1, kLoading, run_info},
    {"llen", 2, 0, run_llen},
    {"lpop", -2, kWrite, run_lpop},
    {"lpush", -3, kWrite | kDenyOom, run_lpush},
    {"lrange", 4, 0, run_lrange},
    {"lrem", 4, kWrite, run_lrem},
    {"mget", -2, 0, run_mget},
    {"persist", 2, kWrite, run_persist},
    {"pexpire", -3, kWrite, run_pexpire},
    {"pexpireat", -3, kWrite, run_pexpireat},
    {"pexpiretime", 2, 0, run_pexpiretime},
    {"ping", -1, 0, run_ping},
    {"pttl", 2, 0, run_pttl},
    {"publish", 3, kLoading | kMayReplicate, run_publish},
    {"pubsub|numsub", -2, kLoading, run_pubsub_numsub},
    {"rpop", -2, kWrite, run_rpop},
    {"rpush", -3, kWrite | kDenyOom, run_rpush},
    {"sadd", -3, kWrite | kDenyOom, run_sadd},
    {"scan", -2, 0, run_scan},
    {"scard", 2, 0, run_scard},
    {"script|exists", -3, kNoScript, run_script_exists},
    {"script|flush", -2, kNoScript, run_script_flush},
    {"script|load", 3, kNoScript, run_script_load},
    {"select", 2, kLoading, run_select},
    {"set", -3, kWrite | kDenyOom, run_set},
    {"setnx", 3, kWrite | kDenyOom, run_setnx},
    {"sismember", 3, 0, run_sismember},
    {"smembers", 2, 0, run_smembers},
    {"srem", -3, kWrite, run_srem},
    {"time", 1, kLoading, run_time},
    {"ttl", 2, 0, run_ttl},
    {"type", 2, 0, run_type},
    {"unlink", -2, kWrite, run_del},
    {"wait", 3, kNoScript, run_wait},
    {"zadd", -4, kWrite | kDenyOom, run_zadd},
    {"zcard", 2, 0, run_zcard},
    {"zcount", 4, 0, run_zcount},
    {"zincrby", 4, kWrite | kDenyOom, run_zincrby},
    {"zpopmax", -2, kWrite, run_zpopmax},
    {"zpopmin", -2, kWrite, run_zpopmin},
    {"zrange", -4, 0, run_zrange},
    {"zrangebyscore", -4, 0, run_zrangebyscore},
    {"zrank", 3, 0, run_zrank},
    {"zrem", -3, kWrite, run_zrem},
    {"zremrangebyrank", 4, kWrite, run_zremrangebyrank},
    {"zremrangebyscore", 4, kWrite, run_zremrangebyscore},
    {"zrevrangebyscore", -4, 0, run_zrevrangebyscore},
    {"zrevrank", 3, 0, run_zrevrank},
    {"zscore", 3, 0, run_zscore},
});

static_assert(std::is_sorted(kTable.begin(), kTable.end(),
                             [](const Command &a, const Command &b) { return a.name < b.name; }));

constexpr size_t kNameBytesMax = 32;

const std::unordered_map<std::string_view, const Command *> &by_name() {
  static const auto names = [] {
    std::unordered_map<std::string_view, const Command *> all;
    for (const Command &command : kTable) all.emplace(command.name, &command);
    return all;
  }();
  return names;
}

}  // namespace

std::span<const Command> command_table() { return kTable; }

const Command *find_command(Argv argv) {
  std::array<char, kNameBytesMax> buffer{};
  size_t size = 0;
  const auto append = [&](std::string_view text) {
    if (size + text.size() > buffer.size()) return false;
    for (const char c : text) buffer[size++] = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return true;
  };
  if (argv.empty() || argv[0].find('|') != std::string_view::npos || !append(argv[0])) return nullptr;
  const auto written = [&] { return std::string_view(buffer.data(), size); };
  if (argv.size() > 1 && (written() == "script" || written() == "client" || written() == "pubsub")) {
    if (!append("|") || !append(argv[1])) return nullptr;
  }
  const auto at = by_name().find(written());
  return at != by_name().end() ? at->second : nullptr;
}

}  // namespace liblock_test::lua_shim
