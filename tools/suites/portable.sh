# SPDX-License-Identifier: MIT
# The part of the library that asks one kind of system for something, in the form that asks for POSIX alone: by itself
# and under the tests in which threads sleep, time passes, processes fork and descriptors poll.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl cmocka jansson"

gate() {
  ordinary_build && run_suites release portable
  check it_can_be_configured_where_there_is_no_server_and_finds_one_that_comes without_a_server
}
nightly() { gate && check the_core_is_code_for_32_bits_too for_32_bits; }
nightly_needs="multilib"

# As on a machine that has what is needed to build and to test, and nothing to lock on: every program but that one. Then
# it is installed.
without_a_server() {
  local folder=$build_root/without-a-server directory program
  local -a directories
  rm -rf "$folder"
  mkdir -p "$folder/bin"
  IFS=: read -ra directories <<<"$PATH"
  for directory in "${directories[@]}"; do
    for program in "$directory"/*; do
      [ "${program##*/}" = redis-server ] || [ -e "$folder/bin/${program##*/}" ] || ln -s "$program" "$folder/bin"
    done
  done
  (
    build_root=$folder log_dir=$folder
    PATH=$folder/bin configure later -Dtests=enabled && of_the_server NO &&
      configure later -Dtests=enabled && of_the_server YES
  ) && rm -rf "$folder"
}
of_the_server() { grep -q "Program redis-server found: $1" "$log_dir/later-setup.log"; }

# Read as such by the compiler, with the headers of this machine: what it asserts about widths is what counts.
for_32_bits() {
  local headers
  headers=/usr/include/$(gcc -print-multiarch)
  find "$root/core" -name '*.cpp' ! -name 'tls*.cpp' -print0 | xargs -0 -P 2 -n 8 g++ -m32 -std=c++20 -fsyntax-only \
    -Werror -I"$root/core" -I"$root/capi/include" -isystem /usr/include/hiredis -idirafter "$headers"
}
