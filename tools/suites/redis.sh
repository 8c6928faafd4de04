# SPDX-License-Identifier: MIT
# The context on a server: real redis-servers that the tests start, bend and kill themselves; the scripts in an embedded
# Lua; the conformance scenarios once more.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl lua redis cmocka jansson"

# Every cell of the tables of faults and every bent line, for which so much is waited, and what is compiled for the
# benchmarks: not in the quick form.
patient=(--exclude 'redis faults' --exclude 'redis network' --exclude 'redis failover'
  --exclude 'quorum schedules bite on redis' --exclude 'bench_load')
quick() {
  ordinary_build || return 1
  run_suites release redis -- "${at_once[@]}" "${patient[@]}"
  while_ahead_waits run_suites release pace
}
gate() {
  ordinary_build && build_more release bench/load/bench-load bench/load/bench-floors || return 1
  run_suites release redis -- "${at_once[@]}" --timeout-multiplier 3
  while_ahead_waits run_suites release pace -- --timeout-multiplier 3
}
nightly() { gate; }
