// SPDX-License-Identifier: MIT
// See coverage.hpp. A line of the file is "script SHA1 PIECES CODE", the latter two in hexadecimal digits, CODE as Lua
// dumps it; or "ran SHA1 LINE". Each is written when it is new, since processes end in all ways.
#include "coverage.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "lua_api.hpp"

namespace liblock_test::lua_shim {

namespace {

// The hook is told of a Lua, and knows nothing else.
thread_local Coverage *of_this_thread = nullptr;

std::string in_digits(std::string_view bytes) {
  static const char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

int append(lua_State *, const void *bytes, size_t size, void *out) {
  static_cast<std::string *>(out)->append(static_cast<const char *>(bytes), size);
  return 0;
}

// Strings and comments are of one piece; text[at] may begin one.
size_t quoted_size(std::string_view text, size_t at) {
  if (text.substr(at, 2) == "--") return std::min(text.find('\n', at), text.size()) - at;
  if (text[at] != '\'' && text[at] != '"') return 0;
  size_t end = at + 1;
  while (end < text.size() && text[end] != text[at]) end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size()) - at;
}

size_t word_size(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
    ++end;
  return end - at;
}

template <size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N> &words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::unique_ptr<Coverage> Coverage::if_wanted() {
  const char *directory = std::getenv("LIBLOCK_LUA_COVERAGE");
  if (directory == nullptr) return nullptr;
  const std::string path = std::string(directory) + "/" + std::to_string(getpid());
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) std::abort();
  return std::unique_ptr<Coverage>(new Coverage(file));
}

Coverage::~Coverage() {
  if (of_this_thread == this) of_this_thread = nullptr;
  close(file_);
}

std::string Coverage::in_pieces(std::string_view text) {
  static constexpr std::array<std::string_view, 5> kBefore = {"then", "else", "do", "and", "or"};
  static constexpr std::array<std::string_view, 2> kBehind = {"return", "break"};
  if (text.find("[[") != std::string_view::npos) return std::string(text);
  std::string out;
  const auto begin_piece = [&out] {
    const size_t last = out.find_last_not_of(' ');
    if (last != std::string::npos && out[last] != '\n') out += "\n ";
  };
  for (size_t at = 0; at < text.size();) {
    const size_t quoted = quoted_size(text, at), word = word_size(text, at);
    const std::string_view token = text.substr(at, std::max<size_t>({quoted, word, 1}));
    at += token.size();
    if (is_one_of(token, kBehind)) begin_piece();
    out += token;
    if (is_one_of(token, kBefore) && at < text.size() && text[at] != '\n') begin_piece();
  }
  return out;
}

void Coverage::compiled(lua_State *lua, const std::string &sha1, std::string_view pieces) {
  const auto lines = static_cast<size_t>(std::count(pieces.begin(), pieces.end(), '\n')) + 2;
  if (!reached_.try_emplace(sha1, lines).second) return;
  std::string code;
  lua_dump(lua, append, &code);
  write_line("script " + sha1 + " " + in_digits(pieces) + " " + in_digits(code));
}

void Coverage::runs(lua_State *lua, const std::string &sha1) {
  running_ = &*reached_.find(sha1);
  of_this_thread = this;
  lua_sethook(lua, on_line, LUA_MASKLINE, 0);
}

void Coverage::on_line(lua_State *, lua_Debug *where) {
  if (where->currentline > 0) of_this_thread->reached(static_cast<size_t>(where->currentline));
}

void Coverage::reached(size_t line) {
  auto &[sha1, lines] = *running_;
  if (line >= lines.size() || lines[line]) return;
  lines[line] = true;
  write_line("ran " + sha1 + " " + std::to_string(line));
}

// In one piece: after a fork two processes write to one file.
void Coverage::write_line(const std::string &text) const {
  const std::string whole = text + "\n";
  if (write(file_, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size())) std::abort();
}

}  // namespace liblock_test::lua_shim
