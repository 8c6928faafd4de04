# SPDX-License-Identifier: MIT
# Random lives of processes with a quorum of simulated servers, in all CPUs: no double grant, no token that goes back,
# everything ends; and enough of everything happened for that to mean something. Replay one with --seed N.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl lua redis cmocka jansson"

lives() {
  ordinary_build && build_more release tests/sim/sim-quorum || return 1
  python3 "$root/tools/run_tests.py" --label "$suite" -- "$build_root/release/tests/sim/sim-quorum" \
    --json "$LIBLOCK_RELIABILITY/sim.json" || true
  check the_object_carries_no_mutant \
    sh -c "test -s '$build_root/release/capi/liblock.so' && ! grep -qi mutant '$build_root/release/capi/liblock.so'"
}

# A life in two CPUs that do nothing else. Held at night: the gate runs on whatever speed a machine has that day, where
# a bound in seconds says nothing of the code.
life_ms_max=150
a_life_takes_no_longer() {
  python3 - "$LIBLOCK_RELIABILITY/sim.json" "$life_ms_max" <<'PROGRAM'
import json, sys
lives = json.load(open(sys.argv[1]))
took_ms = 1000 * lives["seconds"] / lives["seeds"]
print(f"{lives['seeds']} lives took {lives['seconds']:.0f} s, {took_ms:.0f} ms each")
sys.exit(took_ms > float(sys.argv[2]))
PROGRAM
}

quick() { lives; }
gate() { lives; }
nightly() { lives && check "a_life_takes_at_most_${life_ms_max}_ms" a_life_takes_no_longer; }
