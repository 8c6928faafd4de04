# SPDX-License-Identifier: MIT
# How much of the core runs in the tests of the suites below, in their quick form, and in a hundred lives: by folder,
# and by line in build/coverage/report/index.html. By clang, which counts the branches that are in the source: what a
# compiler adds to take objects apart where something is thrown is none. Of the lines of the scripts the suite unit
# sees to it that all run.
suite_needs="compiler clang tsan llvm meson ninja pkg-config python libuv hiredis openssl lua redis cmocka jansson"
covered=$build_root/coverage
suites_covered=(unit api redis pace queue quorum stress security)

# Whoever is killed leaves no counts behind, or half of them; nor does a child that leaves by _exit, as torture's do.
summarise() {
  local figures=$covered/all.profdata core=$covered/core/liblock_core.a
  llvm-profdata merge -sparse --failure-mode=all "$covered"/counts/*.profraw -o "$figures" &&
    llvm-cov export -summary-only -instr-profile="$figures" -object "$core" >"$covered/summary.json" &&
    llvm-cov show -format=html -show-branches=count -output-dir="$covered/report" -instr-profile="$figures" \
      -object "$core"
}

nightly() {
  # Counting makes it half as fast.
  export LIBLOCK_TEST_SIZE=quick LIBLOCK_STRESS=quick LIBLOCK_TEST_SLOWNESS=2
  export LLVM_PROFILE_FILE=$covered/counts/%8m.profraw
  local counting='-fprofile-instr-generate -fcoverage-mapping'
  CC=clang CXX=clang++ CFLAGS=$counting CXXFLAGS=$counting LDFLAGS=-fprofile-instr-generate configure_or_fail coverage \
    "${hasty[@]}" -Doptimization=1 -Dtests=enabled -Dtls=enabled -Dexamples=disabled -Dlockctl=disabled || return 0
  rm -rf "$covered/counts" "$covered/summary.json"
  make_and_run_suites coverage "${suites_covered[@]}" -- --exclude 'no_*' --exclude 'check_*' --exclude 'selftest_*' \
    --exclude installed --exclude bench_load --exclude '*valgrind*' --timeout-multiplier 3 || return 0
  build_more coverage tests/sim/sim-quorum || return 0
  check random_lives_go_on "$covered/tests/sim/sim-quorum" --seeds 1-100
  check the_report_is_made summarise
  [ ! -f "$covered/summary.json" ] ||
    run_program "$root/tests/reliability/coverage.py" "$covered/summary.json" "$LIBLOCK_RELIABILITY/coverage.json"
}
