// SPDX-License-Identifier: MIT
// Known scripts, and running one: KEYS and ARGV are set, the function is called, what it returns or raises
// becomes the reply.
#include "interpreter.hpp"

#include <cstdlib>

#include "convert.hpp"
#include "errors.hpp"
#include "internals.hpp"
#include "lua_api.hpp"
#include "sandbox.hpp"
#include "sha1.hpp"
#include "shebang.hpp"
#include "text.hpp"

namespace liblock_test::lua_shim {

namespace {

// Time stands still, and the run is known, for as long as this lives.
class Running {
 public:
  Running(Dataset &data, ScriptRun *&place, ScriptRun &run, Interpreter *&running, Interpreter &self)
      : data_(data), place_(place), running_(running) {
    data_.freeze();
    place_ = &run;
    running_ = &self;
  }
  ~Running() {
    running_ = nullptr;
    place_ = nullptr;
    data_.thaw();
  }
  Running(const Running &) = delete;
  Running &operator=(const Running &) = delete;

 private:
  Dataset &data_;
  ScriptRun *&place_;
  Interpreter *&running_;
};

}  // namespace

void Interpreter::restart() {
  forget_scripts();
  random_ = kFirstRandom;
}

const Interpreter::Script *Interpreter::find(std::string_view sha1) const {
  auto found = known_.find(sha1);
  if (found == known_.end()) found = known_.find(lower_case(sha1));
  return found == known_.end() ? nullptr : found->second.get();
}

bool Interpreter::knows(std::string_view sha1) const { return find(sha1) != nullptr; }

Reply Interpreter::load(std::string_view body) {
  Reply error;
  const Script *script = script_of(body, error);
  return script == nullptr ? error : Reply::string(script->sha1);
}

const Interpreter::Script *Interpreter::script_of(std::string_view body, Reply &error) {
  std::shared_ptr<const Script> script = machine_->script_of(body, error);
  return script == nullptr ? nullptr : known_.try_emplace(script->sha1, script).first->second.get();
}

Reply Interpreter::run(const Evaluation &evaluation) {
  if (machine_->running != nullptr) return Reply::error("ERR lua_shim: a hook must not run a script");
  const Script *script = nullptr;
  if (evaluation.by_sha1) {
    script = find(evaluation.script);
    if (script == nullptr) return Reply::error(kUnknownScript);
  } else {
    Reply error;
    script = script_of(evaluation.script, error);
    if (script == nullptr) return error;
  }
  if (evaluation.only_reads && script->flags.given && !script->flags.no_writes) {
    return Reply::error("ERR Can not execute a script with write flag using *_ro command.");
  }
  return run_script(*script, evaluation);
}

unsigned Interpreter::declared_flags(const Evaluation &evaluation) const {
  ScriptFlags flags;
  if (evaluation.by_sha1) {
    const Script *script = find(evaluation.script);
    if (script == nullptr) return 0;
    flags = script->flags;
  } else {
    const Shebang shebang = parse_shebang(evaluation.script);
    if (!shebang.problem.empty()) return 0;
    flags = shebang.flags;
  }
  if (!flags.given || flags.no_writes) return 0;
  return flags.allow_oom ? Command::kWrite : Command::kWrite | Command::kDenyOom;
}

Reply Interpreter::run_script(const Script &script, const Evaluation &evaluation) {
  ScriptRun run;
  run.only_reads = evaluation.only_reads || script.flags.no_writes;
  run.out_of_memory = in_.server.out_of_memory && !script.flags.allow_oom;
  const Running running(in_.data, run_, run, machine_->running, *this);

  lua_rawgeti(lua_, LUA_REGISTRYINDEX, machine_->globals());
  push_strings(lua_, evaluation.keys);
  lua_setfield(lua_, -2, "KEYS");
  push_strings(lua_, evaluation.args);
  lua_setfield(lua_, -2, "ARGV");
  lua_rawgeti(lua_, LUA_REGISTRYINDEX, machine_->error_handler());
  if (Coverage *coverage = machine_->coverage()) coverage->runs(lua_, script.sha1);
  lua_rawgeti(lua_, LUA_REGISTRYINDEX, script.function);
  const bool failed = lua_pcall(lua_, 0, 1, -2) != 0;
  Reply reply = failed ? failure_of(script) : reply_from_lua(lua_);
  lua_settop(lua_, 0);
  return reply;
}

Reply Interpreter::failure_of(const Script &script) {
  const ErrorDescription error = read_error(lua_);
  std::string text = error.message;
  if (!error.source.empty())
    text += " script: " + script.sha1 + ", on " + error.source + ":" + error.line + ".";
  return Reply::error(text);
}

bool Interpreter::call_command(lua_State *lua) {
  if (lua_gettop(lua) == 0) {
    push_error(lua, "ERR Please specify at least one argument for this redis lib call");
    return false;
  }
  std::vector<std::string_view> &argv = machine_->argv;
  argv.clear();
  if (!read_arguments(lua, argv)) {
    push_error(lua, "ERR Lua redis lib command arguments must be strings or integers");
    return false;
  }
  const Reply reply = dispatch_from_script(in_, *run_, argv);
  if (reply.is_error()) {
    push_error(lua, reply.text, true);
    return false;
  }
  push_reply(lua, reply);
  return true;
}

uint32_t Interpreter::next_random() {
  random_ = (random_ * 0x5DEECE66D + 0xB) & 0xFFFFFFFFFFFF;
  return static_cast<uint32_t>(random_ >> 17);
}

void Interpreter::seed_random(int32_t seed) {
  random_ = static_cast<uint64_t>(static_cast<uint32_t>(seed)) << 16 | 0x330E;
}

}  // namespace liblock_test::lua_shim
