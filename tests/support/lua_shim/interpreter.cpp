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

constexpr std::string_view kChunkName = "@user_script";

void *allocate(void *, void *block, size_t, size_t size) {
  if (size == 0) {
    std::free(block);
    return nullptr;
  }
  void *grown = std::realloc(block, size);
  if (grown == nullptr) std::abort();
  return grown;
}

// Time stands still, and the run is known, for as long as this lives.
class Running {
 public:
  Running(Dataset &data, ScriptRun *&place, ScriptRun &run) : data_(data), place_(place) {
    data_.freeze();
    place_ = &run;
  }
  ~Running() {
    place_ = nullptr;
    data_.thaw();
  }
  Running(const Running &) = delete;
  Running &operator=(const Running &) = delete;

 private:
  Dataset &data_;
  ScriptRun *&place_;
};

}  // namespace

Interpreter::Interpreter(Internals &in) : in_(in) { open(); }

Interpreter::~Interpreter() { lua_close(lua_); }

void Interpreter::open() {
  lua_ = lua_newstate(allocate, nullptr);
  if (lua_ == nullptr) std::abort();
  lua_newtable(lua_);
  protected_ = luaL_ref(lua_, LUA_REGISTRYINDEX);
  globals_ = install_sandbox(lua_, *this);
  lua_pushcfunction(lua_, describe_error);
  error_handler_ = luaL_ref(lua_, LUA_REGISTRYINDEX);
}

void Interpreter::forget_scripts() {
  by_body_.clear();
  by_sha1_.clear();
  lua_close(lua_);
  open();
}

void Interpreter::restart() {
  forget_scripts();
  random_ = kFirstRandom;
}

bool Interpreter::knows(std::string_view sha1) const { return by_sha1_.contains(lower_case(sha1)); }

Reply Interpreter::load(std::string_view body) {
  Reply error;
  const Script *script = script_of(body, error);
  return script == nullptr ? error : Reply::string(script->sha1);
}

const Interpreter::Script *Interpreter::script_of(std::string_view body, Reply &error) {
  if (const auto known = by_body_.find(body); known != by_body_.end()) return known->second;
  Script script;
  script.sha1 = sha1_hex(body);
  error = compile(body, script);
  if (error.is_error()) return nullptr;
  const auto place = by_sha1_.emplace(script.sha1, script).first;
  by_body_.emplace(std::string(body), &place->second);
  return &place->second;
}

Reply Interpreter::compile(std::string_view body, Script &script) {
  const Shebang shebang = parse_shebang(body);
  if (!shebang.problem.empty()) return Reply::error("ERR " + shebang.problem);
  script.flags = shebang.flags;
  if (!load_text(lua_, body.substr(shebang.size), kChunkName)) {
    const std::string problem = lua_tostring(lua_, -1);
    lua_pop(lua_, 1);
    return Reply::error("ERR Error compiling script (new function): " + problem);
  }
  script.function = luaL_ref(lua_, LUA_REGISTRYINDEX);
  return {};
}

Reply Interpreter::run(const Evaluation &evaluation) {
  if (run_ != nullptr) return Reply::error("ERR lua_shim: a hook must not run a script");
  const Script *script = nullptr;
  if (evaluation.by_sha1) {
    const auto known = by_sha1_.find(lower_case(evaluation.script));
    if (known == by_sha1_.end()) return Reply::error(kUnknownScript);
    script = &known->second;
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
    const auto known = by_sha1_.find(lower_case(evaluation.script));
    if (known == by_sha1_.end()) return 0;
    flags = known->second.flags;
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
  const Running running(in_.data, run_, run);

  lua_rawgeti(lua_, LUA_REGISTRYINDEX, globals_);
  push_strings(lua_, evaluation.keys);
  lua_setfield(lua_, -2, "KEYS");
  push_strings(lua_, evaluation.args);
  lua_setfield(lua_, -2, "ARGV");
  lua_rawgeti(lua_, LUA_REGISTRYINDEX, error_handler_);
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
  std::vector<std::string_view> argv;
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

bool Interpreter::is_protected(lua_State *lua, int index) const {
  lua_rawgeti(lua, LUA_REGISTRYINDEX, protected_);
  lua_pushvalue(lua, index);
  lua_rawget(lua, -2);
  const bool found = lua_toboolean(lua, -1) != 0;
  lua_pop(lua, 2);
  return found;
}

void Interpreter::protect(lua_State *lua, int index) {
  lua_pushvalue(lua, index);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, protected_);
  lua_insert(lua, -2);
  lua_pushboolean(lua, 1);
  lua_rawset(lua, -3);
  lua_pop(lua, 1);
}

}  // namespace liblock_test::lua_shim
