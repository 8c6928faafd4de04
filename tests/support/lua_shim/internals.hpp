// SPDX-License-Identifier: MIT
// What a server is made of, and what a command sees of it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "dataset.hpp"
#include "interpreter.hpp"
#include "reply.hpp"
#include "server.hpp"

namespace liblock_test::lua_shim {

struct Internals {
  Internals(Server &of, const int64_t *clock_us, std::string_view given_name)
      : server(of), data(clock_us), interpreter(*this), name(given_name) {}

  // A process has a run id of its own.
  void begin_run();

  Server &server;
  Dataset data;
  Interpreter interpreter;
  std::string name;
  std::string run_id;
  uint64_t starts = 0;
};

using Argv = std::span<const std::string_view>;

struct Call {
  Internals &in;
  Argv args;  // the command's name first; never empty

  Dataset &data() const { return in.data; }
  size_t count() const { return args.size(); }
  std::string_view operator[](size_t i) const { return args[i]; }
  std::string_view key() const { return args[1]; }
};

struct Command {
  enum Flag : unsigned {
    kWrite = 1,
    kDenyOom = 2,       // refused when memory is out
    kLoading = 4,       // allowed while the data set is loaded
    kNoScript = 8,      // refused inside scripts
    kMayReplicate = 16  // refused inside scripts that only read
  };

  std::string_view name;  // lower case; of a subcommand "script|load"
  int arity;              // words with the name; negative: at least so many
  unsigned flags;
  Reply (*run)(const Call &call);
};

// In the order of their names.
std::span<const Command> command_table();
// nullptr when there is none. Looks at the second word of a command with subcommands.
const Command *find_command(Argv argv);

// A command of a client.
Reply dispatch(Internals &in, Argv argv);
// A command of a script; the error is without the place in the script.
Reply dispatch_from_script(Internals &in, ScriptRun &run, Argv argv);
// Whether the state of the server forbids a client's command: nil when not, else the error.
Reply refusal(const Server &server, unsigned flags);

}  // namespace liblock_test::lua_shim
