# SPDX-License-Identifier: MIT
# Random lives of processes with a quorum of simulated servers, in all CPUs: no double grant, no token that goes back,
# everything ends; and enough of everything happened for that to mean something. Replay one with --seed N.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl lua luajit-dev redis cmocka jansson"

# Lives have their own time, so that they can be lived in what other suites leave of the machine's: what came of those
# that were lived ahead is told once, by the same program for the same size.
lives() {
  # Who comes ahead configures nothing that others are at work in.
  [ -n "${builds_only:-}" ] || ordinary_build || return 1
  build_more release tests/sim/sim-quorum || return 1
  alone lives live || return 1
  [ -z "${builds_only:-}" ] || return 0
  # As new as this suite is, by which its commit is noted.
  mv "$lived.json" "$LIBLOCK_RELIABILITY/sim.json" 2>/dev/null && touch "$LIBLOCK_RELIABILITY/sim.json"
  python3 "$root/tools/run_tests.py" --label "$suite" -- sh -c 'cat "$1"; exit "$(cat "$1.status")"' sh "$lived" || true
  rm -f "$lived.of"
  check the_object_carries_no_mutant \
    sh -c "test -s '$build_root/release/capi/liblock.so' && ! grep -qi mutant '$build_root/release/capi/liblock.so'"
}

lived=$log_dir/lives-told
live() {
  local program=$build_root/release/tests/sim/sim-quorum of
  of="$LIBLOCK_TEST_SIZE $(cksum <"$program")"
  [ "$(cat "$lived.of" 2>/dev/null)" != "$of" ] || return 0
  rm -f "$lived" "$lived".*
  "$program" --json "$lived.json" >"$lived" 2>&1
  echo $? >"$lived.status"
  echo "$of" >"$lived.of"
}

# A line of a suite's output, held by nothing: seconds say more of the day's machine than of the code.
tell_pace() {
  python3 - "$LIBLOCK_RELIABILITY/sim.json" <<'PROGRAM'
import json, sys
lives = json.load(open(sys.argv[1]))
print(f"# {lives['seeds']} lives took {lives['seconds']:.0f} s, {1000 * lives['seconds'] / lives['seeds']:.0f} ms each")
PROGRAM
}

ahead() { LIBLOCK_TEST_SIZE=$1 lives; }
quick() { lives; }
gate() { lives; }
nightly() { lives && tell_pace; }
