# SPDX-License-Identifier: MIT
# Configures and builds in build/NAME, quietly: the log is shown only when something fails, and on a terminal its last
# line meanwhile, so that nobody waits without a sign. Configuring is repeated only when the options changed, so that
# the second call costs what ninja needs to see that nothing is to do. Sourced by ./dev.

build_root=$root/build
log_dir=$build_root/logs
mkdir -p "$log_dir"

# What halves the time to compile and changes nothing of what is made (but -Db_pch=true hides a forgotten include, so
# that one build of the night goes without). And what is quicker still where what is made is for tests alone.
hasty=(-Db_pch=true -Dlean_debug=true)
for_tests=("${hasty[@]}" -Dfew_pieces=true)

# Options for every build of a continuous-integration run: there a warning is an error.
strict_options() { [ "${LIBLOCK_REQUIRE_ALL:-0}" = 1 ] && echo -Dwerror=true || echo -Dwerror=false; }

show_log() { # LOG
  sed 's/^/    /' "$1" | tail -n 60 >&2
  echo "dev: the whole log is $1" >&2
}

# logged LOG COMMAND…: what the command says goes to the end of LOG.
logged() {
  local log=$1 line
  shift
  if [ ! -t 2 ]; then
    "$@" >>"$log" 2>&1
    return
  fi
  "$@" 2>&1 | tee -a "$log" | {
    while IFS= read -r line; do printf '\r\033[K%s\033[0m' "${line:0:79}" >&2; done
    printf '\r\033[K' >&2
  }
}

# One at a time in build/NAME: what is compiled ahead (tools/suite.sh) and who needs it may come together. What the
# command leaves running does not keep the lock.
alone() { # NAME COMMAND…
  local name=$1
  shift
  {
    flock --nonblock 9 || wait_for_lock "$name" || return 1
    "$@" 9>&-
  } 9>"$log_dir/$name.lock"
}

# What is compiled ahead has only the time that nobody else wants; while somebody waits for it, it has its share.
wait_for_lock() { # NAME; the lock is descriptor 9
  local status=0
  echo "dev: waiting for what is made in build/$1" >&2
  schedule_ahead --other 0
  flock 9 || status=1
  schedule_ahead --idle 19
  return "$status"
}
schedule_ahead() { # POLICY of chrt, NICE
  [ -n "${ahead:-}" ] || return 0
  session_nice "$2" "$ahead"
  top_down "$ahead" chrt "$1" --pid 0 >/dev/null 2>&1
  return 0
}
session_nice() { # NICE PROCESS of the session
  { echo "$1" >"/proc/$2/autogroup"; } 2>/dev/null || true # not every kernel groups them
}
# while_ahead_waits COMMAND…: for what is compared with what it took a moment ago; it builds nothing.
while_ahead_waits() (
  trap 'signal_ahead CONT' EXIT
  signal_ahead STOP
  "$@"
)
signal_ahead() { [ -z "${ahead:-}" ] || top_down "$ahead" kill "-$1" 2>/dev/null; }
# top_down PROCESS COMMAND…: the command of the process, then of each that it has begun. In this order, so that whoever
# it begins meanwhile has of it what the command has changed.
top_down() {
  local process=$1 child
  shift
  "$@" "$process"
  for child in $(pgrep -P "$process"); do top_down "$child" "$@"; done
}

# configure NAME OPTION…: build/NAME has these options afterwards, and of others what it had before. CC and CXX of the
# environment are part of them, since meson fixes the compiler and its flags at the first set-up; so is the list of the
# folders' build files, since meson does not see by itself that a folder has come; and what the build files can do
# without, since a test that was left out for want of it must not stay away when it is there.
configure() { alone "$1" configure_alone "$@"; }
configure_alone() {
  local name=$1 directory=$build_root/$1 fixed wanted kept
  local -a again=()
  shift
  fixed="${CC:-} ${CXX:-} ${CXX_LD:-} ${CFLAGS:-} ${CXXFLAGS:-} |"
  wanted="$fixed $* $(cd "$root" && echo meson.build */meson.build */*/meson.build)"
  wanted+=" without: $(missing_of redis ruby valgrind lua luajit-dev cli11 json tbb abseil | tr '\n' ' ')"
  if [ -f "$directory/build.ninja" ]; then
    kept=$(cat "$directory/dev-options" 2>/dev/null)
    # Where a build file has changed since, what is built is looked up before ninja would notice.
    if [ "$kept" = "$wanted" ] && logged "$log_dir/$name-setup.log" ninja -C "$directory" build.ninja; then return 0; fi
    if [ "${kept#"$fixed"}" != "$kept" ]; then again=(--reconfigure); else rm -rf "$directory"; fi
  fi
  echo "dev: configuring build/$name ($*)" >&2
  : >"$log_dir/$name-setup.log"
  if ! logged "$log_dir/$name-setup.log" meson setup "${again[@]}" "$directory" "$root" "$@"; then
    rm -rf "$directory"
    : >"$log_dir/$name-setup.log"
    if ! logged "$log_dir/$name-setup.log" meson setup "$directory" "$root" "$@"; then
      show_log "$log_dir/$name-setup.log"
      return 1
    fi
  fi
  echo "$wanted" >"$directory/dev-options"
}

# Of build/NAME what is installed, for ninja.
installed_targets() { # NAME
  meson introspect --targets "$build_root/$1" | python3 -c '
import json, os, sys
print("\n".join(sorted({os.path.relpath(file, sys.argv[1]) for target in json.load(sys.stdin)
                        if target["installed"] for file in target["filename"]})))' "$build_root/$1"
}

# build NAME TARGET…: everything without a target.
build() { alone "$1" build_alone "$@"; }
build_alone() {
  local name=$1 began=$SECONDS steps
  shift
  steps=$(ninja -C "$build_root/$name" -n "$@" | sed -n '$s,^\[[0-9]*/\([0-9]*\)\].*,\1,p')
  [ -z "$steps" ] || echo "dev: building build/$name, $steps steps; log: build/logs/$name-build.log" >&2
  : >"$log_dir/$name-build.log"
  if ! logged "$log_dir/$name-build.log" ninja -C "$build_root/$name" "$@"; then
    grep -E -A12 'error|FAILED' "$log_dir/$name-build.log" >"$log_dir/$name-errors.log" || true
    show_log "$log_dir/$name-errors.log"
    return 1
  fi
  [ $((SECONDS - began)) -lt 3 ] || echo "dev: built build/$name in $((SECONDS - began)) s" >&2
}
