// SPDX-License-Identifier: MIT
// What the command line asks for, as plain values: filled in by parse(), read by the commands. Durations are in
// milliseconds already; -1 stands for none or for ever, LIBLOCK_DEFAULT for what the library takes by default.
#pragma once

#include <liblock/liblock.h>

#include <cstdint>
#include <string>
#include <vector>

#include "terminal.hpp"

namespace lockctl {

// Of every command: which server, who we are there, and how to print.
struct Settings {
  std::string url;  // without what credentials.cpp has taken out of it
  std::string user, password, password_file;
  bool url_is_of_environment = false, password_is_of_environment = false;
  std::string prefix;
  bool has_prefix = false;
  std::string ca_file, certificate_file, key_file;
  bool insecure = false;
  int64_t timeout_ms = LIBLOCK_DEFAULT;
  int64_t max_ttl_ms = LIBLOCK_DEFAULT;  // quorum init
  int32_t votes = 0;
  WhenColour colour = WhenColour::automatic;
  bool json = false;
};

struct RunOptions {
  std::string key, value;
  std::vector<std::string> command;
  int64_t ttl_ms = LIBLOCK_TTL_AUTO, wait_ms = -1, grace_ms = 5000, max_hold_ms = -1;
  int32_t order = LIBLOCK_ORDER_FIFO, priority = 0;
  bool no_renew = false, descendants = false, quiet = false;
};

struct ListOptions {
  std::string key_prefix;
  bool locks = false, queues = false, zombies = false, count = false;
};

struct KeyOptions {
  std::string key;
};

struct WatchOptions {
  std::string key;  // empty = all
  int64_t interval_ms = 1000, for_ms = -1;
};

struct ReleaseOptions {
  std::string key;
  bool force = false, drop_queue = false, yes = false;
};

struct ClearOptions {
  std::string owner, instance;
  bool yes = false;
};

struct DeadOptions {
  bool clear = false, yes = false;
  int64_t dead_ttl_ms = 86400000;
};

struct QuorumOptions {
  bool force = false, yes = false;
  int64_t for_ms = -1;
  std::vector<std::string> nodes, observers;
};

struct PingOptions {
  int64_t count = 1;
};

struct TopOptions {
  int64_t interval_ms = 1000, rounds = -1;
};

struct BenchOptions {
  int64_t threads = 4, duration_ms = 2000;
};

struct CompletionOptions {
  std::string shell;
};

struct Arguments {
  std::string
      command;  // as in "run" or "quorum init"; empty = what was asked for is done (--help, --version)
  Settings settings;
  RunOptions run;
  ListOptions list;
  KeyOptions key;
  WatchOptions watch;
  ReleaseOptions release;
  ClearOptions clear;
  DeadOptions dead;
  QuorumOptions quorum;
  PingOptions ping;
  TopOptions top;
  BenchOptions bench;
  CompletionOptions completion;
};

// Reads the command line; a mistake in it is a Failure of kUsage.
void parse(int argc, char **argv, Arguments &arguments);

// What parse() understands, for those who tell others of it: the completions of the shells.
struct OptionSpec {
  std::vector<std::string> names;  // "--ttl", "-n"
  std::string help;
  bool takes_value = false, is_file = false;
  std::vector<std::string> choices;  // of its value, where it has only some
};
struct CommandSpec {
  std::string name;  // "quorum init"; empty = options of every command
  std::string help;
  std::vector<OptionSpec> options;
};
std::vector<CommandSpec> describe();

}  // namespace lockctl
