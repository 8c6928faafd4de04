// SPDX-License-Identifier: MIT
// What the engines ask of the outside world: timers, connections, and a place where user callbacks run.
// Production has a libuv loop behind it (the library's own thread, or the caller's loop); tests have one that
// is moved by hand.
#pragma once

#include "base/parking.hpp"
#include "runtime/byte_stream.hpp"
#include "runtime/inbox.hpp"
#include "runtime/timer_heap.hpp"

namespace liblock {

// One delivery to user code. The runtime's from post() on, until dispose().
class Notice {
 public:
  virtual ~Notice() = default;
  virtual void deliver() = 0;
  virtual void dispose() { delete this; }
  Notice *next = nullptr;
};

// Thread-safe. No call waits for user code.
class Runtime {
 public:
  virtual ~Runtime() = default;
  // The time that timers go by.
  virtual Nanos now() const = 0;
  // True: it was not armed before. Armed already, it can only come earlier.
  virtual bool arm(Timer &timer, Nanos at) = 0;
  // True: it was armed and will not fire. False: it is not armed, or its fire() is running or about to run.
  virtual bool cancel(Timer &timer) = 0;
  // Delivered exactly once, those of one thread in the order of posting.
  virtual void post(Notice *notice) = 0;
  // Runs soon on the loop's thread, those of one thread in the order of asking. Timers fire on it too. That thread is
  // whoever runs the loop: one at a time, and what one has done the next one sees.
  virtual void run_on_loop(LoopTask &task) = 0;
  // The same for what nobody waits for: where the loop is idle the calling thread may run it at once.
  virtual void run_unattended(LoopTask &task) { run_on_loop(task); }
  // The same, for a thread that parks there next, until what the task began has ended. It may run the loop itself
  // meanwhile, so that its task, timers and what comes of both run on it.
  virtual void attend(LoopTask &task, Parking &) { run_on_loop(task); }
  // On the loop's thread. Ends by its close(). Throws std::bad_alloc.
  virtual ByteStream *make_stream(ByteStream::Listener &listener) = 0;

  // Of whatever waits for what the loop brings, so that somebody looks.
  Attendance attendance;
};

// Marks a thread that runs user callbacks or the loop: whatever could wait must not be called on it.
class NoBlockingScope {
 public:
  NoBlockingScope() { ++depth_; }
  ~NoBlockingScope() { --depth_; }
  NoBlockingScope(const NoBlockingScope &) = delete;
  NoBlockingScope &operator=(const NoBlockingScope &) = delete;
  static bool active() { return depth_ != 0; }

 private:
  // initial-exec: one instruction to read, also in a shared object; the few bytes fit the loader's reserve.
  [[gnu::tls_model("initial-exec")]] static inline thread_local int depth_ = 0;
};

}  // namespace liblock
