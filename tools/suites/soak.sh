# SPDX-License-Identifier: MIT
# Ten minutes of locks in all contexts while servers are bent: memory, descriptors, threads, keys and wake-up latency
# must stay what they are. `./dev soak MINUTES` goes on for longer.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl lua redis cmocka jansson"

nightly() {
  ordinary_build && build_more release "${soak_targets[@]}" && run_program "${soak_command[@]}" --minutes 10
}
