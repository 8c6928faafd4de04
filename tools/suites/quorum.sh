# SPDX-License-Identifier: MIT
# The context over a quorum: five real servers and client processes, bent at random from a seed; what a lock costs,
# what it survives, which servers are refused; the conformance scenarios once more.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl lua redis cmocka jansson"

quick() { ordinary_build && run_suites release quorum -- "${at_once[@]}"; }
gate() { ordinary_build && run_suites release quorum -- "${at_once[@]}" --timeout-multiplier 3; }
nightly() { gate; }
