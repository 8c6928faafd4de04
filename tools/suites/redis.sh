# SPDX-License-Identifier: MIT
# The context on a server: real redis-servers that the tests start, bend and kill themselves; the scripts in an embedded
# Lua; the conformance scenarios once more. At most two programs at a time, since some count and some measure.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl lua redis cmocka jansson"

quick() { ordinary_build && run_suites release redis -- --jobs 2; }
gate() { ordinary_build && run_suites release redis -- --jobs 2 --timeout-multiplier 3; }
nightly() { gate; }
