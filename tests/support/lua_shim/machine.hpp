// SPDX-License-Identifier: MIT
// The Lua that all servers of a thread share: making one and compiling scripts costs more than a thousand runs. A
// script leaves nothing behind in it that another could see (see sandbox.cpp), so each server seems to have its own;
// which scripts a server knows, and its random numbers, are its interpreter's.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "coverage.hpp"
#include "reply.hpp"

struct lua_State;

namespace liblock_test::lua_shim {

class Interpreter;

// What the first line of a script says, as in "#!lua flags=no-writes".
struct ScriptFlags {
  bool given = false;
  bool no_writes = false;
  bool allow_oom = false;
};

// Memory in pieces of few sizes, since Lua asks for much and gives it back soon.
class Pool {
 public:
  void *resize(void *block, size_t old_size, size_t size);

 private:
  static constexpr size_t kStep = 16, kLargest = 512, kArena = 64 * 1'024;
  static size_t list_of(size_t size) { return (size + kStep - 1) / kStep; }
  void *get(size_t size);
  void put(void *block, size_t size);

  std::array<void *, kLargest / kStep + 1> free_{};
  std::vector<std::unique_ptr<char[]>> arenas_;
  size_t left_ = 0;  // of the last arena
};

class Machine {
 public:
  struct Script {
    std::string sha1;
    ScriptFlags flags;
    Machine *machine;
    int function;  // its place in Lua's registry
    ~Script();
  };

  static std::shared_ptr<Machine> of_this_thread();
  Machine();
  ~Machine();
  Machine(const Machine &) = delete;
  Machine &operator=(const Machine &) = delete;

  // The script of this body, compiled when it is new; nullptr and the error otherwise.
  std::shared_ptr<const Script> script_of(std::string_view body, Reply &error);

  lua_State *lua() const { return lua_; }
  Coverage *coverage() const { return coverage_.get(); }  // nullptr: none is wanted
  int globals() const { return globals_; }                // these two: references in the registry
  int error_handler() const { return error_handler_; }
  bool is_protected(lua_State *lua, int index) const;
  void protect(lua_State *lua, int index);

  Interpreter *running = nullptr;      // whose script runs
  std::vector<std::string_view> argv;  // of the command that the script calls

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  static constexpr size_t kScriptsMax = 500;

  const std::unique_ptr<Coverage> coverage_ = Coverage::if_wanted();
  Pool pool_;
  lua_State *lua_ = nullptr;
  int globals_ = 0;
  int error_handler_ = 0;
  int protected_ = 0;
  std::unordered_map<std::string, std::shared_ptr<const Script>, Hash, std::equal_to<>> by_body_;
};

}  // namespace liblock_test::lua_shim
