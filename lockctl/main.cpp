// SPDX-License-Identifier: MIT
// lockctl, the operator's tool: reads the command line, finds the credentials, performs the command, and turns whatever
// failed into one line and an exit code. No thread exists before a command opens a context.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string_view>

#include "commands.hpp"
#include "context.hpp"
#include "credentials.hpp"
#include "exit_code.hpp"
#include "record.hpp"
#include "terminal.hpp"

namespace lockctl {
namespace {

struct Command {
  std::string_view name;
  int (*perform)(const Arguments &);
  bool needs_server;
};

constexpr std::array kCommands = {
    Command{"run", run, true},                            // hold a key while a command runs
    Command{"ls", ls, true},                              // which keys are held or waited for
    Command{"info", info, true},                          // who holds a key
    Command{"queue", queue, true},                        // who waits for it
    Command{"watch", watch, true},                        // tell of changes as they happen
    Command{"top", top, true},                            // the same as a screen
    Command{"release", release, true},                    // take a key away from its holder
    Command{"clear", clear, true},                        // take many away
    Command{"dead", dead, true},                          // what processes that are gone have left
    Command{"quorum init", quorum_init, true},            // make servers a quorum
    Command{"quorum status", quorum_status, true},        // which of its nodes vote
    Command{"quorum wait", quorum_wait, true},            // until they vote
    Command{"quorum set-nodes", quorum_set_nodes, true},  // give it other nodes
    Command{"ping", ping, true},                          // is the server there, and how far away
    Command{"bench", bench, true},                        // what locks cost here
    Command{"completion", completion, false},             // for the shell
};

// Whoever gave them would take a connection without TLS for a safe one.
void refuse_unused_tls(const Arguments &arguments) {
  const Settings &settings = arguments.settings;
  const char *const of_tls = !settings.ca_file.empty()            ? "--ca-file"
                             : !settings.certificate_file.empty() ? "--cert-file"
                             : !settings.key_file.empty()         ? "--key-file"
                             : settings.insecure                  ? "--insecure"
                                                                  : nullptr;
  if (of_tls == nullptr) return;
  const auto asks_for_it = [](const std::string &url) { return url.find("rediss://") != std::string::npos; };
  const auto &nodes = arguments.quorum.nodes, &observers = arguments.quorum.observers;
  if (asks_for_it(settings.url) || std::any_of(nodes.begin(), nodes.end(), asks_for_it) ||
      std::any_of(observers.begin(), observers.end(), asks_for_it))
    return;
  throw Failure(kUsage, of_tls + std::string(" is of TLS, which the url does not ask for; say rediss://HOST"));
}

int perform(Arguments &arguments) {
  if (arguments.command.empty()) return kDone;
  decide_colours(arguments.settings.colour);
  for (const Command &command : kCommands) {
    if (command.name != arguments.command) continue;
    if (command.needs_server) {
      find_credentials(arguments.settings);
      refuse_unused_tls(arguments);
    }
    return command.perform(arguments);
  }
  throw Failure(kInternal, "no command '" + arguments.command + "'; please report this");
}

// The library's messages have an end; what is wrong with many nodes goes beyond it. Nor does it know where the password
// came from.
std::string whole(const Failure &failure, const Settings &settings) {
  std::string text = failure.what();
  if (settings.password_is_of_environment && text.find("it refused user or password") != std::string::npos)
    text += " (the password is that of LIBLOCK_PASSWORD)";
  const bool is_of_nodes = failure.code == kUnavailable && is_quorum(settings);
  return is_of_nodes && text.ends_with(" …") ? text + " (lockctl quorum status tells all of it)" : text;
}

int fail(bool json, int code, liblock_status status, const char *message) {
  if (!json) {
    say(message);
    return code;
  }
  show_progress("");
  const char *name = status != LIBLOCK_OK ? liblock_status_name(status) : code == kUsage ? "USAGE" : "FAILED";
  const Record record = Record()
                            .set("error", std::string(name))
                            .set("message", std::string(message))
                            .set("exit", int64_t{code});
  fprintf(stderr, "%s\n", to_json(record).c_str());
  return code;
}

int guarded(int argc, char **argv) {
  Arguments arguments;
  try {
    parse(argc, argv, arguments);
    wipe_passwords(argc, argv);
    return perform(arguments);
  } catch (const Failure &failure) {
    return fail(arguments.settings.json, failure.code, failure.status,
                whole(failure, arguments.settings).c_str());
  } catch (const std::exception &error) {
    return fail(arguments.settings.json, kInternal, LIBLOCK_OK, error.what());
  }
}

// What is opened later would get the number of a standard descriptor that was closed, and messages would be written
// into it: a server's connection, the command's pipe. Opened the wrong way round, reading and writing fail as before.
void occupy_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const bool is_closed = fcntl(descriptor, F_GETFD) < 0 && errno == EBADF;
    if (is_closed) open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // the lowest that is free
  }
}

}  // namespace
}  // namespace lockctl

int main(int argc, char **argv) {
  lockctl::occupy_standard_descriptors();
  setlocale(LC_CTYPE, "");
  const int code = lockctl::guarded(argc, argv);
  // What could not be written was not told: a script would read nothing as the answer.
  const bool is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (is_written || code != lockctl::kDone) return code;
  lockctl::say("the output cannot be written: " + std::string(std::strerror(errno)));
  return lockctl::kSystem;
}
