# SPDX-License-Identifier: MIT
# What those whom one must not trust can do to whoever locks, and what they get to see (SECURITY.md): secrets looked for
# in everything that is told and in memory, hostile names, hostile servers.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl lua redis cmocka jansson"

gate() { ordinary_build && run_suites release security; }
nightly() { gate; }
