# SPDX-License-Identifier: MIT
# The shared object from outside: the C API, conformance, the checks of the object, the header and the tree,
# the examples, installed programs, and two foreign function interfaces.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl cmocka jansson binutils
  valgrind"
suite_foreign="ruby"
nightly_needs="clang"

# A foreign toolchain that is not there leaves no test behind that could be seen missing: it is named here.
foreign() {
  have ruby || skip ffi_ruby "Ruby with the ffi gem is not on this machine"
  python3 -c 'import ctypes' 2>/dev/null || skip ffi_python "this Python has no ctypes"
}

# One more than there are processors: many only wait.
quick() { ordinary_build && run_suites release api -- --jobs $(($(nproc) + 1)) && foreign; }

gate() { quick; }

# As in the suite unit: what the gate reads with the second compiler is what the suite sanitizers builds.
nightly() {
  quick
  clang_build && run_suites clang api
}
