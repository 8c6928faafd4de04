// SPDX-License-Identifier: MIT
// What is printed where: results on standard output, everything said about them on standard error. Colours and
// questions are for terminals alone; NO_COLOR and TERM=dumb turn colours off, --color decides against both.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lockctl {

enum class Colour { none, bold, dim, red, green, yellow, blue };
enum class WhenColour { automatic, always, never };

void decide_colours(WhenColour when);
// The text in a colour where standard output, or error, has any.
std::string coloured(Colour colour, std::string_view text);
std::string coloured_error(Colour colour, std::string_view text);

bool is_terminal(int descriptor);
struct Size {
  size_t columns, rows;
};
Size terminal_size();

// "lockctl: TEXT" on standard error.
void say(std::string_view text);
// A line that says how far something has come, over itself, where standard error is a terminal; "" wipes it.
void show_progress(std::string_view text);
// Asks on the terminal; without one, and without --yes, a Failure that says what to do.
bool is_confirmed(bool yes, const std::string &question);

// Rows of text below a heading; columns are as wide as what stands in them, the last one is left as it is. The first
// rows are held back until the widths are known, later ones leave at once: any number of rows takes the same memory.
class Table {
 public:
  explicit Table(std::vector<std::string> heading);
  ~Table();
  Table(const Table &) = delete;
  Table &operator=(const Table &) = delete;
  void add(std::vector<std::string> row);
  void flush();

 private:
  void print(const std::vector<std::string> &row, Colour colour) const;

  const std::vector<std::string> heading_;
  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> held_back_;
  bool is_open_ = false;  // the heading has been printed
};

}  // namespace lockctl
