# SPDX-License-Identifier: MIT
# Do the tests bite? One fault on purpose at a time. In the quorum engine (tests/sim/mutation.cpp) each must be found by
# the random lives of the suite sim, or by the directed schedules; elsewhere (tests/mutants) by the tests it names.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl lua luajit-dev redis cmocka jansson"
schedules=tests/unit/quorum/schedules

mutants() {
  ordinary_build && build_more release tests/sim/sim-mutants || return 1
  python3 "$root/tools/run_tests.py" --label "$suite" -- "$build_root/release/tests/sim/sim-mutants" \
    --json "$LIBLOCK_RELIABILITY/mutants.json" \
    --schedules "'$build_root/release/$schedules/schedules' '$root/$schedules'/*.txt" || true
  run_program "$root/tests/mutants/run.py" --build "$build_root/release" \
    --json "$LIBLOCK_RELIABILITY/mutants-elsewhere.json"
}

nightly() { mutants; }
