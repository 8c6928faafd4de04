#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures liblock against floors and peers, prints one table, and keeps the figures as JSON in results/.

  run.py [NAME]           NAME: all (default), local, or one row such as L7
  run.py --write-readme   a run of everything whose table replaces the one in bench/README.md
"""

import argparse
import datetime
import fcntl
import json
import os
import re
import subprocess
import sys
import time

from harness import machine, programs, report, rows

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "results")
STARTED = time.monotonic()
PACKAGES = {"tbb": "oneTBB (libtbb-dev)", "absl": "Abseil (libabsl-dev)", "go": "Go"}


def say(text):
    print(f"[{time.monotonic() - STARTED:5.0f} s] {text}", file=sys.stderr, flush=True)


def arguments():
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("name", nargs="?", default="all", metavar="NAME")
    parser.add_argument("--build", help="build directory (default: LIBLOCK_BUILD, or the newest build*)")
    parser.add_argument("--rounds", type=int, default=5, help="fresh processes per program (default 5)")
    parser.add_argument("--patience", type=float, default=30, help="seconds to wait for quiet (default 30)")
    parser.add_argument("--write-readme", action="store_true", help="put the table into bench/README.md")
    parser.add_argument("--require", action="store_true", help="exit 1 when a required row misses its reach")
    return parser.parse_args()


def missing_name(benchmark):
    for part, package in PACKAGES.items():
        if re.search(rf"(^|/){part}(_|$)", benchmark):
            return package
    return benchmark


def prepare(build, selected):
    """Steps that can run, and {metric: what is missing} for the others."""
    metrics = sorted({need for row in selected for need in row.needs})
    steps, missing = [], {}
    for step in programs.plan(metrics):
        (program, names), absent = programs.available(build, step)
        for name in absent:
            for metric in metrics:
                if metric.split(":")[0] == f"{program}.{name}":
                    missing[metric] = missing_name(name)
        if names:
            steps.append((program, names))
    if any(program == "go" for program, _ in steps):
        say("compiling the Go peer")
        programs.run_once(build, ("go", []))
    return steps, missing


def measure(build, steps, count):
    taken, foreign = [], 0.0
    for nth in range(count):
        metrics = {}
        for program, names in steps:
            say(f"round {nth + 1} of {count}: {program}{' ' + names[0] if program == 'million' else ''}")
            found, share = programs.run_quietly(build, (program, names))
            metrics.update(found)
            foreign = max(foreign, share)
            if share > machine.BUSY:
                say(f"others used {100 * share:.0f} % of the machine meanwhile")
        taken.append(metrics)
    return taken, foreign


def keep(run, name):
    os.makedirs(RESULTS, exist_ok=True)
    path = os.path.join(RESULTS, name)
    with open(path, "w") as file:
        json.dump(run, file, indent=1)
        file.write("\n")
    say(f"kept as {os.path.relpath(path, os.getcwd())}")


def library_version(build):
    command = [os.path.join(build, "bench", "bench-pairs"), "--benchmark_filter=^mutex_pair$",
               "--benchmark_min_time=0.001", "--benchmark_format=json"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(listed.stdout)["context"].get("liblock_version", "unknown")


def main():
    options = arguments()
    selected = rows.select(options.name)
    if selected is None:
        sys.exit(f"no such row: {options.name} (all, local, {', '.join(row.id for row in rows.LOCAL)})")
    if options.write_readme and (len(selected) != len(rows.LOCAL) or options.rounds < 5):
        sys.exit("--write-readme needs all rows and at least 5 rounds")
    build = options.build or os.environ.get("LIBLOCK_BUILD") or machine.find_build(os.path.dirname(HERE))
    if not build:
        sys.exit("no build with benchmarks: meson setup build-bench -Dbench=enabled -Dbuildtype=release")
    os.makedirs(RESULTS, exist_ok=True)
    lock = open(os.path.join(RESULTS, ".running"), "w")
    say("waiting for another run to end") if not free(lock) else None
    fcntl.flock(lock, fcntl.LOCK_EX)
    return run_and_report(options, selected, os.path.abspath(build))


def free(lock):
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False


def run_and_report(options, selected, build):
    described = machine.describe_build(build)
    quiet = machine.wait_until_quiet(options.patience, say)
    steps, missing = prepare(build, selected)
    taken, foreign = measure(build, steps, options.rounds)
    entries = report.figures(selected, taken, missing)
    now = datetime.datetime.now(datetime.timezone.utc)
    run = {"when": now.isoformat(timespec="seconds"), "version": library_version(build),
           "rounds": options.rounds, "foreign": foreign, "machine": machine.describe_machine(),
           "build": described, "figures": entries, "metrics": taken}
    print(report.as_text(selected, entries))
    warnings = list(described["warnings"])
    if not quiet or foreign > machine.BUSY:
        warnings.append(f"others used up to {100 * foreign:.0f} % of the machine; contended rows say little")
    for warning in warnings:
        print(f"WARNING: {warning}")
    for gone in sorted(set(missing.values())):
        print(f"MISSING PEER: {gone}")
    keep(run, f"run-{now.strftime('%Y%m%dT%H%M%SZ')}.json")
    if options.write_readme:
        if warnings or missing:
            sys.exit("README.md is left as it was: the run has warnings or missing peers")
        keep(run, "reference.json")
        report.into_readme(os.path.join(HERE, "README.md"), report.as_markdown(selected, entries, run))
        say("README.md has the new table")
    return 1 if not say_what_was_missed(entries) and options.require else 0


def say_what_was_missed(entries):
    """True when every required part was measured and reaches what it must."""
    met = True
    for entry in entries:
        if entry["required"] and "reach" in entry and entry.get("verdict") in (None, "MISSED"):
            found = report.number(entry["median"]) if "median" in entry else entry["missing"]
            print(f"REQUIRED REACH MISSED: {entry['row']} {entry['label']}: {found}")
            met = False
    return met


if __name__ == "__main__":
    try:
        sys.exit(main())
    except programs.Failed as failure:
        sys.exit(f"benchmark failed: {failure}")
