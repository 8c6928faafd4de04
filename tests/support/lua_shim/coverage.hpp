// SPDX-License-Identifier: MIT
// Which pieces of the scripts run, where LIBLOCK_LUA_COVERAGE names a directory: each process writes a file there, for
// tools/lua_coverage.py. Lua tells of lines only, and one line may both ask and do; so scripts are compiled with more
// lines than they have (what an error says of its line is wrong then). Without the variable nothing of this exists.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct lua_Debug;
struct lua_State;

namespace liblock_test::lua_shim {

// Of one Lua, which is of one thread.
class Coverage {
 public:
  // Null where it is not asked for.
  static std::unique_ptr<Coverage> if_wanted();
  ~Coverage();
  Coverage(const Coverage &) = delete;
  Coverage &operator=(const Coverage &) = delete;

  // The text with a line of its own for whatever depends on a condition; lines that are not in the text begin with a
  // blank.
  static std::string in_pieces(std::string_view text);
  // What these pieces were compiled to is on top of the stack.
  void compiled(lua_State *lua, const std::string &sha1, std::string_view pieces);
  // What Lua runs from now on is this script.
  void runs(lua_State *lua, const std::string &sha1);

 private:
  explicit Coverage(int file) : file_(file) {}
  static void on_line(lua_State *lua, lua_Debug *where);
  void reached(size_t line);
  void write_line(const std::string &text) const;

  const int file_;
  std::unordered_map<std::string, std::vector<bool>> reached_;  // by sha1
  std::pair<const std::string, std::vector<bool>> *running_ = nullptr;
};

}  // namespace liblock_test::lua_shim
