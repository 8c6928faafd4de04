# SPDX-License-Identifier: MIT
# The library as others get it: its ABI against the committed baseline, headers read by the parsers of other languages,
# programs that load the shared object, CMake, static programs, ./dev install with the programs of the README; the
# packages for Debian, made of the tarball, at night with the tests that a package's build runs.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl cmocka jansson binutils abigail luajit"
gate_needs="pycparser cmake git debhelper lintian lua cli11 json"
library=$build_root/release/capi

version() { python3 "$root/tools/version.py" release; }

loaders() {
  check python_loads_the_library env LIBLOCK_LIBRARY="$library/liblock.so.0" python3 "$root/examples/hello.py"
  check luajit_loads_the_library env LIBLOCK_LIBRARY="$library/liblock.so.0" luajit "$root/examples/hello.lua"
}

# As a reader does it: the commands of the README, in an environment that has what ./dev install says to export.
readme() {
  local prefix=$build_root/packages/prefix said
  rm -rf "$prefix"
  said=$("$root/dev" install "$prefix") || { fail "dev install"; return; }
  eval "$(sed -n 's/^  export/export/p' <<<"$said")"
  run_program "$root/tests/abi/readme_programs.py" "$root/README.md"
}

quick() {
  ordinary_build || return 1
  run_program "$root/tools/check_abi.py" "$library/liblock.so" "$root/capi/include" "$root/tests/abi/baseline.abi"
  loaders
  (readme)
}

for_debian() { run_program "$root/tests/abi/packages.py" "$build_root/release" "$(version)"; }

others() {
  quick || return 1
  run_program "$root/tests/abi/selftest_abi.py" "$build_root/release" "$root/tests/abi/baseline.abi"
  run_program "$root/tests/abi/foreign_parsers.py" "$root/capi/include" "$library/liblock.so"
  run_program "$root/tests/abi/build_systems.py" "$build_root/release" "$root/tests/abi/consumer" "$(version)"
}
# Whether they can be made, installed and removed does not hang on how fast the library in them is.
gate() {
  others && DEB_BUILD_OPTIONS="parallel=2 nocheck" DEB_CXXFLAGS_APPEND="-O1 -g1" for_debian
}
nightly() { others && DEB_BUILD_OPTIONS="parallel=2" for_debian; }
