// SPDX-License-Identifier: MIT
// A server that is told scripts directly: what a user's access list refuses, what takes thousands of waiters, and what
// arrives in an order that the library seldom makes.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lua_shim/server.hpp"
#include "redis/scripts.hpp"

// After the standard headers, whose names cmocka redefines.
#include "unit.hpp"

namespace unit {

using liblock_test::lua_shim::Reply;
using Words = std::vector<std::string>;

// Attempts and waiters have 32 hexadecimal digits.
inline std::string id(char last) { return std::string(31, '0') + last; }

class Told {
 public:
  Told() {
    server.on_publish = [this](std::string_view, std::string_view message) {
      messages.emplace_back(message);
      return 1;
    };
    server.on_numsub = [](std::string_view) { return 1; };
  }
  Reply run(const liblock::Script &script, const Words &keys, const Words &arguments) {
    return server.eval(script.body, keys, arguments);
  }
  Reply ask(const Words &words) { return server.command(words); }
  bool is_free(const std::string &key) { return ask({"EXISTS", key}).is(0); }
  // From now on the user of the scripts may not run this command on this key.
  void forbid(const std::string &command, const std::string &key) {
    server.on_permission = [=](std::span<const std::string_view> words) {
      return words.size() < 2 || words[0] != command || words[1] != key;
    };
  }
  std::string soon() const { return std::to_string(now_us + 1'000'000); }

  int64_t now_us = 1'700'000'000'000'000;
  liblock_test::lua_shim::Server server{&now_us};
  Words messages;  // that somebody heard
};

// The arguments with others in some places, which count from 1 as they do in the heads of scripts.
inline Words with(Words arguments, const std::map<size_t, std::string> &others) {
  for (const auto &[place, text] : others) arguments[place - 1] = text;
  return arguments;
}

}  // namespace unit
