# SPDX-License-Identifier: MIT
# Foreign lock clients against liblock on one key. They come through the ordinary clients of their registries, into
# build/interop; one that cannot be had is skipped by name.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl lua redis cmocka jansson"
suite_foreign="go node venv"
interop=$build_root/interop

install_redis_py() {
  [ -x "$interop/venv/bin/pip" ] || python3 -m venv "$interop/venv" || return 1
  "$interop/venv/bin/python" -c 'import redis' 2>/dev/null ||
    "$interop/venv/bin/pip" install -q -r "$root/tests/interop/requirements.txt"
}
install_redlock() {
  mkdir -p "$interop/node" && cp "$root/tests/interop/node-redlock/package.json" "$interop/node/" || return 1
  [ -f "$interop/node/whole" ] ||
    (cd "$interop/node" && npm install --no-package-lock --no-audit --no-fund && : >whole)
}
install_redsync() { (cd "$root/tests/interop/go-redsync" && go build -mod=mod -o "$interop/redsync" .); }

# With a lock for each, since others may be at it ahead.
install() { # CLIENT, NAME of its log
  mkdir -p "$interop"
  alone "interop-$2" "install_$1" >"$log_dir/interop-$2.log" 2>&1
}

waits_ahead=1
ahead() {
  install redis_py py
  ! have go || install redsync go
  ! have node || install redlock node
}

pairs() { # SECTIONS
  local -a foreign=()
  export INTEROP_MODULES=$interop/node/node_modules
  if install redis_py py; then
    foreign+=("redis-py=$interop/venv/bin/python $root/tests/interop/contender.py")
  else
    skip redis-py "it could not be installed; see $log_dir/interop-py.log"
  fi
  if have go && install redsync go; then
    foreign+=("redsync=$interop/redsync")
  else
    skip redsync "it could not be built; see $log_dir/interop-go.log"
  fi
  if have node && install redlock node; then
    foreign+=("redlock=node $root/tests/interop/node-redlock/contender.mjs")
  else
    skip node-redlock "it could not be installed; see $log_dir/interop-node.log"
  fi
  ordinary_build || return 1
  local -r tests=$build_root/release/tests
  run_program "$root/tests/interop/run.py" "$tests/interop/interop-contender" \
    "$tests/support/intervals/check-intervals" "$1" "${foreign[@]}"
}

# The clients that the benchmarks compare with liblock are locks, and are compared as they should be.
peers() { # CLIENT…, those that the pairs have installed; none = all
  run_program "$root/bench/harness/peer_selftest.py"
  run_program "$root/bench/peers/remote/exclusion_test.py" "$build_root/release" "$@"
}

# Two hundred are over before a waiter has looked often enough between them.
quick() { pairs 600; }
gate() {
  pairs 2000
  peers liblock 'hiredis sync' redsync redis-py node-redlock
}
nightly() {
  pairs 10000
  peers
}
