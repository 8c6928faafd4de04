# SPDX-License-Identifier: MIT
# The documents: links lead somewhere, names of functions and constants exist in the header, fragments compile,
# programs run against the library of the ordinary build.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl cmocka jansson"

quick() { ordinary_build && run_program "$root/tools/check_docs.py" "$root" "$build_root/release/capi"; }
gate() { quick; }
nightly() { quick; }
