# SPDX-License-Identifier: MIT
# lockctl as shells, scripts and people use it: beside real servers that are killed, in a real terminal, with its
# manual, completions and documents. In quick what a command line alone shows.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl redis cmocka jansson cli11 json mandoc col zsh
  fish tmux"

quick() { with_lockctl && run_suites release lockctl-quick; }
gate() { with_lockctl && run_suites release lockctl lockctl-quick -- "${at_once[@]}" --timeout-multiplier 3; }
nightly() { gate; }

# The ordinary build may have been configured before what lockctl is made of was there.
with_lockctl() {
  ordinary_build || return 1
  [ -x "$build_root/release/lockctl/lockctl" ] || meson setup --reconfigure "$build_root/release" "$root" \
    -Dlockctl=enabled >"$log_dir/lockctl-setup.log" 2>&1 && build_more release
}
