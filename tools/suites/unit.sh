# SPDX-License-Identifier: MIT
# The core from inside, one test file per source file, against the static library.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl lua cmocka jansson"

quick() { ordinary_build && run_suites release unit; }

# The second compiler reads the same code with other warnings and lays it out differently.
gate() {
  quick
  CC=clang CXX=clang++ build_or_fail clang -Dtests=enabled -Dtls=enabled -Dexamples=enabled -Dwerror=true &&
    run_suites clang unit
}
gate_needs="clang"

nightly() { gate; }
