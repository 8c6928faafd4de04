# SPDX-License-Identifier: MIT
# Foreign lock clients against liblock on one key. They come through the ordinary clients of their registries, into
# build/interop; one that cannot be had is skipped by name.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl lua redis cmocka jansson"
suite_foreign="go node venv"
interop=$build_root/interop

install_redis_py() {
  [ -x "$interop/venv/bin/python" ] || python3 -m venv "$interop/venv" || return 1
  "$interop/venv/bin/python" -c 'import redis' 2>/dev/null || "$interop/venv/bin/pip" install -q 'redis==5.2.1'
}
install_redlock() {
  mkdir -p "$interop/node" && cp "$root/tests/interop/node-redlock/package.json" "$interop/node/" || return 1
  [ -d "$interop/node/node_modules/redlock" ] ||
    (cd "$interop/node" && npm install --no-package-lock --no-audit --no-fund)
}
install_redsync() { (cd "$root/tests/interop/go-redsync" && go build -mod=mod -o "$interop/redsync" .); }

pairs() { # SECTIONS
  local -a foreign=()
  mkdir -p "$interop"
  export INTEROP_MODULES=$interop/node/node_modules
  if install_redis_py >"$log_dir/interop-py.log" 2>&1; then
    foreign+=("redis-py=$interop/venv/bin/python $root/tests/interop/contender.py")
  else
    skip redis-py "it could not be installed; see $log_dir/interop-py.log"
  fi
  if have go && install_redsync >"$log_dir/interop-go.log" 2>&1; then
    foreign+=("redsync=$interop/redsync")
  else
    skip redsync "it could not be built; see $log_dir/interop-go.log"
  fi
  if have node && install_redlock >"$log_dir/interop-node.log" 2>&1; then
    foreign+=("redlock=node $root/tests/interop/node-redlock/contender.mjs")
  else
    skip node-redlock "it could not be installed; see $log_dir/interop-node.log"
  fi
  ordinary_build || return 1
  local -r tests=$build_root/release/tests
  run_program "$root/tests/interop/run.py" "$tests/interop/interop-contender" \
    "$tests/support/intervals/check-intervals" "$1" "${foreign[@]}"
}

# Two hundred are over before a waiter has looked often enough between them.
quick() { pairs 1000; }
gate() { pairs 2000; }
nightly() { pairs 10000; }
