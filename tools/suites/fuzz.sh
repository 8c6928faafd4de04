# SPDX-License-Identifier: MIT
# Fuzzing of what comes from outside, with libFuzzer under ASan and UBSan, from the committed corpus on. The quick form
# is the replay of the corpus, which the suite unit has.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl cmocka clang tsan"
found=$build_root/fuzz-found

fuzz() { # SECONDS for each target
  local target
  mkdir -p "$found"
  CC=clang CXX=clang++ CXXFLAGS=-fsanitize=fuzzer-no-link configure fuzz "${hasty[@]}" \
    -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1 -Dtests=enabled -Dfuzz=enabled \
    -Dexamples=disabled &&
    build fuzz tests/fuzz/fuzz-reply tests/fuzz/fuzz-words || { fail "build of build/fuzz"; return 1; }
  for target in reply words; do
    mkdir -p "$found/$target"
    check "nothing_is_found_in_${target}_in_$1_s" "$build_root/fuzz/tests/fuzz/fuzz-$target" "-max_total_time=$1" \
      -max_len=4096 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 "-artifact_prefix=$found/$target-" \
      "$found/$target" "$root/tests/fuzz/corpus/$target"
  done
}

gate() { fuzz 20; }
nightly() { fuzz 600; }
