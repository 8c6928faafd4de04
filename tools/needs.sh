# SPDX-License-Identifier: MIT
# Makes sure that what a command needs is installed: looks first, installs only what is missing, and says so.
# The list is tools/needs.txt. On Debian and Ubuntu apt-get does it, as root or through sudo; elsewhere the
# exact command is printed. Sourced by ./dev; needs nothing but bash and coreutils itself.

scratch_compile() { # COMPILER ARGUMENTS…: can it build an empty program?
  local directory status=0
  directory=$(mktemp -d) || return 1
  printf '#include <atomic>\n#include <concepts>\nint main() { return 0; }\n' >"$directory/probe.cpp"
  "$@" -std=c++20 -o "$directory/probe" "$directory/probe.cpp" >/dev/null 2>&1 || status=1
  rm -rf "$directory"
  return "$status"
}
compiles_32_bits() { scratch_compile g++ -m32; }
compiles_cpp20() { command -v gcc >/dev/null && scratch_compile g++; }
clang_links() { command -v clang >/dev/null && scratch_compile clang++; }
clang_has_tsan() { scratch_compile clang++ -fsanitize=thread; }
python_has_venv() { python3 -c "import venv, ensurepip" 2>/dev/null; }
postgres_is_there() { command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; }
python_has_pycparser() { python3 -c "import pycparser" 2>/dev/null; }
builds_packages() { command -v dh >/dev/null && command -v dpkg-buildpackage >/dev/null; }
ruby_has_ffi() { command -v ruby >/dev/null && ruby -e 'require "ffi"' >/dev/null 2>&1; }
ruby_has_redis() { command -v ruby >/dev/null && ruby -e 'require "redis"' >/dev/null 2>&1; }
meson_is_new_enough() {
  command -v meson >/dev/null || return 1
  [ "$(printf '1.0.0\n%s\n' "$(meson --version)" | sort -V | head -n 1)" = 1.0.0 ]
}

need_line() { sed -n "s/^$1 *| *//p" "$root/tools/needs.txt"; }
need_column() { need_line "$1" | cut -d '|' -f "$2" | sed 's/^ *//; s/ *$//'; }

# have NEED: is it there? A slow look is remembered when it succeeds; build/ may be deleted to forget it.
have() {
  local kind what
  read -r kind what <<<"$(need_column "$1" 1)"
  case $kind in
    command) command -v "$what" >/dev/null ;;
    pkg-config) command -v pkg-config >/dev/null && pkg-config --exists "$what" ;;
    run) [ -f "$log_dir/have-$1" ] || { "$what" && : >"$log_dir/have-$1"; } ;;
    *) echo "dev: tools/needs.txt knows no '$1'" >&2; exit 2 ;;
  esac
}

missing_of() {
  local need
  for need in "$@"; do have "$need" || echo "$need"; done
}

# Of a comma list of Debian names, those that this release has; a package's name may carry a compiler's
# version.
apt_names() {
  local need name
  for need in "$@"; do
    for name in $(need_column "$need" 2 | tr ',' ' '); do
      if apt-cache show "$name" >/dev/null 2>&1; then echo "$name"; fi
    done
  done | sort -u
}

print_how_to_install() {
  local column need
  if command -v apt-get >/dev/null; then
    echo "  apt-get install $(for need in "$@"; do need_column "$need" 2 | tr ',' ' '; done | sort -u | tr '\n' ' ')"
    return
  fi
  for column in 'dnf install:3' 'pacman -S:4'; do
    command -v "${column%% *}" >/dev/null || continue
    echo "  ${column%:*} $(for need in "$@"; do need_column "$need" "${column#*:}"; done | tr '\n' ' ')"
    return
  done
  echo "  (named as on Debian) $(for need in "$@"; do need_column "$need" 2; done | tr ',\n' '  ')"
}

# Says itself why it could not.
apt_install() { # NEED…
  local -a as_root=() names=()
  local log=$log_dir/apt.log
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "dev: installing takes root, and there is no sudo" >&2; return 1; }
    as_root=(sudo)
  fi
  export DEBIAN_FRONTEND=noninteractive
  : >"$log"
  echo "dev: updating the package lists; log: build/logs/apt.log" >&2
  logged "$log" "${as_root[@]}" apt-get update -q || echo "dev: apt-get update failed; going on" >&2
  mapfile -t names < <(apt_names "$@")
  if [ "${#names[@]}" -gt 0 ]; then
    echo "dev: installing ${names[*]}" >&2
    logged "$log" "${as_root[@]}" apt-get install -qy --no-install-recommends -o DPkg::Lock::Timeout=600 \
      "${names[@]}" && return 0
  fi
  grep -E '^(E|Err|W|sudo):' "$log" | tail -n 10 | sed 's/^/    /' >&2
  echo "dev: apt-get could not install everything; the whole log is $log" >&2
  return 1
}

# need NEED…: returns when all are there; installs the missing ones where it can, else says what to do. Status
# 1 when some are still missing; their names are then in $still_missing.
need() {
  local -a missing
  mapfile -t missing < <(missing_of "$@")
  still_missing=
  [ "${#missing[@]}" -gt 0 ] || return 0
  echo "dev: not on this machine yet: ${missing[*]}" >&2
  if command -v apt-get >/dev/null; then
    apt_install "${missing[@]}" || true
  fi
  mapfile -t missing < <(missing_of "${missing[@]}")
  [ "${#missing[@]}" -gt 0 ] || return 0
  still_missing=${missing[*]}
  { echo "dev: still missing: $still_missing. To install:"; print_how_to_install "${missing[@]}"; } >&2
  return 1
}

# The same for what a command cannot do without.
must_have() { need "$@" || { echo "dev: cannot go on without these" >&2; exit 1; }; }
