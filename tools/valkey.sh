# SPDX-License-Identifier: MIT
# Valkey 8 for the suites that ask whether all holds on it too: from the distribution's backports, where it has any, by
# its ordinary client, with lists of its own, so that nothing about the machine changes. Sourced by suites.
# shellcheck disable=SC2034
servers=$build_root/servers
valkey=$servers/valkey/usr/bin/valkey-server

fetch_valkey() {
  local apt=$servers/apt sources=/etc/apt/sources.list.d/debian.sources
  [ -x "$valkey" ] && return 0
  command -v apt-get >/dev/null && [ -f "$sources" ] || return 1
  mkdir -p "$apt/parts" "$apt/lists/partial" "$apt/cache/archives/partial"
  awk 'BEGIN { RS = "" } NR == 1' "$sources" | sed 's/^Suites: *\([a-z]*\).*/Suites: \1-backports/' \
    >"$apt/parts/backports.sources"
  local -a options=(-o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/parts"
    -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache")
  apt-get "${options[@]}" update || return 1
  (cd "$apt" && apt-get "${options[@]}" download valkey-tools valkey-server) || return 1
  local package
  for package in "$apt"/valkey-*.deb; do dpkg -x "$package" "$servers/valkey" || return 1; done
  "$valkey" --version
}
