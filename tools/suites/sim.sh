# SPDX-License-Identifier: MIT
# Random lives of processes with a quorum of simulated servers, in all CPUs: no double grant, no token that goes back,
# everything ends; and enough of everything happened for that to mean something. Replay one with --seed N.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl lua cmocka jansson"

# What the lives may take on two CPUs that do nothing else. Held at night: the gate runs on whatever speed a machine has
# that day (264 to 423 s were seen for the very same lives), where a bound in seconds says nothing of the code.
seconds_max=360
lives() {
  ordinary_build && build_more release tests/sim/sim-quorum || return 1
  python3 "$root/tools/run_tests.py" --label "$suite" -- "$build_root/release/tests/sim/sim-quorum" \
    --json "$log_dir/sim-quorum.json" || true
  seconds=$(python3 -c "import json; print(round(json.load(open('$log_dir/sim-quorum.json'))['seconds']))")
  echo "  the lives took $seconds s"
  check the_object_carries_no_mutant \
    sh -c "test -s '$build_root/release/capi/liblock.so' && ! grep -qi mutant '$build_root/release/capi/liblock.so'"
}

quick() { lives; }
gate() { lives; }
nightly() { lives && check "the_lives_take_at_most_${seconds_max}_s" test "$seconds" -le "$seconds_max"; }
