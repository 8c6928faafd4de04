# SPDX-License-Identifier: MIT
# What must not be lost when something else is: each allocation and each system call fails once (tests/torture), and
# servers, clients and the lines between them are bent in 24 ways while processes lock (tests/nemesis).
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl lua redis cmocka jansson go rust ruby"
figures=$build_root/reliability
# shellcheck source=tools/valkey.sh
. tools/valkey.sh

nemesis() { # NAME of the figures, ARGUMENT of nemesis.py…
  local name=$1
  shift
  mkdir -p "$figures"
  rm -f "$figures/$name.json"
  (cd "$root" && run_program tests/nemesis/nemesis.py --build build/release --json "$figures/$name.json" "$@")
}

# Most of what it takes is waiting, for connections that broke.
torture() {
  run_suites release torture -- --jobs 4 --timeout-multiplier 3
  check each_kind_of_call_failed_in_thirty_scenarios python3 "$root/tests/reliability/report.py" "$root" --goal G14
}
bent() {
  run_program "$root/tests/nemesis/selftest.py" --build "$build_root/release"
  nemesis nemesis --jobs 3 "$@"
}

gate() { ordinary_build && side_by_side torture bent; }

nemesis_on_valkey() {
  if alone valkey fetch_valkey >"$log_dir/faults-valkey.log" 2>&1; then
    LIBLOCK_REDIS_SERVER=$valkey nemesis nemesis-valkey --jobs 3 --seeds 1-5
  else
    skip valkey "it cannot be had; see $log_dir/faults-valkey.log"
  fi
}

# More seeds; each kind in a world of its own as well, where none hides another one; the other server; and faults on
# purpose in the library.
five_seeds() { bent --seeds 1-5; }
nightly() {
  ordinary_build && side_by_side torture five_seeds
  nemesis nemesis-each --jobs 3 --each --seeds 1-5
  nemesis_on_valkey
  build_more release tests/nemesis/mutant-client &&
    run_program "$root/tests/nemesis/mutants.py" --build "$build_root/release"
}
