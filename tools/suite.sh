# SPDX-License-Identifier: MIT
# What a suite is made of. A suite is one file tools/suites/NAME.sh that may set
#   suite_needs="NEED…"     what it cannot run without (names of tools/needs.txt); missing = the suite fails
#   gate_needs, nightly_needs="NEED…"   the same, beyond the quick form: in the gate and at night, or at night alone
#   suite_foreign="NEED…"   foreign toolchains it uses where they can be had; missing = named skips
# and defines quick, gate and nightly, or only some of them: a size it does not define does not run it. They
# call the functions below. Every outcome is printed as a line and counted in $LIBLOCK_COUNTS; a function that
# fails counts itself, so that a suite goes on after a failure and nothing is lost. What failed is kept, with the part
# of its output that matters, in $LIBLOCK_FAILURES, and told once more at the end. Sourced by ./dev.

# Where suites leave their figures for docs/reliability.md (tests/reliability/report.py), a file each.
export LIBLOCK_RELIABILITY=$build_root/reliability
mkdir -p "$LIBLOCK_RELIABILITY"

# For ./dev soak and the suite soak.
soak_targets=(tests/soak/soak-client tests/integration/integration-agent)
soak_command=("$root/tests/soak/run.py" "$build_root/release/tests/soak/soak-client"
  "$build_root/release/tests/integration/integration-agent" --folder "$build_root/soak"
  --json "$LIBLOCK_RELIABILITY/soak.json")

count() { echo "$1 $2 $3" >>"$LIBLOCK_COUNTS"; } # PASSED FAILED SKIPPED

skip() { # NAME REASON
  echo "  SKIPPED $suite/$1: $2"
  count 0 0 1
}

fail() { # NAME
  echo "  FAILED $suite/$1" | tee -a "$LIBLOCK_FAILURES"
  count 0 1 0
}

# check NAME COMMAND…: one test, by exit status; its output is shown when it fails.
check() {
  local name=$1 log
  shift
  log=$log_dir/check-$suite-${name//[^a-zA-Z0-9_]/_}.log
  if "$@" >"$log" 2>&1; then
    echo "  ok $suite/$name"
    count 1 0 0
    printf '{"program": "%s", "tests": {"%s": ""}, "passed": 1, "failed": 0, "skipped": 0}\n' "$name" "$name" \
      >>"$LIBLOCK_RELIABILITY/suite-$suite.jsonl"
  else
    fail "$name"
    show_log "$log" 2>&1
    tail -n 20 "$log" | sed 's/^/      | /' >>"$LIBLOCK_FAILURES"
  fi
}

# within SECONDS COMMAND…: ends the command, and what it started, when it takes longer, and says what was running then;
# its status is 124 in that case. In a subshell, with which the command ends as well.
within() (
  limit_s=$1
  shift
  set -m # a process group of its own, to end all of it
  "$@" </dev/null &
  command=$!
  set +m
  timer=
  trap 'kill -- "-$command" $timer 2>/dev/null' EXIT
  sleep "$limit_s" >/dev/null 2>&1 &
  timer=$!
  status=0
  wait -n "$command" "$timer" || status=$?
  ! kill "$timer" 2>/dev/null || exit "$status"
  echo "dev: not at its end after $limit_s s. What was running then:"
  ps --ppid 2 -p 2 --deselect --forest -o pid,etimes,stat,args 2>&1 | cut -c1-180 | sed 's/^/      | /'
  started=$(top_down "$command" echo) # meson's tests are in groups of their own
  kill -- "-$command"
  sleep 5
  # shellcheck disable=SC2086
  kill -KILL -- "-$command" $started 2>/dev/null
  exit 124
)

# How many seconds a suite has, before something in it hangs: many times what it takes, also on a slow machine where all
# of it is compiled first. Where somebody else will end all of it at some time (LIBLOCK_ENDS_AT, in seconds since 1970),
# the suite in which that would be ends before, so that what was found is told.
suite_limit_s() { # SIZE
  local -A limits=([quick]=3600 [gate]=3600 [nightly]=14400)
  local limit_s=${LIBLOCK_SUITE_S:-${limits[$1]}} left_s
  if [ -n "${LIBLOCK_ENDS_AT:-}" ]; then
    left_s=$((LIBLOCK_ENDS_AT - $(date +%s)))
    [ "$left_s" -gt "$limit_s" ] || limit_s=$left_s
  fi
  [ "$limit_s" -gt 0 ] || limit_s=1
  echo "$limit_s"
}

# configure_or_fail, build_or_fail NAME OPTION…: configures, and builds, build/NAME. What fails is one failed test.
configure_or_fail() {
  configure "$@" && return 0
  fail "build of build/$1"
  return 1
}
build_or_fail() {
  if configure "$@" && build "$1"; then return 0; fi
  fail "build of build/$1"
  return 1
}

# build_more NAME TARGET…: of what build/NAME leaves out, once it has been built.
build_more() {
  build "$@" && return 0
  fail "build of build/$1"
  return 1
}

# For programs that mostly wait, for servers that are killed and leases that end. What counts or measures is alone by
# its build file (is_parallel), but for what runs side by side.
at_once=(--jobs $((2 * $(nproc))))

# run_suites NAME SUITE… [-- ARGUMENT of run_tests.py…]: the tests of these meson suites in build/NAME.
run_suites() { suites_of "$@" || true; }

suites_of() {
  local directory=$build_root/$1
  local -a arguments=()
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    arguments+=(--suite "$1")
    shift
  done
  [ $# -eq 0 ] || shift
  python3 "$root/tools/run_tests.py" --build "$directory" --label "$suite" "${arguments[@]}" "$@"
}

# make_and_run_suites NAME SUITE… -- ARGUMENT of run_tests.py…: the same, where nothing else of build/NAME is wanted:
# it is configured, and what these tests are made of is built first.
make_and_run_suites() {
  local -a targets=()
  mapfile -t targets < <(suites_of "$@" --targets)
  [ "${#targets[@]}" -gt 0 ] || { fail "build of build/$1"; return 1; }
  build_more "$1" "${targets[@]}" || return 1
  [ -n "${builds_only:-}" ] || run_suites "$@"
}

# What late suites compile is compiled while those before them run, and mostly wait: in time that nobody else wants.
# A suite with something to compile defines `ahead`, which is told the size; waits_ahead=1: there it only waits, as for
# registries, and holds nobody up. What goes wrong here goes wrong there once more, and is told there.
build_ahead() { # FILE with lines of SIZE SUITE
  local size suite
  chrt --idle --pid 0 "$BASHPID" || renice -n 19 "$BASHPID"
  session_nice 19 "$BASHPID"
  export LIBLOCK_COUNTS=/dev/null LIBLOCK_FAILURES=/dev/null
  while read -r size suite; do
    make_of_suite "$size" "$suite" </dev/null &
    grep -q '^waits_ahead=1$' "tools/suites/$suite.sh" || wait $!
  done <"$1"
  wait
}
make_of_suite() ( # SIZE SUITE
  # shellcheck disable=SC1090
  . "tools/suites/$2.sh"
  declare -F ahead >/dev/null || exit 0
  builds_only=1
  ahead "$1"
)

# side_by_side FUNCTION…: at once; what each has printed is told when all have ended, or are ended (within).
side_by_side() {
  local one
  local -a logs=()
  for one in "$@"; do
    logs+=("$log_dir/$suite-$one.log")
    rm -f "$log_dir/$suite-$one.ended"
    ("$one"; : >"$log_dir/$suite-$one.ended") >"$log_dir/$suite-$one.log" 2>&1 &
  done
  trap 'cat "${logs[@]}"; exit 143' TERM
  wait
  trap - TERM
  for one in "$@"; do
    cat "$log_dir/$suite-$one.log"
    [ -f "$log_dir/$suite-$one.ended" ] || fail "$one broke off"
  done
}

# compile_before FUNCTION…: what these compile, before they run side by side; what goes wrong here goes wrong there once
# more, and is counted there.
compile_before() {
  (
    builds_only=1 LIBLOCK_COUNTS=/dev/null LIBLOCK_FAILURES=/dev/null
    for one in "$@"; do "$one"; done
  ) >/dev/null
  return 0
}

# run_program PROGRAM ARGUMENT…: one Python program outside the build that prints TAP.
run_program() { python3 "$root/tools/run_tests.py" --label "$suite" -- python3 "$@" || true; }

# run_timed_program: the same of one of real time, which runs again where the machine stood still (run_tests.py).
run_timed_program() { python3 "$root/tools/run_tests.py" --label "$suite" --timed -- python3 "$@" || true; }

# The ordinary build that most suites share: gcc, optimised, with assertions.
ordinary_build() {
  CC=gcc CXX=g++ build_or_fail release "${hasty[@]}" -Dtests=enabled -Dtls=enabled -Dexamples=enabled \
    "$(strict_options)"
}

# The one of the suites unit and api at night: clang's. Not every valgrind can read what clang tells debuggers where
# nothing is said.
clang_build() {
  CC=clang CXX=clang++ CFLAGS=-gdwarf-4 CXXFLAGS=-gdwarf-4 build_or_fail clang "${hasty[@]}" -Dtests=enabled \
    -Dtls=enabled -Dexamples=enabled -Dwerror=true
}

# instrumented_build NAME OPTION…: by clang, and by its linker, which takes half the time: a runtime goes into each of
# two hundred programs.
instrumented_build() {
  CC=clang CXX=clang++ CC_LD=lld CXX_LD=lld configure_or_fail "$@" "${for_tests[@]}" -Db_lundef=false -Doptimization=1 \
    -Dtests=enabled -Dtls=enabled -Dexamples=enabled -Dlockctl=disabled "$(strict_options)"
}

# Watched by AddressSanitizer and UndefinedBehaviorSanitizer, with what libFuzzer steers by, which nothing else takes
# notice of: for the suites fuzz and sanitizers of the gate counters alone; at night fuzzing has a build of its own that
# sees what is compared as well, which takes everything else a third longer.
addresses_build() { watched_build asan -fsanitize-coverage=inline-8bit-counters,pc-table; }
fuzz_build() { watched_build fuzz -fsanitize=fuzzer-no-link; }
watched_build() { # NAME FLAG
  CFLAGS=-g1 CXXFLAGS="-g1 $2" instrumented_build "$1" -Db_sanitize=address,undefined -Dfuzz=enabled
}
