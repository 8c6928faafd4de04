# SPDX-License-Identifier: MIT
# The wait queues of a server: strict order over processes, dead heads, lost messages, listing a million locks.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl lua redis cmocka jansson"

quick() { ordinary_build && run_suites release queue -- "${at_once[@]}"; }
gate() { ordinary_build && run_suites release queue -- "${at_once[@]}" --timeout-multiplier 3; }
nightly() { gate; }
