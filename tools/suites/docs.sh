# SPDX-License-Identifier: MIT
# The documents: links lead somewhere, names of functions and constants exist in the header, fragments compile,
# programs run against the library of the ordinary build, pictures are what their sources draw, tables are what was
# measured; in full, the programs of the tasks too, beside real servers.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl cmocka jansson"
gate_needs="redis postgres libpq libcurl doxygen ruby ruby-redis"

quick() {
  run_program "$root/tools/pictures/draw.py" "$root" --check
  run_program "$root/tests/reliability/report.py" "$root" --check
  run_program "$root/bench/check_pages.py"
  ordinary_build && run_program "$root/tools/check_docs.py" "$root" "$build_root/release/capi"
}
gate() {
  quick || return 1
  run_program "$root/tests/docs/reference.py" "$root"
  local part
  for part in tasks fencing monitoring operations ruby; do
    run_program "$root/tests/docs/$part.py" "$build_root/release/capi"
  done
}
nightly() { gate; }
