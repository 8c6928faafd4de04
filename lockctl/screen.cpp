// SPDX-License-Identifier: MIT
// The terminal by the sequences that all of today's understand (ECMA-48, and the other screen of xterm).
#include "screen.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "exit_code.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace lockctl {
namespace {

constexpr int kEscapeMs = 20;  // how long the rest of a key's sequence may take

bool is_readable(int milliseconds) {
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  return poll(&input, 1, milliseconds) == 1;
}

void write_all(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

Screen::Screen() {
  if (tcgetattr(STDIN_FILENO, &before_) != 0) {
    throw Failure(kSystem, "there is no terminal to show it on; --json or --rounds 1 print it");
  }
  take();
}

Screen::~Screen() { give_back(); }

void Screen::take() {
  if (is_taken_) return;
  struct termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  write_all("\033[?1049h\033[?25l\033[2J");
  is_taken_ = true;
}

void Screen::give_back() {
  if (!is_taken_) return;
  write_all("\033[?25h\033[?1049l");
  tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  is_taken_ = false;
}

void Screen::draw(const std::vector<std::string> &lines, size_t bold) const {
  const Size size = terminal_size();
  std::string frame = "\033[H";
  for (size_t n = 0; n < std::min(lines.size(), size.rows); n++) {
    std::string text = clipped(lines[n], size.columns);
    if (n == 0) text.append(size.columns - columns_of(text), ' ');
    frame += n == 0 ? "\033[7m" : n == bold ? "\033[1m" : "";
    frame += text + "\033[0m\033[K";
    if (n + 1 < std::min(lines.size(), size.rows)) frame += "\r\n";
  }
  write_all(frame + "\033[J");
}

int Screen::pressed() const {
  char key = 0;
  if (!is_readable(0) || read(STDIN_FILENO, &key, 1) != 1) return 0;
  if (key != '\033') return static_cast<unsigned char>(key);
  char rest[2] = {};
  for (char &one : rest) {
    if (!is_readable(kEscapeMs) || read(STDIN_FILENO, &one, 1) != 1) return 0;
  }
  return rest[1] == 'A' ? kUp : rest[1] == 'B' ? kDown : 0;
}

}  // namespace lockctl
