# SPDX-License-Identifier: MIT
# The core from inside, one test file per source file, against the static library.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl lua cmocka jansson"

# Once more the programs in which the scripts run, in their quick form, to see that they reach every line and branch of
# them.
scripts_ran_whole() {
  local ran=$log_dir/lua-coverage
  rm -rf "$ran"
  mkdir "$ran"
  LIBLOCK_TEST_SIZE=quick LIBLOCK_LUA_COVERAGE=$ran run_suites release scripts
  check every_line_of_the_scripts_runs_in_a_test python3 "$root/tools/lua_coverage.py" "$ran"
}

ordinary() { ordinary_build && run_suites release unit "$@"; } # -- ARGUMENT of run_tests.py…
quick() { ordinary; }
gate() { ordinary && scripts_ran_whole; }
nightly_needs="clang"

# The second compiler reads the same code with other warnings and lays it out differently. In the gate that is what the
# suite sanitizers builds. A night's random runs take ten minutes each.
nightly() {
  local -a longer=(-- --timeout-multiplier 6)
  ordinary "${longer[@]}" && scripts_ran_whole
  clang_build && run_suites clang unit "${longer[@]}"
}
