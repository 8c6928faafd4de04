// SPDX-License-Identifier: MIT
// A piece of work for the loop's thread that is gone when it is done.
#pragma once

#include <utility>

#include "runtime/runtime.hpp"

namespace liblock {

template <typename Body>
class Once final : public LoopTask {
 public:
  explicit Once(Body body) : body_(std::move(body)) {}
  void run() override {
    Body body = std::move(body_);
    delete this;
    body();
  }

 private:
  Body body_;
};

// Throws std::bad_alloc.
template <typename Body>
void run_once(Runtime &runtime, Body body) {
  runtime.run_on_loop(*new Once<Body>(std::move(body)));
}

}  // namespace liblock
