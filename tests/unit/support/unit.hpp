// SPDX-License-Identifier: MIT
// cmocka for C++ bodies: its assertions leave by longjmp, which would skip destructors, so a body throws
// instead and fail() is called once, outside. UNIT_TEST defines a test whose name is a sentence; UNIT_MAIN
// runs those named.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cstdio>
#include <cstdlib>
#include <ios>  // has functions by the name of a macro of cmocka, which comes behind it
#include <string>

extern "C" {
#include <cmocka.h>
}

namespace unit {

struct Failure {
  std::string text;
};

// The sizes that LIBLOCK_TEST_SIZE names.
inline uint64_t scaled(uint64_t quick, uint64_t gate, uint64_t nightly) {
  const char *size = std::getenv("LIBLOCK_TEST_SIZE");
  if (size != nullptr && std::string(size) == "nightly") return nightly;
  return size != nullptr && std::string(size) == "gate" ? gate : quick;
}

// How many times slower a sanitizer is (LIBLOCK_TEST_SLOWNESS); without one 1.
inline uint64_t slowness() {
  const char *times = std::getenv("LIBLOCK_TEST_SLOWNESS");
  const uint64_t number = times != nullptr ? std::strtoull(times, nullptr, 10) : 1;
  return number == 0 ? 1 : number;
}

inline void check(bool holds, const char *what, const char *file, int line) {
  if (!holds) throw Failure{std::string(file) + ":" + std::to_string(line) + ": not true: " + what};
}

template <typename Body>
void run(Body body) {
  char text[2048] = "";
  try {
    body();
    return;
  } catch (const Failure &failure) {
    std::snprintf(text, sizeof text, "%s", failure.text.c_str());
  } catch (const std::exception &error) {
    std::snprintf(text, sizeof text, "exception: %s", error.what());
  }
  fail_msg("%s", text);
}

}  // namespace unit

#define EXPECT(condition) ::unit::check((condition), #condition, __FILE__, __LINE__)

#define UNIT_TEST(name)                                   \
  static void name##_body();                              \
  static void name(void **) { ::unit::run(name##_body); } \
  static void name##_body()

#define UNIT_MAIN(title, ...)                                           \
  int main() {                                                          \
    const CMUnitTest tests[] = {__VA_ARGS__};                           \
    return cmocka_run_group_tests_name(title, tests, nullptr, nullptr); \
  }
