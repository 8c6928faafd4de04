// SPDX-License-Identifier: MIT
// See loop_runtime.hpp.
#include "runtime/loop_runtime.hpp"

#include "runtime/uv_stream.hpp"

namespace liblock {

std::shared_ptr<LoopRuntime> LoopRuntime::make(uv_loop_t *loop) {
  auto runtime = std::make_shared<LoopRuntime>();
  runtime->streams_.uv = loop;
  runtime->timers_.attach(
      loop, UvTimers::Loop::Callers, nullptr, [](void *self) { static_cast<LoopRuntime *>(self)->run(); },
      runtime.get());
  runtime->timers_.runs_here();
  runtime->self_ = runtime;
  runtime->timers_.wake();  // sets the uv_timer for whatever is armed before the loop runs
  return runtime;
}

void LoopRuntime::close() {
  closing_.store(true);
  timers_.wake();
}

void LoopRuntime::post(Notice *notice) {
  const auto pushed = notices_.push(notice);
  if (pushed == NoticeQueue::Pushed::First) timers_.wake();
  if (pushed != NoticeQueue::Pushed::Closed) return;
  const std::lock_guard late(late_mutex_);
  const NoBlockingScope scope;
  notice->deliver();
  notice->dispose();
}

void LoopRuntime::run_on_loop(LoopTask &task) {
  const auto pushed = inbox_.push(task);
  if (pushed == Inbox::Pushed::First) timers_.wake();
  if (pushed != Inbox::Pushed::Closed) return;
  const std::lock_guard late(late_mutex_);
  task.run();
}

ByteStream *LoopRuntime::make_stream(ByteStream::Listener &listener) {
  return new UvStream(streams_, listener);
}

void LoopRuntime::run() {
  if (detached_) return;
  inbox_.run_all();
  timers_.run_due();
  const bool closing = closing_.load();  // before the last look: what is posted after it would be late anyway
  while (notices_.deliver_round() > 0) {}
  if (!closing) return;
  while (!inbox_.close_if_empty()) inbox_.run_all();
  while (!notices_.close_if_empty()) notices_.deliver_round();
  detached_ = true;
  timers_.detach([](uv_handle_t *handle) {
    auto *runtime = static_cast<LoopRuntime *>(handle->data);
    if (--runtime->handles_open_ == 0) runtime->self_.reset();
  });
}

}  // namespace liblock
