// SPDX-License-Identifier: MIT
// The shim and a real redis-server are told the same and must answer the same: the table of commands, single
// lines, long random traces, traces while memory is out and on a replica, and the millisecond in which a key
// expires. Orders that Redis draws from a hash are compared sorted, times with tolerance.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <stdexcept>

#include "lua_shim/internals.hpp"
#include "pair.hpp"
#include "snippets.hpp"

using namespace liblock_test;
using lua_shim::Reply;

namespace {

uint64_t seed() {
  const char *given = std::getenv("LIBLOCK_SEED");
  return given == nullptr ? 1 : std::strtoull(given, nullptr, 10);
}

bool has_flag(const Reply &flags, std::string_view name) {
  return std::any_of(flags.items.begin(), flags.items.end(),
                     [&](const Reply &flag) { return flag.text == name; });
}

}  // namespace

UNIT_TEST(the_table_of_commands_has_the_arities_and_flags_of_redis) {
  using lua_shim::Command;
  constexpr unsigned kUnseen = Command::kMayReplicate;  // COMMAND INFO is silent about it
  RedisProcess redis;
  for (const Command &command : lua_shim::command_table()) {
    const Reply info = redis.command({"COMMAND", "INFO", std::string(command.name)}).items.at(0);
    if (info.items.size() < 3) throw unit::Failure{"unknown to redis: " + std::string(command.name)};
    const Reply &flags = info.items[2];
    const unsigned expected = (has_flag(flags, "write") ? Command::kWrite : 0U) |
                              (has_flag(flags, "denyoom") ? Command::kDenyOom : 0U) |
                              (has_flag(flags, "loading") ? Command::kLoading : 0U) |
                              (has_flag(flags, "noscript") ? Command::kNoScript : 0U);
    if (!info.items[1].is(command.arity) || (command.flags & ~kUnseen) != expected) {
      throw unit::Failure{std::string(command.name) + ": " + std::to_string(command.flags) + ", redis says " +
                          std::to_string(expected) + " and " + info.to_text()};
    }
  }
}

UNIT_TEST(single_lines_are_answered_as_by_redis) {
  Pair pair;
  std::string differences;
  const auto compare = [&](const Words &words) {
    try {
      pair.both(words);
    } catch (const unit::Failure &failure) {
      differences += failure.text + "\n";
    }
  };
  for (const Words &words : command_snippets()) compare(words);
  for (const std::string &body : script_snippets()) compare({"EVAL", body, "1", "key", "argument"});
  if (!differences.empty()) throw unit::Failure{differences};
  pair.compare_all();
}

UNIT_TEST(random_traces_are_answered_as_by_redis) {
  Pair pair;
  Trace trace(seed());
  pair.run(trace, unit::scaled(6'000, 30'000, 300'000));
}

UNIT_TEST(traces_without_memory_are_answered_as_by_redis) {
  Pair pair;
  Trace trace(seed() + 1);
  for (int round = 0; round < 4; ++round) {
    pair.run(trace, 300);
    pair.redis().command({"CONFIG", "SET", "maxmemory", "1"});
    pair.shim().out_of_memory = true;
    for (const std::string &body : declared_scripts()) pair.both({"EVAL", body, "0"});
    pair.run(trace, unit::scaled(500, 3'000, 30'000));
    pair.redis().command({"CONFIG", "SET", "maxmemory", "0"});
    pair.shim().out_of_memory = false;
  }
}

UNIT_TEST(traces_on_a_replica_are_answered_as_by_redis) {
  Pair pair;
  Trace trace(seed() + 2);
  pair.run(trace, 1'000);
  EXPECT(pair.redis().command({"REPLICAOF", "127.0.0.1", "1"}).is_ok());
  pair.shim().read_only = true;
  for (const std::string &body : declared_scripts()) pair.both({"EVAL", body, "0"});
  for (const std::string &body : declared_scripts()) pair.both({"EVAL_RO", body, "0"});
  pair.run(trace, unit::scaled(1'500, 6'000, 30'000));
}

UNIT_TEST(declared_scripts_are_answered_as_by_redis) {
  Pair pair;
  for (const std::string &body : declared_scripts()) {
    pair.both({"EVAL", body, "0"});
    pair.both({"EVAL_RO", body, "0"});
    pair.both({"SCRIPT", "LOAD", body});
  }
}

// Inside a script the server's time stands still, so that the millisecond itself can be tried. The real clock may
// move between the script's begin and its TIME; most often it does not.
UNIT_TEST(a_key_expires_in_the_same_millisecond_as_in_redis) {
  const Words probe = {
      "EVAL",
      "local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000) local out = {}\n"
      "for d = -2, 2 do redis.call('SET', KEYS[1], 'v', 'PXAT', now + d)\n"
      "out[#out + 1] = redis.call('EXISTS', KEYS[1]) end return out",
      "1", "k"};
  Pair pair;
  *pair.clock() = 1'700'000'000'000'000;
  const std::string ours = pair.shim().command(probe).to_text();
  std::map<std::string, int> seen;
  for (int i = 0; i < 500; ++i) ++seen[pair.redis().command(probe).to_text()];
  const auto usual =
      std::max_element(seen.begin(), seen.end(), [](auto &a, auto &b) { return a.second < b.second; });
  if (usual->first != ours) throw unit::Failure{"redis: " + usual->first + ", shim: " + ours};
}

UNIT_TEST(what_info_says_has_the_form_of_redis) {
  Pair pair;
  const std::string real = pair.redis().command({"INFO"}).text;
  const std::string ours = pair.shim().command({"INFO"}).text;
  for (const std::string_view line :
       {"\r\nredis_version:7.0", "\r\nrole:master\r\n", "\r\nmaxmemory_policy:noeviction\r\n",
        "\r\nrun_id:", "\r\nloading:0\r\n"}) {
    if (real.find(line) == std::string::npos) throw unit::Failure{"not said by redis: " + std::string(line)};
    if (ours.find(line) == std::string::npos)
      throw unit::Failure{"not said by the shim: " + std::string(line)};
  }
}

UNIT_MAIN("lua_shim_matches_redis",
          cmocka_unit_test(the_table_of_commands_has_the_arities_and_flags_of_redis),
          cmocka_unit_test(single_lines_are_answered_as_by_redis),
          cmocka_unit_test(declared_scripts_are_answered_as_by_redis),
          cmocka_unit_test(random_traces_are_answered_as_by_redis),
          cmocka_unit_test(traces_without_memory_are_answered_as_by_redis),
          cmocka_unit_test(traces_on_a_replica_are_answered_as_by_redis),
          cmocka_unit_test(a_key_expires_in_the_same_millisecond_as_in_redis),
          cmocka_unit_test(what_info_says_has_the_form_of_redis))
