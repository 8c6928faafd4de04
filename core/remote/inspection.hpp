// SPDX-License-Identifier: MIT
// Who asked to look at keys by name. One of the two is called once, and may end the object. Loop thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/key_info.hpp"

namespace liblock {

class Inspection {
 public:
  virtual ~Inspection() = default;
  virtual void seen(std::vector<std::unique_ptr<KeyInfo>> infos) = 0;
  virtual void failed(Status status, const std::string &why) = 0;
};

}  // namespace liblock
