// SPDX-License-Identifier: MIT
// The whole terminal, borrowed: its other screen, without echo, until the object goes. Every way out of the program
// that can be caught gives it back; drawing replaces what stands there line by line, so that nothing flickers.
#pragma once

#include <termios.h>

#include <string>
#include <vector>

namespace lockctl {

class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen &) = delete;
  Screen &operator=(const Screen &) = delete;

  // Lines of printable text without escape sequences; the first is drawn inverse, `bold` of the others bold.
  void draw(const std::vector<std::string> &lines, size_t bold) const;
  // A key that was pressed, 0 = none: letters as they are, up and down as kUp and kDown.
  int pressed() const;
  // Around a stop of the process.
  void give_back();
  void take();

  static constexpr int kUp = 256, kDown = 257;

 private:
  struct termios before_ = {};
  bool is_taken_ = false;
};

}  // namespace lockctl
