// SPDX-License-Identifier: MIT
// A program of somebody else, in C++17, on the installed wrapper.
#include <cstdio>
#include <liblock/liblock.hpp>
#include <string>

int main() {
  const liblock::Context context("local:wrapper");
  bool good = std::string(liblock_version_string()) == LIBLOCK_TEST_VERSION;
  {
    const liblock::Lock lock = context.acquire("key");
    good = good && lock.is_held() && !context.try_acquire("key");
  }
  good = good && context.try_acquire("key");
  std::puts(good ? "good" : "bad");
  return good ? 0 : 1;
}
