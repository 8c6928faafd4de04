// SPDX-License-Identifier: MIT
// Completions for the shells, made of what the parser understands, so that no option can be missing from them. Keys are
// not completed: that would ask a server at each press of a key.
#include <algorithm>
#include <cstdio>
#include <string>

#include "commands.hpp"
#include "exit_code.hpp"
#include "text.hpp"

namespace lockctl {
namespace {

std::string joined(const std::vector<std::string> &words, const std::string &between) {
  std::string out;
  for (const auto &word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

std::vector<std::string> option_names(const CommandSpec &command) {
  std::vector<std::string> names;
  for (const auto &option : command.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

// The words that may follow a command: those of the commands below it.
std::vector<std::string> words_below(const std::vector<CommandSpec> &commands, const std::string &path) {
  std::vector<std::string> words;
  for (const auto &command : commands) {
    const std::string start = path.empty() ? "" : path + " ";
    if (command.name == path || !command.name.starts_with(start)) continue;
    const std::string rest = command.name.substr(start.size());
    if (rest.find(' ') == std::string::npos) words.push_back(rest);
  }
  if (path == "completion") words = {"bash", "zsh", "fish"};
  return words;
}

// What follows an option that takes a value, as a case of bash's.
std::string bash_values(const std::vector<CommandSpec> &commands) {
  std::string out;
  std::vector<std::string> seen;
  for (const auto &command : commands) {
    for (const auto &option : command.options) {
      const std::string names = joined(option.names, "|");
      if (!option.takes_value || std::find(seen.begin(), seen.end(), names) != seen.end()) continue;
      seen.push_back(names);
      const std::string words = option.is_file ? "compgen -f -- \"$cur\""
                                : option.choices.empty()
                                    ? ":"
                                    : "compgen -W '" + joined(option.choices, " ") + "' -- \"$cur\"";
      out += "    " + names + ") mapfile -t COMPREPLY < <(" + words + "); return ;;\n";
    }
  }
  return out;
}

std::string for_bash() {
  const auto commands = describe();
  std::string cases;
  for (const auto &command : commands) {
    auto words = words_below(commands, command.name);
    const auto own = option_names(command);
    words.insert(words.end(), own.begin(), own.end());
    if (!command.name.empty()) {
      const auto all = option_names(commands.front());
      words.insert(words.end(), all.begin(), all.end());
    }
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    cases += "    " + quoted(command.name) + ") words=" + quoted(joined(words, " ")) + " ;;\n";
  }
  return R"(# bash completion for lockctl, printed by: lockctl completion bash
_lockctl() {
  local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command='' words='' word n skip=
  for ((n = 1; n < COMP_CWORD; n++)); do
    word=${COMP_WORDS[n]}
    if [[ $word == -- ]]; then
      if declare -F _command_offset >/dev/null; then _command_offset $((n + 1)); else
        mapfile -t COMPREPLY < <(compgen -f -- "$cur"); fi
      return
    fi
    [[ $skip ]] && { skip=; continue; }
    if [[ $word == -* ]]; then
      _lockctl_takes_value "$word" && skip=1
    elif [[ -z $command || $command == quorum ]]; then
      command=${command:+$command }$word
    fi
  done
  case $previous in
)" + bash_values(commands) +
         "  esac\n  case $command in\n" + cases +
         "  esac\n  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n}\n"
         "_lockctl_takes_value() {\n  case $1 in\n    " +
         [&] {
           std::vector<std::string> names;
           for (const auto &command : commands) {
             for (const auto &option : command.options) {
               if (option.takes_value) names.insert(names.end(), option.names.begin(), option.names.end());
             }
           }
           return joined(names, "|");
         }() +
         ") return 0 ;;\n  esac\n  return 1\n}\ncomplete -F _lockctl lockctl\n";
}

// 'NAMES[HELP]:value:ACTION' of zsh's _arguments.
std::string zsh_option(const OptionSpec &option) {
  std::string help = option.help;
  for (const char *special : {"[", "]", ":"}) {
    for (size_t at = help.find(special); at != std::string::npos; at = help.find(special, at + 2)) {
      help.insert(at, 1, '\\');
    }
  }
  std::string tail = "[" + help + "]";
  if (option.takes_value) {
    tail += option.is_file           ? ":file:_files"
            : option.choices.empty() ? ":value: "
                                     : ":value:(" + joined(option.choices, " ") + ")";
  }
  std::string out;
  for (const auto &name : option.names) out += " " + quoted(name + tail);
  return out;
}

std::string for_zsh() {
  const auto commands = describe();
  std::string cases, everywhere;
  for (const auto &option : commands.front().options) everywhere += zsh_option(option);
  for (const auto &command : commands) {
    if (command.name.empty()) continue;
    std::string line;
    for (const auto &option : command.options) line += zsh_option(option);
    const auto below = words_below(commands, command.name);
    const std::string rest = command.name == "run" ? " ':key: ' '*:: :_normal'"
                             : below.empty()       ? " '*:key: '"
                                                   : " ':word:(" + joined(below, " ") + ")'";
    cases += "    " + quoted(command.name) + ") _arguments $everywhere" + line + rest + " ;;\n";
  }
  return "#compdef lockctl\n# zsh completion for lockctl, printed by: lockctl completion zsh\n_lockctl() {\n"
         "  local -a everywhere=(" +
         everywhere +
         " )\n  local command='' word\n  for word in ${words[2,CURRENT-1]}; do\n"
         "    [[ $word == -* ]] && continue\n"
         "    if [[ ( -z $command && \" " +
         joined(words_below(commands, ""), " ") +
         " \" == *\" $word \"* ) || $command == quorum ]]; then command=\"${command:+$command }$word\"; fi\n "
         " done\n"
         "  case $command in\n    '') _arguments $everywhere ':command:(" +
         joined(words_below(commands, ""), " ") + ")' ;;\n" + cases + "  esac\n}\n_lockctl \"$@\"\n";
}

std::string fish_option(const std::string &when, const OptionSpec &option) {
  std::string line = "complete -c lockctl" + when;
  for (const auto &name : option.names) {
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (option.takes_value) line += option.is_file ? " -rF" : " -x";
  if (!option.choices.empty()) line += " -a " + quoted(joined(option.choices, " "));
  return line + " -d " + quoted(option.help) + "\n";
}

std::string for_fish() {
  const auto commands = describe();
  std::string out =
      "# fish completion for lockctl, printed by: lockctl completion fish\ncomplete -c lockctl -f\n";
  for (const auto &command : commands) {
    const size_t space = command.name.find(' ');
    const std::string word = command.name.substr(space == std::string::npos ? 0 : space + 1);
    const std::string above = space == std::string::npos ? "" : command.name.substr(0, space);
    if (!command.name.empty()) {
      const std::string when =
          above.empty() ? "__fish_use_subcommand" : "__fish_seen_subcommand_from " + above;
      out += "complete -c lockctl -n " + quoted(when) + " -a " + word + " -d " + quoted(command.help) + "\n";
    }
    const std::string when =
        command.name.empty() ? "" : " -n " + quoted("__fish_seen_subcommand_from " + word);
    for (const auto &option : command.options) out += fish_option(when, option);
  }
  return out + "complete -c lockctl -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n";
}

}  // namespace

int completion(const Arguments &arguments) {
  const std::string &shell = arguments.completion.shell;
  std::fputs((shell == "bash" ? for_bash() : shell == "zsh" ? for_zsh() : for_fish()).c_str(), stdout);
  return kDone;
}

}  // namespace lockctl
