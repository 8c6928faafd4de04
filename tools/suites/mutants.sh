# SPDX-License-Identifier: MIT
# Do the tests of the quorum engine bite? A build that has one fault on purpose at a time (tests/sim/mutation.cpp): each
# must be found by the random lives of the suite sim, or by the directed schedules.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl lua cmocka jansson"
schedules=tests/unit/quorum/schedules

mutants() {
  ordinary_build && build_more release tests/sim/sim-mutants || return 1
  python3 "$root/tools/run_tests.py" --label "$suite" -- "$build_root/release/tests/sim/sim-mutants" \
    --schedules "'$build_root/release/$schedules/schedules' '$root/$schedules'/*.txt" || true
}

nightly() { mutants; }
