// SPDX-License-Identifier: MIT
// A script without the line keeps the rules of old; one with it that names no flag may write.
#include "shebang.hpp"

namespace liblock_test::lua_shim {

namespace {

// Takes the next piece up to the separator off the text.
std::string_view take_piece(std::string_view &text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view piece = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return piece;
}

void parse_flags(std::string_view names, Shebang &shebang) {
  while (!names.empty()) {
    const std::string_view flag = take_piece(names, ',');
    if (flag == "no-writes") {
      shebang.flags.no_writes = true;
    } else if (flag == "allow-oom") {
      shebang.flags.allow_oom = true;
    } else if (flag != "allow-stale" && flag != "no-cluster" && flag != "allow-cross-slot-keys") {
      shebang.problem = "Unexpected flag in script shebang: " + std::string(flag);
      return;
    }
  }
}

}  // namespace

Shebang parse_shebang(std::string_view body) {
  Shebang shebang;
  if (!body.starts_with("#!")) return shebang;
  shebang.size = body.find('\n');
  if (shebang.size == std::string_view::npos) {
    shebang.problem = "Invalid script shebang";
    return shebang;
  }
  shebang.flags.given = true;
  std::string_view line = body.substr(0, shebang.size);
  const std::string_view engine = take_piece(line, ' ');
  if (engine != "#!lua") {
    shebang.problem = "Unexpected engine in script shebang: " + std::string(engine);
    return shebang;
  }
  while (!line.empty() && shebang.problem.empty()) {
    std::string_view word = take_piece(line, ' ');
    if (word.empty()) continue;
    if (!word.starts_with("flags=")) {
      shebang.problem = "Unknown lua shebang option: " + std::string(word);
    } else {
      word.remove_prefix(6);
      parse_flags(word, shebang);
    }
  }
  return shebang;
}

}  // namespace liblock_test::lua_shim
