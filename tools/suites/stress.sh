# SPDX-License-Identifier: MIT
# Many threads on few keys, and exhaustive enumeration. The programs read LIBLOCK_STRESS (quick, gate,
# nightly) and choose their rounds by it.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl cmocka jansson"

quick() { ordinary_build && run_suites release stress -- --jobs 1; }
gate() { ordinary_build && run_suites release stress -- --jobs 1 --timeout-multiplier 4; }
nightly() { ordinary_build && run_suites release stress -- --jobs 1 --timeout-multiplier 20; }
