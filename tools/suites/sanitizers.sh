# SPDX-License-Identifier: MIT
# Everything again under AddressSanitizer with UndefinedBehaviorSanitizer, and under ThreadSanitizer, with some of the
# lives, at night a tenth, and what the nemesis does; at night the C API under valgrind too. Any report ends who caused
# it, so that a finding can never be read over. Left out: what a sanitizer's runtime itself makes untrue (the object's
# needed libraries, counting of allocations and system calls) and foreign processes, into which the runtime would have
# to be preloaded.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl lua luajit-dev redis cmocka jansson clang lld"
suite_needs+=" tsan go"
# Lines in stacks are all that is read of what debuggers could know.
export CFLAGS=-g1 CXXFLAGS=-g1
export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:abort_on_error=1:detect_leaks=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:detect_deadlocks=1:history_size=4
# A process would sleep a second at its end otherwise, and the tests with servers start hundreds.
TSAN_OPTIONS+=:atexit_sleep_ms=50
left_out=(--exclude 'ffi_*' --exclude '*no_alloc*' --exclude '*no_syscall*' --exclude '*valgrind*')

addresses() { # ARGUMENT of run_tests.py…
  addresses_build &&
    make_and_run_suites asan unit api stress redis pace queue quorum security -- --timeout-multiplier 6 \
      "${at_once[@]}" "${left_out[@]}" "$@"
}

# A lock library is cleared by this one or by nothing: no suppressions. The demo shows what happens without
# locks, so it races on purpose; the same work under locks is done by the stress programs.
threads() { # 'SUITE…' of the unit tests, ARGUMENT of run_tests.py…
  local of_unit=$1
  shift
  # shellcheck disable=SC2086
  instrumented_build tsan -Db_sanitize=thread &&
    make_and_run_suites tsan $of_unit api stress redis pace queue quorum -- --timeout-multiplier 8 "${at_once[@]}" \
      "${left_out[@]}" --exclude 'example_index_demo*' "$@"
}

# Of the suite sim.
lives() { # NAME of the build, HOW MANY
  build_more "$1" tests/sim/sim-quorum || return 1
  [ -n "${builds_only:-}" ] ||
    check "$2_lives_in_build_$1" "$build_root/$1/tests/sim/sim-quorum" --seeds "1-$2"
}

# Of the suite faults, with clients in C: whoever loads the library into another language would have to load the
# sanitizer before.
worlds() { # NAME of the build, HOW MANY of each kind
  build_more "$1" tests/integration/integration-agent tests/integration/integration-client \
    tests/support/intervals/check-intervals tests/nemesis/stepped-clock.so || return 1
  [ -n "${builds_only:-}" ] ||
    run_program "$root/tests/nemesis/nemesis.py" --build "$build_root/$1" --c-alone --jobs 3 --seeds "1-$2"
}

memory() { ordinary_build && run_suites release memcheck -- --timeout-multiplier 3 "${at_once[@]}"; }

# The rounds of the quick size: the instrumented programs are 5 to 15 times slower. Of the programs over a quorum each
# sanitizer gets the one that suits it: every call's memory the scenarios, threads the random faults, which end calls at
# any moment. What a lock costs there is measured without them. What has one thread only, under simulated time or in
# the Lua shim, is not looked through for races, and no lives are.
one_thread=(--exclude 'quorum schedules*' --exclude '*lua_shim*' --exclude '*_match_redis')
# Neither of them has these. The corpora are fuzzed under the first one as well.
no_quorum=(--exclude 'quorum lock' --exclude 'quorum data' --exclude 'quorum loss')
in_gate_for_addresses() {
  addresses "${no_quorum[@]}" --exclude 'quorum chaos' --exclude unit_test_exhaustive \
    --exclude 'fuzz_replay_*' && lives asan 36
}
in_gate_for_threads() {
  threads 'threads portable' "${no_quorum[@]}" --exclude 'conformance quorum' "${one_thread[@]}"
}
worlds_of_asan() { worlds asan 1; }
worlds_of_tsan() { worlds tsan 1; }
ahead() { "$1"; }
gate() {
  export LIBLOCK_TEST_SIZE=quick LIBLOCK_STRESS=quick LIBLOCK_TEST_SLOWNESS=4
  at_once=(--jobs $((3 * $(nproc) / 2)))
  compile_before in_gate_for_addresses in_gate_for_threads worlds_of_asan worlds_of_tsan
  [ -z "${builds_only:-}" ] || return 0
  side_by_side in_gate_for_addresses in_gate_for_threads
  # Not beside those, since every kind is to have its turn in time.
  side_by_side worlds_of_asan worlds_of_tsan
}
nightly_needs="valgrind"
nightly() {
  export LIBLOCK_TEST_SIZE=gate LIBLOCK_STRESS=gate LIBLOCK_TEST_SLOWNESS=4
  addresses
  threads unit
  [ -z "${builds_only:-}" ] || return 0
  for build in asan tsan; do
    lives "$build" 2600
    worlds "$build" 2
  done
  LIBLOCK_TEST_SIZE=quick LIBLOCK_STRESS=quick memory
}
