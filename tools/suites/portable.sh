# SPDX-License-Identifier: MIT
# The part of the library that asks one kind of system for something, in the form that asks for POSIX alone: by itself
# and under the tests in which threads sleep, time passes, processes fork and descriptors poll.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl cmocka jansson"

gate() { ordinary_build && run_suites release portable; }
nightly() { gate && check the_core_is_code_for_32_bits_too for_32_bits; }
nightly_needs="multilib"

# Read as such by the compiler, with the headers of this machine: what it asserts about widths is what counts.
for_32_bits() {
  local headers
  headers=/usr/include/$(gcc -print-multiarch)
  find "$root/core" -name '*.cpp' ! -name 'tls*.cpp' -print0 | xargs -0 -P 2 -n 8 g++ -m32 -std=c++20 -fsyntax-only \
    -Werror -I"$root/core" -I"$root/capi/include" -isystem /usr/include/hiredis -idirafter "$headers"
}
