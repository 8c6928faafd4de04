// SPDX-License-Identifier: MIT
// The command line: every command with its options, in the order of the manual. The one file that knows the argument
// parser, which takes seconds to compile. What stands behind the first "--" of run is its command, and not looked at.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <iterator>
#include <memory>

#include "arguments.hpp"
#include "exit_code.hpp"
#include "guess.hpp"
#include "text.hpp"

namespace lockctl {
namespace {

constexpr std::array<const char *, 4> kOrders = {"fifo", "lifo", "priority", "any"};  // by LIBLOCK_ORDER_…
constexpr int32_t kNodesMax = 15;       // of a quorum
constexpr int64_t kLeaseLeastMs = 20;   // of servers
constexpr int64_t kPauseLeastMs = 10;   // between looks that list all keys: they must not be all that the server does
constexpr int64_t kPartLeastMs = 10;    // of what is measured there must be something
constexpr std::array<const char *, 3> kColours = {"auto", "always", "never"};         // by WhenColour

// The parser never sees what stands behind the "--" of run.
class Help : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App *app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, name);
    if (app->get_name() == "run") usage.insert(usage.find_last_not_of('\n') + 1, " -- COMMAND…");
    return usage;
  }
};

// An option that takes a duration; forever, where it may be, stands for -1.
CLI::Option *duration(CLI::App &app, const std::string &name, int64_t &into, const std::string &help,
                      bool may_be_forever = false) {
  const auto read = [&into, name, may_be_forever](const std::string &text) {
    into = may_be_forever && text == "forever" ? -1 : parse_duration_ms(name, text);
  };
  return app.add_option_function<std::string>(name, read, help)->type_name("TIME");
}

// One that takes one of these words; set is told which.
template <size_t count, typename Set>
CLI::Option *choice(CLI::App &app, const std::string &name, const std::array<const char *, count> &words,
                    Set set, const std::string &help) {
  std::string all;
  for (const char *word : words) all += (all.empty() ? "" : "|") + std::string(word);
  const auto read = [name, &words, set, all](const std::string &text) {
    const auto found = std::find(words.begin(), words.end(), text);
    if (found == words.end()) throw Failure(kUsage, name + ": '" + printable(text) + "' is none of " + all);
    set(static_cast<int>(found - words.begin()));
  };
  return app.add_option_function<std::string>(name, read, help)->type_name(all);
}

// One that takes a whole number from least to most.
template <typename Number>
CLI::Option *number(CLI::App &app, const std::string &name, Number &into, Number least, Number most,
                    const std::string &help) {
  const auto read = [=, &into](const std::string &text) {
    const char *const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, into);
    if (error == std::errc() && rest == end && into >= least && into <= most) return;
    throw Failure(kUsage, name + ": '" + printable(text) + "' is no whole number from " + std::to_string(least) +
                              " to " + std::to_string(most));
  };
  return app.add_option_function<std::string>(name, read, help)->type_name("NUMBER");
}

// What is wrong with a key or a timeout, nothing = "". The library would say the same of names that nobody typed.
std::string is_key(const std::string &text) {
  if (text.empty()) return "it is empty; a key has 1 to 512 bytes";
  return text.size() <= 512 ? "" : "it has " + with_commas(text.size()) + " bytes; a key has 1 to 512";
}

std::string is_timeout(const std::string &text) {
  const int64_t ms = parse_duration_ms("--timeout", text);
  return ms >= 1 && ms <= 600000 ? "" : "'" + text + "' is out of range; give 1ms to 10m";
}

auto is_at_least(int64_t ms, const std::string &option) {
  return [ms, option](const std::string &text) -> std::string {
    if (parse_duration_ms(option, text) >= ms) return "";
    return "'" + text + "' is out of range; give " + std::to_string(ms) + "ms or more";
  };
}

void add_key(CLI::App &app, std::string &key, const std::string &help) {
  app.add_option("KEY", key, help)->required()->type_name("")->check(is_key);
}

// A variable that a script forgot to set must not widen what is cleared, nor name another server.
std::string is_something(const std::string &text) { return text.empty() ? "it is empty" : ""; }

void add_settings(CLI::App &app, Settings &settings) {
  app.add_option("-u,--url", settings.url,
                 "redis://, rediss://, unix:// or quorum:URL,URL,…; else LIBLOCK_URL")
      ->type_name("URL")
      ->check([](const std::string &text) -> std::string { return text.empty() ? "the url is empty" : ""; });
  app.add_option("--user", settings.user, "user name, instead of one in the url")->type_name("NAME");
  app.add_option("--password-file", settings.password_file,
                 "file with the password in its first line; else LIBLOCK_PASSWORD")
      ->type_name("FILE");
  app.add_option("--prefix", settings.prefix, "prefix of the keys on the server; default liblock:")
      ->type_name("TEXT")
      ->each([&settings](const std::string &) { settings.has_prefix = true; });
  app.add_option("--ca-file", settings.ca_file, "authorities to trust over TLS; default the system's")
      ->type_name("FILE");
  app.add_option("--cert-file", settings.certificate_file, "certificate to show over TLS")->type_name("FILE");
  app.add_option("--key-file", settings.key_file, "its private key")->type_name("FILE");
  app.add_flag("--insecure", settings.insecure, "take any certificate: anybody in between can be the server");
  duration(app, "--timeout", settings.timeout_ms,
           "for a connection, and for an answer; default 1s, of a quorum's node 200ms for an answer")
      ->check(is_timeout);
  choice(
      app, "--color", kColours, [&settings](int n) { settings.colour = static_cast<WhenColour>(n); },
      "when to colour; auto: on a terminal, unless NO_COLOR is set");
  app.add_flag("--json", settings.json, "results as JSON, one object per line");
}

void add_run(CLI::App &root, RunOptions &run) {
  CLI::App &app = *root.add_subcommand("run", "hold KEY while a command runs: run KEY -- COMMAND…");
  add_key(app, run.key, "the key to hold");
  duration(app, "--ttl", run.ttl_ms, "lease, renewed while the command runs; default 30s");
  auto *wait =
      duration(app, "-w,--wait", run.wait_ms, "how long to wait for the lock; default forever", true);
  app.add_flag_callback(
         "-n,--no-wait", [&run] { run.wait_ms = 0; }, "try once, as --wait 0")
      ->excludes(wait);
  choice(
      app, "--order", kOrders, [&run](int n) { run.order = n; }, "place in the queue; default fifo");
  number(app, "--priority", run.priority, -1000000, 1000000, "with --order priority: higher goes first");
  duration(app, "--grace", run.grace_ms, "between SIGTERM and SIGKILL when the lock is lost; default 5s");
  duration(app, "--max-hold", run.max_hold_ms, "stop renewing after that: the command ends by then")
      ->check(is_at_least(kLeaseLeastMs, "--max-hold"));
  app.add_flag("--no-renew", run.no_renew, "do not renew: the command ends with the first lease");
  app.add_flag("--descendants", run.descendants,
               "hold until also what the command left in the background has ended");
  app.add_option("--value", run.value, "text that the lock carries, for those who look at it")
      ->type_name("TEXT");
  app.add_flag("-q,--quiet", run.quiet, "say nothing about waiting, nor that locks may be evicted");
}

void add_looks(CLI::App &root, Arguments &arguments) {
  CLI::App &ls = *root.add_subcommand("ls", "list keys that are held or waited for");
  ls.add_option("PREFIX", arguments.list.key_prefix, "only keys that begin so")->type_name("");
  auto *locks = ls.add_flag("--locks", arguments.list.locks, "only keys that are held");
  ls.add_flag("--queues", arguments.list.queues, "only keys that somebody waits for")->excludes(locks);
  ls.add_flag("--zombies", arguments.list.zombies, "only what belongs to processes that are gone");
  ls.add_flag("--count", arguments.list.count, "only their numbers");
  add_key(*root.add_subcommand("info", "who holds KEY, since when, for how long"), arguments.key.key,
          "the key");
  add_key(*root.add_subcommand("queue", "who waits for KEY, in the order of service"), arguments.key.key,
          "the key");
  CLI::App &watch = *root.add_subcommand("watch", "tell how KEY, or all keys, change hands");
  watch.add_option("KEY", arguments.watch.key, "one key; default all")->type_name("")->check(is_key);
  duration(watch, "--interval", arguments.watch.interval_ms, "between two looks at all keys; default 1s")
      ->check(is_at_least(kPauseLeastMs, "--interval"));
  duration(watch, "--for", arguments.watch.for_ms, "how long; default until interrupted", true);
  CLI::App &top = *root.add_subcommand("top", "a live screen of holders, queues, rates and waits");
  duration(top, "--interval", arguments.top.interval_ms, "between two looks; default 1s")
      ->check(is_at_least(kPauseLeastMs, "--interval"));
  number(top, "--rounds", arguments.top.rounds, int64_t{1}, int64_t{1000000000},
         "how many looks; default until q is pressed");
}

void add_administration(CLI::App &root, Arguments &arguments) {
  CLI::App &release = *root.add_subcommand("release", "take KEY away from whoever holds it");
  add_key(release, arguments.release.key, "the key");
  release.add_flag("--force", arguments.release.force, "must be said: its holder is not asked");
  release.add_flag("--drop-queue", arguments.release.drop_queue, "send those who wait away as well");
  release.add_flag("-y,--yes", arguments.release.yes, "do not ask");
  CLI::App &clear = *root.add_subcommand("clear", "take all locks away, or those of one owner or instance");
  auto *owner = clear.add_option("--owner", arguments.clear.owner, "only of this owner, as ls shows it");
  owner->type_name("ID")->check(is_something);
  clear.add_option("--instance", arguments.clear.instance, "only of this instance: process-random@host")
      ->type_name("ID")
      ->check(is_something)
      ->excludes(owner);
  clear.add_flag("-y,--yes", arguments.clear.yes, "do not ask");
  CLI::App &dead = *root.add_subcommand("dead", "show what processes that are gone have left");
  auto *clears = dead.add_flag("--clear", arguments.dead.clear, "take it away");
  duration(dead, "--older-than", arguments.dead.dead_ttl_ms,
           "with --clear: requests that wait longer; default 1d")
      ->needs(clears);
  dead.add_flag("-y,--yes", arguments.dead.yes, "do not ask");
}

void add_quorum(CLI::App &root, Arguments &arguments) {
  CLI::App &quorum = *root.add_subcommand("quorum", "the servers of a quorum");
  quorum.require_subcommand(1);
  CLI::App &init = *quorum.add_subcommand("init", "make a quorum of the servers of the url, once");
  duration(init, "--max-ttl", arguments.settings.max_ttl_ms,
           "longest lease, and silence after restarts; default 60s");
  number(init, "--votes", arguments.settings.votes, LIBLOCK_VOTES_ALL, kNodesMax,
         "nodes that must grant; default a majority, -1 all");
  init.add_flag("--force", arguments.quorum.force,
                "also servers that were part of a quorum; nobody may hold a lock");
  init.add_flag("-y,--yes", arguments.quorum.yes, "with --force: do not ask");
  quorum.add_subcommand("status", "which nodes vote, and why others do not");
  CLI::App &wait = *quorum.add_subcommand("wait", "stay until all nodes that can be reached vote");
  duration(wait, "--for", arguments.quorum.for_ms, "how long at most; default forever", true);
  CLI::App &set = *quorum.add_subcommand("set-nodes", "give the quorum other nodes while locks are held");
  set.add_option("SERVER", arguments.quorum.nodes, "the nodes from now on, all of them")
      ->required()
      ->type_name("");
  set.add_option("--observer", arguments.quorum.observers, "a server to read from that never votes")
      ->type_name("URL")
      ->expected(1)
      ->take_all();
  number(set, "--votes", arguments.settings.votes, LIBLOCK_VOTES_ALL, kNodesMax,
         "of the new nodes; default a majority, -1 all");
}

void add_others(CLI::App &root, Arguments &arguments) {
  CLI::App &ping = *root.add_subcommand("ping", "is the server there, and how far away");
  number(ping, "--count", arguments.ping.count, int64_t{1}, int64_t{1000000}, "how often; default 1");
  CLI::App &bench = *root.add_subcommand("bench", "measure what locks cost at this url, on keys of its own");
  number(bench, "--threads", arguments.bench.threads, int64_t{1}, int64_t{256}, "that lock at once; default 4");
  duration(bench, "--for", arguments.bench.duration_ms, "how long each part takes; default 2s")
      ->check(is_at_least(kPartLeastMs, "--for"));
  CLI::App &completion = *root.add_subcommand("completion", "print completions for bash, zsh or fish");
  completion.add_option("SHELL", arguments.completion.shell, "bash, zsh or fish")
      ->required()
      ->type_name("")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
}

bool takes_a_time(const CLI::App &app) {
  return !app.get_options([](const CLI::Option *option) { return option->get_type_name() == "TIME"; }).empty();
}

// What stands above the commands of a help, and below its options.
void finish_help(CLI::App &app) {
  if (takes_a_time(app)) app.footer("TIME is such as 500ms, 30s, 5m, 2h or 1d.\n" + app.get_footer());
  for (CLI::App *below : app.get_subcommands([](CLI::App *) { return true; })) {
    below->group("Commands");
    finish_help(*below);
  }
}

void declare(CLI::App &app, Arguments &arguments) {
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", std::string("lockctl ") + liblock_version_string());
  app.formatter(std::make_shared<Help>());
  app.get_formatter()->column_width(32);
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.footer("lockctl COMMAND --help tells the options of one command; man lockctl the rest.");
  add_settings(app, arguments.settings);
  add_run(app, arguments.run);
  add_looks(app, arguments);
  add_administration(app, arguments);
  add_quorum(app, arguments);
  add_others(app, arguments);
  finish_help(app);
}

CommandSpec spec_of(const std::string &name, const CLI::App &app) {
  CommandSpec spec{name, app.get_description(), {}};
  for (const CLI::Option *option : app.get_options()) {
    if (option->get_positional()) continue;
    OptionSpec one;
    for (const auto &word : option->get_lnames()) one.names.push_back("--" + word);
    for (const auto &word : option->get_snames()) one.names.push_back("-" + word);
    one.help = option->get_description();
    one.takes_value = option->get_items_expected_max() > 0;
    const std::string type = option->get_type_name();
    one.is_file = type == "FILE";
    if (type.find('|') != std::string::npos) {
      std::string spaced = type;
      std::replace(spaced.begin(), spaced.end(), '|', ' ');
      std::istringstream words(spaced);
      one.choices.assign(std::istream_iterator<std::string>(words), {});
    }
    spec.options.push_back(one);
  }
  return spec;
}

void describe_below(const std::string &path, const CLI::App &app, std::vector<CommandSpec> &into) {
  into.push_back(spec_of(path, app));
  for (const CLI::App *below : app.get_subcommands([](const CLI::App *) { return true; })) {
    describe_below(path.empty() ? below->get_name() : path + " " + below->get_name(), *below, into);
  }
}

// A word as it can be typed into a shell.
std::string typed(const std::string &word) {
  const bool is_plain =
      !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char byte) {
        return (byte < 0x80 && std::isalnum(byte) != 0) || std::strchr("_-./:=@%+,", byte) != nullptr;
      });
  return is_plain ? word : quoted(word);
}

const CLI::App &innermost(const CLI::App &app) {
  return app.get_subcommands().empty() ? app : innermost(*app.get_subcommands().front());
}

// What is known here and may have been meant: " (did you mean ls?)".
std::string did_you_mean(const CLI::App &app, const std::string &word) {
  const CLI::App &here = innermost(app);
  const std::string meant(meant_by(word));
  const auto is_it = [&](const CLI::App *below) { return below->get_name() == meant; };
  const bool is_known = here.get_option_no_throw(meant) != nullptr || !here.get_subcommands(is_it).empty();
  return is_known && !meant.empty() ? " (did you mean " + meant + "?)" : "";
}

// An option that other tools have; what stands behind it is not to be repeated.
void refuse_password(const CLI::App &app) {
  for (const auto &word : app.remaining(true)) {
    if (word != "--password" && !word.starts_with("--password=")) continue;
    throw Failure(kUsage, "there is no --password, which others on this machine could read; give it in "
                          "LIBLOCK_PASSWORD or by --password-file");
  }
}

// The command that was named, each of its words with a space behind it.
std::string command_in(const CLI::App &app) {
  std::string command;
  for (const CLI::App *at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    command += at->get_name() + " ";
  }
  return command;
}

// Whose help has the option or argument that an error begins with: of every command, or of the one that was named.
std::string where_it_is_told(const CLI::App &app, const std::string &error) {
  const std::string name = error.substr(0, error.find_first_of(": "));
  return app.get_option_no_throw(name) != nullptr ? "" : command_in(app);
}

// What stands where nothing is expected. Behind the key of run that is its command, as a rule, whose "--" was
// forgotten; what in it looks like an option of run was taken for one: the command is shown whole only where it is.
std::string why_not_expected(const CLI::App &app, const Arguments &arguments,
                             const std::vector<std::string> &words) {
  const auto extra = app.remaining(true);
  const bool is_run = app.got_subcommand("run"), is_option = extra.front().starts_with("-");
  if (is_run && !is_option && arguments.run.command.empty()) {
    const bool is_whole =
        extra.size() <= words.size() && std::equal(extra.rbegin(), extra.rend(), words.rbegin());
    std::string command;
    for (const auto &word : extra) command += " " + typed(word);
    if (!is_whole) command = " " + typed(extra.front()) + " …";
    return "the command of run comes behind --; say: lockctl run " + typed(arguments.run.key) + " --" +
           command;
  }
  std::string all;
  for (const auto &word : extra) all += (all.empty() ? "'" : ", '") + word + "'";
  return "no option or argument " + all + " is known here" + did_you_mean(app, extra.front()) + "; see lockctl " +
         command_in(app) + "--help";
}

// The parser would take the word behind "--url=" for its value: a script's empty variable would swallow an option.
void give_empty_values(std::vector<std::string> &words) {
  for (size_t n = 0; n < words.size() && words[n] != "--"; n++) {
    if (!words[n].starts_with("--") || words[n].find('=') + 1 != words[n].size()) continue;
    words[n].pop_back();
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(++n), "");
  }
}

std::string no_such(const CLI::App &app, const std::string &word) {
  return "no command or option '" + word + "'" + did_you_mean(app, word);
}

std::string what_is_missing(const CLI::App &app, const CLI::RequiredError &error) {
  if (innermost(app).get_require_subcommand_min() == 0) return error.what();
  const std::string command = command_in(app);
  return "say what to do, as in lockctl " +
         (command.empty() ? "ls or lockctl run KEY -- COMMAND" : command + "status");
}

}  // namespace

std::vector<CommandSpec> describe() {
  Arguments arguments;
  CLI::App app;
  declare(app, arguments);
  std::vector<CommandSpec> commands;
  describe_below("", app, commands);
  return commands;
}

void parse(int argc, char **argv, Arguments &arguments) {
  std::vector<std::string> words(argv + 1, argv + argc);
  give_empty_values(words);
  const bool is_asked_for = !words.empty() && words.front() == "help";  // as elsewhere: help COMMAND
  if (is_asked_for) {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  const auto mark = std::find(words.begin(), words.end(), "--");
  arguments.settings.json = std::find(words.begin(), mark, "--json") != mark;  // a mistake is told so as well
  if (mark != words.end() && std::find(words.begin(), mark, "run") != mark) {
    arguments.run.command.assign(mark + 1, words.end());
    words.erase(mark, words.end());
  }
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // as the parser wants them
  CLI::App app(
      "Keyed locks on a Redis or Valkey server, or over a quorum of them, for operators and scripts.",
      "lockctl");
  declare(app, arguments);
  try {
    app.parse(reversed);
  } catch (const CLI::Success &wish) {
    const auto unknown = app.remaining(true);
    if (is_asked_for && !unknown.empty())
      throw Failure(kUsage, printable(no_such(app, unknown.front())) + "; see lockctl " + command_in(app) + "--help");
    app.exit(wish);
    return;
  } catch (const CLI::RequiredError &error) {
    refuse_password(app);
    const auto unknown = app.remaining(true);  // of which the parser says only that something else is missing
    const std::string cause =
        unknown.empty() ? what_is_missing(app, error) : no_such(app, unknown.front());
    throw Failure(kUsage, printable(cause) + "; see lockctl " + command_in(app) + "--help");
  } catch (const CLI::ExtrasError &) {
    refuse_password(app);
    throw Failure(kUsage, printable(why_not_expected(app, arguments, words)));
  } catch (const CLI::ParseError &error) {
    refuse_password(app);
    throw Failure(kUsage, printable(error.what()) + "; see lockctl " + where_it_is_told(app, error.what()) + "--help");
  }
  arguments.command = command_in(app);
  if (!arguments.command.empty()) arguments.command.pop_back();
  if (arguments.command == "run" && arguments.run.command.empty()) {
    throw Failure(kUsage, "run has no command; say: lockctl run KEY -- COMMAND ARGUMENT…");
  }
  const bool has_priority = app.get_subcommand("run")->count("--priority") > 0;
  if (has_priority && arguments.run.order != LIBLOCK_ORDER_PRIORITY)
    throw Failure(kUsage, "--priority counts with --order priority alone; see lockctl run --help");
}

}  // namespace lockctl
