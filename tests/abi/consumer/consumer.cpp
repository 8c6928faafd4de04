// SPDX-License-Identifier: MIT
// A program of somebody else, in C++17: a guard of its own around the installed C API, used by two threads.
#include <liblock/liblock.h>

#include <cstdio>
#include <string>
#include <thread>

namespace {

class Guard {
 public:
  Guard(liblock_context *context, const std::string &key) : context_(context) {
    status_ = liblock_acquire(context, key.data(), key.size(), nullptr, &lock_, nullptr);
  }
  ~Guard() {
    if (status_ == LIBLOCK_OK) status_ = liblock_release(context_, lock_, nullptr);
  }
  Guard(const Guard &) = delete;
  Guard &operator=(const Guard &) = delete;
  bool held() const { return status_ == LIBLOCK_OK; }

 private:
  liblock_context *context_;
  liblock_lock lock_ = 0;
  liblock_status status_;
};

}  // namespace

int main() {
  liblock_context *context = nullptr;
  liblock_result result = LIBLOCK_RESULT_INIT;
  if (liblock_open("local:consumer", nullptr, &context, &result) != LIBLOCK_OK) return 1;
  constexpr int kRounds = 2000;
  int counter = 0;
  int refused = 0;
  const auto work = [&] {
    for (int i = 0; i < kRounds; ++i) {
      const Guard guard(context, "counter");
      if (guard.held()) {
        // Without mutual exclusion the other thread's update is lost in between.
        const int seen = counter;
        std::this_thread::yield();
        counter = seen + 1;
      } else {
        ++refused;
      }
    }
  };
  std::thread first(work);
  std::thread second(work);
  first.join();
  second.join();
  liblock_close(context);
  liblock_context_free(context);
  const bool good = refused == 0 && counter == 2 * kRounds;
  std::puts(good ? "good" : "bad");
  return good ? 0 : 1;
}
