// SPDX-License-Identifier: MIT
// Who may run what: the checks before a command, in Redis's order and words. A script's commands are checked
// against what memory was when the script began, and not at all for memory or role once it has written.
#include "errors.hpp"
#include "internals.hpp"
#include "text.hpp"

namespace liblock_test::lua_shim {

namespace {

constexpr size_t kShownBytesMax = 128;

bool fits_arity(const Command &command, size_t count) {
  const auto words = static_cast<int>(count);
  return command.arity > 0 ? words == command.arity : words >= -command.arity;
}

bool has_subcommands(std::string_view name) { return same_name(name, "script") || same_name(name, "client"); }

Reply unknown_command(Argv argv) {
  if (has_subcommands(argv[0])) {
    if (argv.size() == 1) return wrong_count(lower_case(argv[0]));
    std::string upper(argv[0]);
    for (char &c : upper) {
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    return Reply::error("ERR unknown subcommand '" + std::string(argv[1].substr(0, kShownBytesMax)) +
                        "'. Try " + upper + " HELP.");
  }
  std::string shown;
  for (size_t i = 1; i < argv.size() && shown.size() < kShownBytesMax; ++i) {
    shown += "'" + std::string(argv[i].substr(0, kShownBytesMax - shown.size())) + "' ";
  }
  return Reply::error("ERR unknown command '" + std::string(argv[0].substr(0, kShownBytesMax)) +
                      "', with args beginning with: " + shown);
}

unsigned declared_flags(const Internals &in, const Command &command, Argv argv) {
  if (!command.name.starts_with("eval")) return 0;
  return in.interpreter.declared_flags({argv[1], command.name.starts_with("evalsha"), false, {}, {}});
}

}  // namespace

Reply refusal(const Server &server, unsigned flags) {
  if ((flags & Command::kDenyOom) != 0 && server.out_of_memory) return Reply::error(kOutOfMemory);
  if ((flags & Command::kWrite) != 0 && server.read_only) return Reply::error(kReadOnly);
  if ((flags & Command::kLoading) == 0 && server.loading) return Reply::error(kLoadingData);
  return {};
}

Reply dispatch(Internals &in, Argv argv) {
  if (argv.empty()) return Reply::error("ERR lua_shim: a command has no name");
  const Command *command = find_command(argv);
  if (command == nullptr) return unknown_command(argv);
  if (!fits_arity(*command, argv.size())) return wrong_count(command->name);
  Reply refused = refusal(in.server, command->flags | declared_flags(in, *command, argv));
  if (refused.is_error()) return refused;
  return command->run(Call{in, argv});
}

Reply dispatch_from_script(Internals &in, ScriptRun &run, Argv argv) {
  const Command *command = find_command(argv);
  if (command == nullptr) return Reply::error("ERR Unknown Redis command called from script");
  if (!fits_arity(*command, argv.size())) {
    return Reply::error("ERR Wrong number of args calling Redis command from script");
  }
  if ((command->flags & Command::kNoScript) != 0) {
    return Reply::error("ERR This Redis command is not allowed from script");
  }
  if (in.server.on_permission && !in.server.on_permission(argv)) {
    return Reply::error("ERR The user executing the script can't run this command or subcommand");
  }
  const bool writes = (command->flags & Command::kWrite) != 0;
  if (run.only_reads && (writes || (command->flags & Command::kMayReplicate) != 0)) {
    return Reply::error("ERR Write commands are not allowed from read-only scripts.");
  }
  if (!run.has_written) {
    if (writes && in.server.read_only) return Reply::error(kReadOnly);
    if ((command->flags & Command::kDenyOom) != 0 && run.out_of_memory) return Reply::error(kOutOfMemory);
  }
  if (writes) run.has_written = true;
  return command->run(Call{in, argv});
}

}  // namespace liblock_test::lua_shim
