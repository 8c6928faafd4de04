// SPDX-License-Identifier: MIT
// Printing: colours, questions, progress and tables. Owned by the main thread, as all output of lockctl is.
#include "terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "exit_code.hpp"
#include "text.hpp"

namespace lockctl {
namespace {

constexpr size_t kRowsHeldBack = 100;
bool colours_out = false, colours_error = false;
bool progress_is_shown = false;

const char *code_of(Colour colour) {
  switch (colour) {
    case Colour::bold:
      return "1";
    case Colour::dim:
      return "2";
    case Colour::red:
      return "31";
    case Colour::green:
      return "32";
    case Colour::yellow:
      return "33";
    case Colour::blue:
      return "34";
    case Colour::none:
      break;
  }
  return "0";
}

std::string with_colour(bool wanted, Colour colour, std::string_view text) {
  if (!wanted || colour == Colour::none) return std::string(text);
  return "\033[" + std::string(code_of(colour)) + "m" + std::string(text) + "\033[0m";
}

}  // namespace

void decide_colours(WhenColour when) {
  const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
  const bool is_forbidden = (no_colour && *no_colour) || (term && strcmp(term, "dumb") == 0);
  const auto wanted = [&](int descriptor) {
    return when == WhenColour::always ||
           (when == WhenColour::automatic && !is_forbidden && is_terminal(descriptor));
  };
  colours_out = wanted(STDOUT_FILENO);
  colours_error = wanted(STDERR_FILENO);
}

std::string coloured(Colour colour, std::string_view text) { return with_colour(colours_out, colour, text); }
std::string coloured_error(Colour colour, std::string_view text) {
  return with_colour(colours_error, colour, text);
}

bool is_terminal(int descriptor) { return isatty(descriptor) == 1; }

Size terminal_size() {
  struct winsize size = {};
  const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
  return is_known ? Size{size.ws_col, size.ws_row} : Size{80, 24};
}

void say(std::string_view text) {
  show_progress("");
  std::fprintf(stderr, "lockctl: %.*s\n", static_cast<int>(text.size()), text.data());
}

void show_progress(std::string_view text) {
  if (text.empty() && !progress_is_shown) return;
  if (!is_terminal(STDERR_FILENO)) return;
  std::fprintf(stderr, "\r\033[K%s", clipped(text, terminal_size().columns - 1).c_str());
  std::fflush(stderr);
  progress_is_shown = !text.empty();
}

bool is_confirmed(bool yes, const std::string &question) {
  if (yes) return true;
  if (!is_terminal(STDIN_FILENO) || !is_terminal(STDERR_FILENO)) {
    throw Failure(kUsage, question + " There is no terminal to ask; say --yes.");
  }
  show_progress("");
  std::fprintf(stderr, "%s [y/N] ", question.c_str());
  std::fflush(stderr);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

Table::Table(std::vector<std::string> heading) : heading_(std::move(heading)) {
  for (const std::string &name : heading_) widths_.push_back(columns_of(name));
}

Table::~Table() { flush(); }

void Table::add(std::vector<std::string> row) {
  for (size_t n = 0; n < row.size(); n++) widths_[n] = std::max(widths_[n], columns_of(row[n]));
  held_back_.push_back(std::move(row));
  if (is_open_ || held_back_.size() >= kRowsHeldBack) flush();
}

void Table::flush() {
  if (held_back_.empty()) return;
  show_progress("");
  if (!is_open_) print(heading_, Colour::bold);
  is_open_ = true;
  for (const auto &row : held_back_) print(row, Colour::none);
  held_back_.clear();
  std::fflush(stdout);
}

void Table::print(const std::vector<std::string> &row, Colour colour) const {
  std::string line;
  for (size_t n = 0; n < row.size(); n++) {
    line += row[n];
    if (n + 1 < row.size()) line.append(widths_[n] - columns_of(row[n]) + 2, ' ');
  }
  std::puts(coloured(colour, line).c_str());
}

}  // namespace lockctl
