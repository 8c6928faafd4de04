// SPDX-License-Identifier: MIT
// Compiled with -fno-exceptions and -fno-rtti: every call is there in the form that throws nothing.
#include <cstdio>
#include <liblock/liblock.hpp>

using liblock::AcquireOptions;
using liblock::Context;
using liblock::Lock;
using liblock::Owner;
using liblock::Result;
using namespace std::chrono_literals;

#if defined(__cpp_exceptions)
#error "this program is to be compiled without exceptions"
#endif

namespace {

int tests, failures;

void check(bool holds, const char *name) {
  std::printf("%s %d - %s\n", holds ? "ok" : "not ok", ++tests, name);
  failures += !holds;
}

void use(const Context &context) {
  Result result;
  {
    Lock lock = context.acquire("key", AcquireOptions().ttl(1min), result);
    check(lock && result, "a free key is granted");
    const Lock second = context.try_acquire("key", result);
    check(!second && result.status() == LIBLOCK_BUSY, "a held key is an empty lock and a status");
    check(lock.extend(1h, result) == LIBLOCK_OK && lock.remaining() > 1min, "a lease is set anew");
    check(lock.update("value", result) == LIBLOCK_OK, "a value is replaced");
    check(lock.release(result) == LIBLOCK_OK && !lock, "a lock is given back by hand");
    check(lock.release(result) != LIBLOCK_OK, "a lock is given back once");
    const Lock both = context.acquire_many({"a", "b"}, result);
    check(both && context.is_locked("a", result), "several keys are granted");
  }
  check(!context.is_locked("a", result) && result, "a lock is given back at the end of its scope");
  const Lock everything = context.acquire_global(AcquireOptions(), result);
  check(everything && result, "the global lock is granted");
}

}  // namespace

int main() {
  Result result;
  check(!Context::open("nonsense:", result) && !result,
        "a context that cannot be opened is empty and says why");
  const Context context = Context::open("local:", result);
  check(context && result, "a context is opened");
  const Owner owner = Owner::open(context, "owner", result);
  check(owner && result, "an owner is opened");
  use(context);
  std::printf("1..%d\n", tests);
  return failures != 0;
}
