// SPDX-License-Identifier: MIT
// See machine.hpp.
#include "machine.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "convert.hpp"
#include "lua_api.hpp"
#include "sandbox.hpp"
#include "sha1.hpp"
#include "shebang.hpp"

namespace liblock_test::lua_shim {

namespace {

constexpr std::string_view kChunkName = "@user_script";

void *allocate(void *pool, void *block, size_t old_size, size_t size) {
  return static_cast<Pool *>(pool)->resize(block, old_size, size);
}

}  // namespace

void *Pool::get(size_t size) {
  if (size > kLargest) {
    void *block = std::malloc(size);
    if (block == nullptr) std::abort();
    return block;
  }
  void *&first = free_[list_of(size)];
  if (first != nullptr) {
    void *block = first;
    std::memcpy(&first, block, sizeof first);
    return block;
  }
  const size_t whole = list_of(size) * kStep;
  if (left_ < whole) {
    arenas_.push_back(std::make_unique_for_overwrite<char[]>(kArena));
    left_ = kArena;
  }
  left_ -= whole;
  return arenas_.back().get() + left_;
}

void Pool::put(void *block, size_t size) {
  if (size > kLargest) return std::free(block);
  void *&first = free_[list_of(size)];
  std::memcpy(block, &first, sizeof first);
  first = block;
}

void *Pool::resize(void *block, size_t old_size, size_t size) {
  if (block == nullptr) return size == 0 ? nullptr : get(size);
  const bool stays = old_size <= kLargest && size <= kLargest && list_of(old_size) == list_of(size);
  if (stays && size != 0) return block;
  if (old_size > kLargest && size > kLargest) {
    void *grown = std::realloc(block, size);
    if (grown == nullptr) std::abort();
    return grown;
  }
  void *fresh = size == 0 ? nullptr : get(size);
  if (fresh != nullptr) std::memcpy(fresh, block, std::min(old_size, size));
  put(block, old_size);
  return fresh;
}

std::shared_ptr<Machine> Machine::of_this_thread() {
  thread_local const std::shared_ptr<Machine> machine = std::make_shared<Machine>();
  return machine;
}

Machine::Machine() : lua_(lua_newstate(allocate, &pool_)) {
  if (lua_ == nullptr) std::abort();
  lua_newtable(lua_);
  protected_ = luaL_ref(lua_, LUA_REGISTRYINDEX);
  globals_ = install_sandbox(lua_, *this);
  lua_pushcfunction(lua_, describe_error);
  error_handler_ = luaL_ref(lua_, LUA_REGISTRYINDEX);
}

Machine::~Machine() {
  by_body_.clear();
  lua_close(lua_);
}

Machine::Script::~Script() { luaL_unref(machine->lua_, LUA_REGISTRYINDEX, function); }

std::shared_ptr<const Machine::Script> Machine::script_of(std::string_view body, Reply &error) {
  if (const auto known = by_body_.find(body); known != by_body_.end()) return known->second;
  const Shebang shebang = parse_shebang(body);
  if (!shebang.problem.empty()) {
    error = Reply::error("ERR " + shebang.problem);
    return nullptr;
  }
  const std::string_view text = body.substr(shebang.size);
  const std::string pieces = coverage_ ? Coverage::in_pieces(text) : std::string();
  if (!load_text(lua_, coverage_ ? pieces : text, kChunkName)) {
    const std::string problem = lua_tostring(lua_, -1);
    lua_pop(lua_, 1);
    error = Reply::error("ERR Error compiling script (new function): " + problem);
    return nullptr;
  }
  const std::string sha1 = sha1_hex(body);
  if (coverage_) coverage_->compiled(lua_, sha1, pieces);
  const int function = luaL_ref(lua_, LUA_REGISTRYINDEX);
  if (by_body_.size() >= kScriptsMax) by_body_.clear();  // those in use stay their servers'
  const std::shared_ptr<const Script> script(new Script{sha1, shebang.flags, this, function});
  by_body_.emplace(std::string(body), script);
  return script;
}

bool Machine::is_protected(lua_State *lua, int index) const {
  lua_rawgeti(lua, LUA_REGISTRYINDEX, protected_);
  lua_pushvalue(lua, index);
  lua_rawget(lua, -2);
  const bool found = lua_toboolean(lua, -1) != 0;
  lua_pop(lua, 2);
  return found;
}

void Machine::protect(lua_State *lua, int index) {
  lua_pushvalue(lua, index);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, protected_);
  lua_insert(lua, -2);
  lua_pushboolean(lua, 1);
  lua_rawset(lua, -3);
  lua_pop(lua, 1);
}

}  // namespace liblock_test::lua_shim
