#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures liblock against floors and peers, prints one table, and keeps the figures as JSON in results/.

  run.py [NAME…]   NAME: all (default), a group (local, redis, quorum, scale, peers; nightly: the peers with Redisson,
                   and Java's local ones), or a row such as L7 or R1
  run.py --write   the tables of which every row was measured replace those in bench/README.md and docs/performance.md
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
from collections import Counter

from harness import groups, java_peers, machine, others, peers, programs, report, servers
from harness.failed import Failed
from harness.peer_rows import AT_NIGHT
from harness.progress import Progress

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "results")
PACKAGES = {"tbb": "oneTBB (libtbb-dev)", "absl": "Abseil (libabsl-dev)", "go": "Go"}


def say(text):
    print(text, file=sys.stderr, flush=True)


def arguments():
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("names", nargs="*", default=["all"], metavar="NAME")
    parser.add_argument("--build", help="build directory (default: LIBLOCK_BUILD, or the newest build*)")
    parser.add_argument("--rounds", type=int, default=5, help="fresh processes per program (default 5)")
    parser.add_argument("--patience", type=float, default=30,
                        help="seconds to wait for quiet (default 30); 0: what was disturbed is not repeated either")
    parser.add_argument("--write", action="store_true", help="put the tables into the pages")
    parser.add_argument("--require", action="store_true", help="exit 1 when a required row misses its reach")
    return parser.parse_args()


def missing_because(build, program, name):
    if program in servers.GROUPS:
        return servers.missing(build)
    if program == peers.PROGRAM:
        return peers.why_not(build, name)
    return java_peers.why_not() if program == java_peers.PROGRAM else missing_name(name)


def missing_name(benchmark):
    for part, package in PACKAGES.items():
        if re.search(rf"(^|/){part}(_|$)", benchmark):
            return package
    return benchmark


def prepare(build, selected):
    """Steps that can run, and {metric: what is missing} for the others."""
    metrics = sorted({need for row in selected for need in row.needs})
    steps = []
    missing = {metric: f"{metric.removeprefix(AT_NIGHT)} (run.py nightly)" for metric in metrics
               if metric.startswith(AT_NIGHT)}
    for step in programs.plan(metrics):
        (program, names), absent = programs.available(build, step)
        for name in absent:
            why = missing_because(build, program, name)
            missing.update({metric: why for metric in metrics if programs.is_of(metric, program, name)})
        if names:
            steps.append((program, names))
    if any(program == "go" for program, _ in steps):
        say("compiling the Go peer")
        programs.run_once(build, ("go", []))
    return steps, missing


def measure(build, steps, count, is_patient, failures):
    """What fails is left out from then on, and why goes to failures, by program and benchmark: of a run of half an hour
    the rest stays. Also: the largest share that others had, and the seconds that each step took."""
    taken, foreign, spent = [], 0.0, Counter()
    progress = Progress(count * len(steps))
    for nth in range(count):
        metrics = {}
        for program, names in steps:
            alone = f" {names[0]}" if len(names) == 1 or program == peers.PROGRAM else ""
            progress.begins(f"round {nth + 1} of {count}, {program}{alone}")
            if (program, tuple(names)) in failures:
                continue
            repeats = programs.REPEATS_WHEN_BUSY if is_patient else 0
            step_began = time.monotonic()
            try:
                found, share = programs.run_quietly(build, (program, names), repeats)
            except Failed as failure:
                failures[program, tuple(names)] = str(failure)
                progress.says(f"{program}{alone}: {failure}")
                continue
            spent[program, tuple(names)] += time.monotonic() - step_began
            metrics.update(found)
            foreign = max(foreign, share)
            if share > machine.BUSY:
                progress.says(f"{program}{alone}: others used {100 * share:.0f} % of the machine meanwhile")
        taken.append(metrics)
    progress.ends()
    return taken, foreign, spent


def seconds_of(needs, spent):
    """How long the steps took that these metrics come from."""
    return round(sum(seconds for (program, names), seconds in spent.items()
                     if any(programs.is_of(need, program, name) for need in needs for name in names)))


def without(selected, failures):
    """{metric: why there is none} of benchmarks that failed."""
    gone = {f"{program}.{name}" for program, names in failures for name in names}
    return {need: f"{need.split(':')[0]}, which failed" for row in selected for need in row.needs
            if need.split(":")[0] in gone}


def keep(run, name):
    os.makedirs(RESULTS, exist_ok=True)
    path = os.path.join(RESULTS, name)
    with open(path, "w") as file:
        json.dump(run, file, indent=1)
        file.write("\n")
    say(f"kept as {os.path.relpath(path, os.getcwd())}")


def library_version(build):
    with open(os.path.join(build, "meson-info", "intro-projectinfo.json")) as file:
        return json.load(file)["version"]


def chosen(names):
    """Rows in their order, none twice."""
    wanted = set()
    for name in names:
        found = groups.select(name)
        if found is None:
            known = ", ".join([*groups.GROUPS, *(row.id for row in groups.GROUPS["all"])])
            sys.exit(f"no such row: {name} ({known})")
        wanted.update(found)
    return groups.once(wanted)


def main():
    options = arguments()
    selected = chosen(options.names)
    if options.write and (not groups.whole(selected) or options.rounds < 5):
        sys.exit("--write needs all rows of a table and at least 5 rounds")
    build = options.build or os.environ.get("LIBLOCK_BUILD") or machine.find_build(os.path.dirname(HERE))
    if not build:
        sys.exit("no build with benchmarks: meson setup build-bench -Dbench=enabled")
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
    described, commit = machine.describe_build(build), machine.describe_commit(os.path.dirname(HERE))
    steps, missing = prepare(build, selected)
    quiet = machine.wait_until_quiet(options.patience, say)
    failures = {}
    began = time.monotonic()
    taken, foreign, spent = measure(build, steps, options.rounds, options.patience > 0, failures)
    seconds = time.monotonic() - began
    missing.update(without(selected, failures))
    missing.update(peers.failed({need for row in selected for need in row.needs} - missing.keys(), taken))
    entries = report.figures(selected, taken, missing)
    now = datetime.datetime.now(datetime.timezone.utc)
    run = {"when": now.isoformat(timespec="seconds"), "version": library_version(build), "commit": commit,
           "rounds": options.rounds, "seconds": round(seconds), "foreign": foreign,
           "machine": machine.describe_machine(),
           "build": described, "figures": entries, "metrics": taken}
    print(report.as_text(selected, entries))
    print(f"{options.rounds} rounds took {seconds / 60:.1f} min")
    warnings = list(described["warnings"])
    if not quiet or foreign > machine.BUSY:
        warnings.append(f"others used up to {100 * foreign:.0f} % of the machine; contended rows say little")
    for table in groups.whole(selected):
        found = report.swing(table.probes, taken)
        if found is not None and found[0] > machine.UNSTEADY:
            warnings.append(f"the machine changed its speed: {found[1]} took {found[0]:.2f} times as long in one round "
                            "as in another; ratios say little")
    for warning in warnings:
        print(f"WARNING: {warning}")
    for gone in sorted(set(missing.values())):
        print(f"MISSING: {gone}")
    keep(run, f"run-{now.strftime('%Y%m%dT%H%M%SZ')}.json")
    if options.write:
        if described["warnings"] or failures or foreign > machine.TOO_BUSY:
            sys.exit("the pages are left as they were: the build is none to measure, others used more than "
                     f"{100 * machine.TOO_BUSY:.0f} % of the machine during a program, or a benchmark failed")
        write_tables(selected, run, missing)
        keep_times(selected, run, spent)
    return 1 if failures or (not say_what_was_missed(entries) and options.require) else 0


def keep_times(selected, run, spent):
    """Of a run of everything: how long it took, and the part of each table."""
    if not set(groups.GROUPS["all"]) <= set(selected):
        return
    parts = {}
    for name, table in groups.TABLES.items():
        if table in groups.whole(selected):
            parts[name] = seconds_of({need for row in table.rows for need in row.needs}, spent)
    about = {name: run[name] for name in ("when", "version", "rounds", "machine", "seconds")}
    keep({**about, "seconds_of_tables": parts}, "times.json")


def write_tables(selected, run, missing):
    for table in groups.whole(selected):
        ids = {row.id for row in table.rows}
        entries = [entry for entry in run["figures"] if entry["row"] in ids]
        needs = {need for row in table.rows for need in row.needs}
        if needs & missing.keys():
            say(f"{table.page} is left as it was: there are missing peers")
            continue
        taken = [{name: value for name, value in one.items() if name in needs} for one in run["metrics"]]
        keep({**run, "figures": entries, "metrics": taken}, table.reference)
        page = os.path.join(os.path.dirname(HERE), table.page)
        report.into_page(page, table.marker, report.as_markdown(table, entries, {**run, "metrics": taken}))
        say(f"{table.page} has the new table")
    others.into_pages()


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
    except Failed as failure:
        sys.exit(f"benchmark failed: {failure}")
