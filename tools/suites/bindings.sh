# SPDX-License-Identifier: MIT
# Go, Rust and Ruby on the very same shared object: the conformance scenarios and random programs through the runners of
# all four languages, each language's own tests, its linter and samples, the race detector and valgrind, and the old
# toolchains of the distribution, offline.
suite_needs="compiler meson ninja pkg-config python libuv hiredis openssl lua redis cmocka jansson go rust ruby
  ruby-redis yard valgrind go-old rust-old"
release=$build_root/release
prefix=$build_root/bindings/prefix
agent=$release/tests/integration/integration-agent
go=$root/bindings/go rust=$root/bindings/rust ruby=$root/bindings/ruby

# Where the languages' own tools look for an installed library.
install_for_bindings() {
  rm -rf "$prefix"
  DESTDIR=$prefix meson install -C "$release" --no-rebuild >"$log_dir/bindings-install.log" 2>&1 || {
    fail "installation of build/release"
    return 1
  }
  local libraries
  libraries=$(dirname "$(find "$prefix" -name 'liblock.so.0' | head -n 1)")
  export PKG_CONFIG_PATH=$libraries/pkgconfig PKG_CONFIG_SYSROOT_DIR=$prefix LD_LIBRARY_PATH=$libraries
  export LIBLOCK_LIBRARY=$libraries/liblock.so.0 CARGO_TERM_COLOR=never
  export CARGO_TARGET_DIR=$build_root/bindings/cargo
}

tests_of() { # NAME KIND FOLDER COMMAND…
  local name=$1 kind=$2 folder=$3
  shift 3
  python3 "$root/tools/run_tests.py" --label "$suite/$name" --timed -- \
    python3 "$root/tools/tap_of.py" --in "$folder" "$kind" "$@" || true
}
# The same beside a server, whose url is in the variable.
beside() { # redis | quorum NAME KIND FOLDER VARIABLE COMMAND
  local servers=$1 variable=$5 command=$6
  local -a before=(python3 "$root/tests/support/with_$1.py")
  [ "$servers" = redis ] || before+=("$agent")
  tests_of "$2" "$3" "$4" "${before[@]}" sh -c "$variable=\$0 exec $command" "{$servers}"
}
in_folder() { (cd "$1" && shift && "$@"); }
nothing_to_format() { test -z "$(gofmt -l .)"; }
# Of each public name of the gem there is something to read, and yard has nothing to complain of.
everything_is_explained() {
  local said
  said=$(yard stats --list-undoc --no-cache --no-save 2>&1)
  echo "$said"
  grep -q '^ *100.00% documented' <<<"$said" && ! grep -q '\[warn\]' <<<"$said"
}

go_tests() {
  check go_vet in_folder "$go" go vet ./...
  check gofmt in_folder "$go" nothing_to_format
  tests_of go go "$go" go test -count=1 -v ./...
  tests_of go_race go "$go" go test -count=1 -race -v .
  tests_of go_1_19 go "$go" env GOTOOLCHAIN=local GOPROXY=off /usr/lib/go-1.19/bin/go test -count=1 -v .
  local sample
  for sample in basic timeout fencing renewal_and_loss many_owners; do
    check "go_sample_$sample" in_folder "$go" go run "./samples/$sample"
  done
  check go_conformance_build in_folder "$go" go build -o "$build_root/bindings/go-conformance" ./internal/conformance
}

rust_tests() {
  local servers
  check rustfmt in_folder "$rust" cargo fmt --check
  check rustdoc in_folder "$rust" env RUSTDOCFLAGS=-Dwarnings cargo doc -q --offline --no-deps -p liblock -p liblock-sys
  check clippy in_folder "$rust" cargo clippy -q --offline --workspace --all-targets -- -D warnings
  tests_of rust cargo "$rust" cargo test --offline --workspace
  for servers in redis quorum; do
    beside $servers "rust_on_$servers" cargo "$rust" LIBLOCK_TEST_URL \
      "cargo test --offline -p liblock --test servers --test fork -- --ignored"
  done
  tests_of rust_on_a_new_quorum cargo "$rust" python3 "$root/tests/support/with_quorum.py" "$agent" sh -c \
    'LIBLOCK_TEST_NEW_QUORUM=$0 exec cargo test --offline -p liblock --test quorum -- --ignored' "{new}"
  tests_of rust_behind_tls cargo "$rust" python3 "$root/tests/support/with_tls.py" env "LIBLOCK_TEST_TLS={tls}" \
    "LIBLOCK_TEST_CA={ca}" "LIBLOCK_TEST_CERTIFICATE={certificate}" "LIBLOCK_TEST_KEY={key}" \
    cargo test --offline -p liblock --test tls -- --ignored
  tests_of rust_runtimes cargo "$rust/runtimes" cargo test
  tests_of rust_1_63 cargo "$rust" env RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc \
    "CARGO_TARGET_DIR=$build_root/bindings/cargo-1.63" /usr/bin/cargo test --offline -p liblock-sys -p liblock
  local sample
  for sample in basic timeout fencing renewal_and_loss many_owners; do
    check "rust_sample_$sample" in_folder "$rust" cargo run -q --offline -p liblock --example "$sample"
  done
  check rust_conformance_build in_folder "$rust" cargo build -q --offline -p liblock-conformance
}

ruby_tests() {
  tests_of ruby minitest "$ruby" ruby -Ilib -Itest test/all.rb -v
  beside redis ruby_on_redis minitest "$ruby" LIBLOCK_TEST_REDIS "ruby -Ilib -Itest test/all.rb -v"
  beside quorum ruby_on_quorum minitest "$ruby" LIBLOCK_TEST_QUORUM "ruby -Ilib -Itest test/all.rb -v"
  check yard in_folder "$ruby" everything_is_explained
  local sample
  for sample in basic timeout fencing renewal_and_loss many_owners; do
    check "ruby_sample_$sample" in_folder "$ruby" ruby -Ilib "samples/$sample.rb"
  done
}

runners=("c=$release/tests/conformance/conformance-runner" "go=$build_root/bindings/go-conformance"
  "rust=$build_root/bindings/cargo/debug/conformance" "ruby=ruby -I$ruby/lib $ruby/conformance/runner.rb")

same_in_all_languages() { # PROGRAMS of each context…
  local -a programs=()
  local one
  for one in "$@"; do programs+=(--programs "$one"); done
  run_timed_program "$root/tests/conformance/compare.py" "$agent" "${runners[@]}" "${programs[@]}"
}

# Not Ruby's: its interpreter frees nothing at its end.
nothing_leaks_under_valgrind() {
  check rust_runner_under_valgrind valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite \
    "$build_root/bindings/cargo/debug/conformance" "$root/tests/conformance/scenarios/owner.json" \
    "$root/tests/conformance/scenarios/order.json" "$root/tests/conformance/scenarios/cancel.json"
}

overhead() { python3 "$root/bench/bindings.py" --rounds 3 --build "$build_root/bindings" || fail overhead; }

# With the ordinary tool of each language, from outside.
starts() {
  run_program "$root/tests/abi/binding_starts.py" "$root" "go=nobody else is here" "rust=held with token" \
    "ruby=alone with invoice 17"
}

everything() { # PROGRAMS of each context…
  ordinary_build && install_for_bindings || return 1
  side_by_side go_tests rust_tests ruby_tests # they ask nothing of each other, and much of what they do is waiting
  starts
  same_in_all_languages "$@"
  nothing_leaks_under_valgrind
  overhead
}
gate() { everything local=200 redis=100 quorum=50; }
# With the strict check of what goes to C, for which Go compiles its own library once more.
go_on_one_processor() {
  tests_of go_one_processor go "$go" env GOMAXPROCS=1 GOEXPERIMENT=cgocheck2 go test -count=1 -skip Sample -v .
}
nightly() { everything local=1000 redis=1000 quorum=1000 && go_on_one_processor; }
