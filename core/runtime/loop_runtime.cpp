// SPDX-License-Identifier: MIT
// See loop_runtime.hpp.
#include "runtime/loop_runtime.hpp"

#include "runtime/uv_stream.hpp"

namespace liblock {

std::shared_ptr<LoopRuntime> LoopRuntime::make(uv_loop_t *loop) {
  auto runtime = std::make_shared<LoopRuntime>();
  runtime->loop_ = loop;
  runtime->timers_.attach(
      loop, [](uv_async_t *async) { static_cast<LoopRuntime *>(async->data)->run(); }, runtime.get());
  runtime->self_ = runtime;
  runtime->timers_.wake();  // sets the uv_timer for whatever is armed before the loop runs
  return runtime;
}

void LoopRuntime::close() {
  closing_.store(true);
  timers_.wake();
}

void LoopRuntime::post(Notice *notice) {
  if (notices_.push(notice)) timers_.wake();
}

ByteStream *LoopRuntime::make_stream(ByteStream::Listener &listener) { return new UvStream(loop_, listener); }

void LoopRuntime::run() {
  if (detached_) return;
  inbox_.run_all();
  timers_.run_due();
  const bool closing = closing_.load();  // before the last look: what is posted after it would be late anyway
  while (notices_.deliver_round() > 0) {}
  if (!closing) return;
  detached_ = true;
  timers_.detach([](uv_handle_t *handle) {
    auto *runtime = static_cast<LoopRuntime *>(handle->data);
    if (--runtime->handles_open_ == 0) runtime->self_.reset();
  });
}

}  // namespace liblock
