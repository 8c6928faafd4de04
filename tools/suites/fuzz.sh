# SPDX-License-Identifier: MIT
# Fuzzing of what comes from outside, with libFuzzer under ASan and UBSan, from the committed corpus on. The quick form
# is the replay of the corpus, which the suite unit has.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl cmocka clang lld tsan lua"
found=$build_root/fuzz-found
fuzz_targets="answers calls nodes options reply scripts table words"

# How many inputs each target was given, as libFuzzer says at its end.
executed() { # SECONDS for each target
  local target log between='{"executions": {'
  for target in $fuzz_targets; do
    log=$log_dir/check-fuzz-nothing_is_found_in_${target}_in_$1_s.log
    printf '%s"%s": %d' "$between" "$target" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
    between=', '
  done
  printf '}, "seconds": %d, "findings": %d, "command": "%s./dev test %s fuzz"}\n' "$1" \
    "$(find "$found" -maxdepth 1 -type f | wc -l)" "${LIBLOCK_FUZZ_S:+LIBLOCK_FUZZ_S=$1 }" "$LIBLOCK_TEST_SIZE"
}

fuzz() { # NAME of the build, which is configured, SECONDS for each target
  local target running
  local -a programs=() pids=()
  for target in $fuzz_targets; do programs+=("tests/fuzz/fuzz-$target"); done
  mkdir -p "$found"
  build_more "$1" "${programs[@]}" || return 1
  [ -z "${builds_only:-}" ] || return 0
  for target in $fuzz_targets; do
    mkdir -p "$found/$target"
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
    check "nothing_is_found_in_${target}_in_$2_s" "$build_root/$1/tests/fuzz/fuzz-$target" "-max_total_time=$2" \
      -max_len=4096 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 "-artifact_prefix=$found/$target-" \
      "$found/$target" "$root/tests/fuzz/corpus/$target" &
    pids+=($!)
  done
  for running in "${pids[@]}"; do wait "$running" || fail "a target broke off"; done
  executed "$2" >"$LIBLOCK_RELIABILITY/fuzz.json"
}

ahead() { "$1"; }
gate() { addresses_build && fuzz asan "${LIBLOCK_FUZZ_S:-10}"; }
nightly() { fuzz_build && fuzz fuzz "${LIBLOCK_FUZZ_S:-600}"; }
