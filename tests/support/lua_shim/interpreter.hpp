// SPDX-License-Identifier: MIT
// What one server has of Lua: the scripts that it knows, its random numbers, and one run at a time.
//
// Lua leaves a failed call by longjmp. So a function that Lua calls first does its work in a function that
// returns a verdict, and raises only when no C++ object lives any more. Memory that Lua cannot get ends the
// process, hence nothing else raises.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "machine.hpp"
#include "reply.hpp"

struct lua_State;

namespace liblock_test::lua_shim {

struct Internals;

// What a run knows of itself; see dispatch_from_script.
struct ScriptRun {
  bool only_reads = false;
  bool out_of_memory = false;
  bool has_written = false;
};

struct Evaluation {
  std::string_view script;  // its body, or its name
  bool by_sha1 = false;
  bool only_reads = false;  // EVAL_RO
  std::span<const std::string_view> keys;
  std::span<const std::string_view> args;
};

class Interpreter {
 public:
  explicit Interpreter(Internals &in) : in_(in) {}
  Interpreter(const Interpreter &) = delete;
  Interpreter &operator=(const Interpreter &) = delete;

  Reply run(const Evaluation &evaluation);
  // The name of the script, or the error of its compilation.
  Reply load(std::string_view body);
  bool knows(std::string_view sha1) const;
  // What a script declares of itself, as flags of a command that are judged before it is compiled.
  unsigned declared_flags(const Evaluation &evaluation) const;
  void forget_scripts() { known_.clear(); }
  // As in a process that has just begun.
  void restart();

  // For functions that Lua calls. Runs the command on the stack; leaves its answer, or an error table and
  // returns false.
  bool call_command(lua_State *lua);
  // 31 bits of the sequence with which every process begins.
  uint32_t next_random();
  void seed_random(int32_t seed);

 private:
  static constexpr uint64_t kFirstRandom = 0x1234ABCD330E;

  using Script = Machine::Script;
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  const Script *find(std::string_view sha1) const;
  // The script of this body, known from now on; nullptr and the error otherwise.
  const Script *script_of(std::string_view body, Reply &error);
  Reply run_script(const Script &script, const Evaluation &evaluation);
  Reply failure_of(const Script &script);

  Internals &in_;
  const std::shared_ptr<Machine> machine_ = Machine::of_this_thread();
  lua_State *const lua_ = machine_->lua();
  std::unordered_map<std::string, std::shared_ptr<const Script>, Hash, std::equal_to<>> known_;  // by sha1
  uint64_t random_ = kFirstRandom;
  ScriptRun *run_ = nullptr;
};

}  // namespace liblock_test::lua_shim
