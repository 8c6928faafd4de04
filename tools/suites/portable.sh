# SPDX-License-Identifier: MIT
# The part of the library that asks one kind of system for something, in the form that asks for POSIX alone: by itself
# and under the tests in which threads sleep, time passes, processes fork and descriptors poll.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl cmocka jansson"

quick() { ordinary_build && run_suites release portable; }
gate() { quick; }
nightly() { quick; }
