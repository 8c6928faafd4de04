// SPDX-License-Identifier: MIT
// Starts a thread of ours inside somebody else's process: all signals blocked, so that the host's handlers
// run on the host's threads; named, so that the host's people see whose it is; detached, since it lives as
// long as the process.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <system_error>
#include <thread>
#include <utility>

#include "base/assert.hpp"
#include "base/platform.hpp"

namespace liblock {

inline constexpr size_t kThreadNameMax = 16;  // Linux refuses longer ones, with their end

template <size_t Size, typename Body>
void start_thread(const char (&name)[Size], Body body) {
  static_assert(Size <= kThreadNameMax);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread([act = std::move(body)] { or_end_without_memory(act); });
    name_thread(thread.native_handle(), name);
    thread.detach();
  } catch (const std::system_error &lack) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw std::system_error(lack.code(), "no thread can be started");
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace liblock
