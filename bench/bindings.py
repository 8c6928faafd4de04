#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a binding costs: the uncontended local acquire and release through Go, Rust and Ruby, as ratios to C in the same
run. Each program runs once per round, one after the other, pinned to one CPU; a ratio is computed inside a round, and
the table shows the median of the rounds with the least and the greatest. Go is also compared with C and two calls from
Go into C that do nothing: what a binding by cgo cannot go below. Needs the library where pkg-config finds it.

    bindings.py [--rounds N] [--build FOLDER]"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)(?: ns(?:/op| per pair))?\s*$")


def build_c(build):
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "liblock"], check=True, capture_output=True, text=True)
    program = build / "pair-c"
    subprocess.run(["cc", "-O2", str(ROOT / "bench/bindings/pair.c"), "-o", str(program), *flags.stdout.split()],
                   check=True)
    return [str(program)]


def build_go(build, benchmark="AcquireRelease"):
    program = build / "pair-go"
    subprocess.run(["go", "test", "-c", "-o", str(program), "."], check=True, cwd=ROOT / "bindings/go")
    return [str(program), "-test.run", "^$", "-test.bench", f"^Benchmark{benchmark}$", "-test.benchtime", "500ms"]


def build_two_calls(build):
    return build_go(build, "TwoBareCalls")


def build_rust(_):
    folder = ROOT / "bindings/rust"
    subprocess.run(["cargo", "build", "-q", "--offline", "--release", "-p", "liblock", "--example", "pair"], check=True,
                   cwd=folder)
    return [str(pathlib.Path(os.environ.get("CARGO_TARGET_DIR", folder / "target")) / "release/examples/pair")]


def build_ruby(_):
    return ["ruby", "-I", str(ROOT / "bindings/ruby/lib"), str(ROOT / "bindings/ruby/samples/pair.rb")]


def nanoseconds(command):
    """The last figure that the program prints: of Go's benchmark the one before ns/op."""
    done = subprocess.run(["taskset", "-c", "1", *command], check=True, capture_output=True, text=True)
    for line in reversed(done.stdout.splitlines()):
        match = re.search(r"([0-9.]+) ns/op", line) or NUMBER.search(line.strip())
        if match and "ok" not in line.split():
            return float(match.group(1))
    raise SystemExit(f"{command[0]} printed no figure: {done.stdout}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bindings")
    arguments = parser.parse_args()
    arguments.build.mkdir(parents=True, exist_ok=True)
    programs = {name: build(arguments.build) for name, build in
                (("C", build_c), ("two bare calls from Go", build_two_calls), ("Go", build_go), ("Rust", build_rust),
                 ("Ruby", build_ruby))}
    rounds = [{name: nanoseconds(command) for name, command in programs.items()} for _ in range(arguments.rounds)]
    for one in rounds:
        one["C and two bare calls from Go"] = one["C"] + one["two bare calls from Go"]
    print(f"| language | ns per pair | ratio to C ({arguments.rounds} rounds: median, least to greatest) |")
    print("| --- | --- | --- |")
    for name in rounds[0]:
        ratios = sorted(one[name] / one["C"] for one in rounds)
        cost = statistics.median(one[name] for one in rounds)
        print(f"| {name} | {cost:.0f} | {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}) |")
    to_floor = sorted(one["Go"] / one["C and two bare calls from Go"] for one in rounds)
    print(f"Go to C and two bare calls: {statistics.median(to_floor):.2f} ({to_floor[0]:.2f} to {to_floor[-1]:.2f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
