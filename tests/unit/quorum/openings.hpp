// SPDX-License-Identifier: MIT
// What a process is told when its quorum is opened, and what it shows of it.
#pragma once

#include "changes.hpp"

namespace unit {

struct Opened {
  int times = 0;
  Status status = Status::OK;
  std::string why;
  bool says(const std::string &text) const { return why.find(text) != std::string::npos; }
};

inline std::shared_ptr<Opened> open(Process &process, World &world, int64_t ms = 2'000) {
  auto opened = std::make_shared<Opened>();
  run_once(process.host(), [&process, opened] {
    process.instance().when_opened([opened](Status status, const std::string &why) {
      ++opened->times;
      opened->status = status;
      opened->why = why;
    });
  });
  world.run_ms(ms);
  return opened;
}

inline std::string shown(Process &by) {
  std::string message;
  by.instance().board.view(by.instance().clock.now(), message);
  return message;
}

}  // namespace unit
