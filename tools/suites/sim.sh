# SPDX-License-Identifier: MIT
# Random lives of processes with a quorum of simulated servers, in all CPUs: no double grant, no token that goes back,
# everything ends; and enough of everything happened for that to mean something. Replay one with --seed N.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl lua luajit-dev redis cmocka jansson"

lives() {
  ordinary_build && build_more release tests/sim/sim-quorum || return 1
  python3 "$root/tools/run_tests.py" --label "$suite" -- "$build_root/release/tests/sim/sim-quorum" \
    --json "$LIBLOCK_RELIABILITY/sim.json" || true
  check the_object_carries_no_mutant \
    sh -c "test -s '$build_root/release/capi/liblock.so' && ! grep -qi mutant '$build_root/release/capi/liblock.so'"
}

# A line of a suite's output, held by nothing: seconds say more of the day's machine than of the code.
tell_pace() {
  python3 - "$LIBLOCK_RELIABILITY/sim.json" <<'PROGRAM'
import json, sys
lives = json.load(open(sys.argv[1]))
print(f"# {lives['seeds']} lives took {lives['seconds']:.0f} s, {1000 * lives['seconds'] / lives['seeds']:.0f} ms each")
PROGRAM
}

quick() { lives; }
gate() { lives; }
nightly() { lives && tell_pace; }
