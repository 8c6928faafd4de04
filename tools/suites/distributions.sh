# SPDX-License-Identifier: MIT
# The next Debian, with its compiler, its hiredis and OpenSSL, its Redis and its Valkey: a tree of it below build/, in
# which ./dev runs suites as a newcomer there does. Takes root, for chroot, and half an hour.
suite_needs="debootstrap compiler git"
release_codename=trixie
tree=$build_root/distributions/$release_codename

# From where this machine has its own packages.
mirror() { apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/$'; }

fetch_tree() {
  [ -f "$tree/complete" ] && return 0
  rm -rf "$tree"
  mkdir -p "$tree"
  debootstrap --variant=minbase --include=ca-certificates,git,python3,valkey-server "$release_codename" "$tree" \
    "$(mirror)" && : >"$tree/complete"
}

# As it is committed, without what was built here.
copy_of_commit() {
  rm -rf "$tree/liblock"
  mkdir -p "$tree/liblock"
  git -C "$root" archive HEAD | tar -x -C "$tree/liblock"
  git -C "$tree/liblock" init -q && git -C "$tree/liblock" add -A
}

# With a /proc of its own, gone with whatever was started there.
inside() { # COMMAND…
  unshare --mount --pid --fork --kill-child sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$tree" "$@"
}

# What ./dev says at its end in there counts here; a run that does not come to its end fails.
counted() { # NAME VARIABLE=VALUE… SUITE…
  local name=$1 last
  shift
  inside /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/tmp "$@" | sed "s/^/  $name: /" |
    tee "$log_dir/distributions-$name.log"
  last=$(tail -n 1 "$log_dir/distributions-$name.log")
  if [[ $last =~ \ ([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]]; then
    count "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" "${BASH_REMATCH[4]:-0}"
  else
    fail "$name did not come to its end"
  fi
}

nightly() {
  if [ "$(id -u)" != 0 ]; then
    skip "$release_codename" "chroot takes root"
    return
  fi
  if ! { fetch_tree && copy_of_commit; } >"$log_dir/distributions.log" 2>&1; then
    fail "tree of $release_codename"
    show_log "$log_dir/distributions.log"
    return
  fi
  counted "$release_codename" /liblock/dev test unit api redis queue
  counted "$release_codename-valkey" LIBLOCK_REDIS_SERVER=/usr/bin/valkey-server /liblock/dev test redis
}
