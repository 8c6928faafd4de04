# SPDX-License-Identifier: MIT
# What the main paths cost in instructions, allocations, system calls, commands and round trips, compared with what they
# cost before. No time is looked at, so that it need not be alone on the machine.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl lua redis cmocka jansson valgrind"

gate() {
  ordinary_build || return 1
  local program
  for program in selftest run; do
    run_program "$root/tests/costs/$program.py" "$build_root/release/tests/costs/costs" \
      "$build_root/release/tests/integration/integration-agent"
  done
}
nightly() { gate; }
