#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Profiles what misses its mark in the tables, prints where its time goes, and keeps it in results/profiles.json.

  profiles.py          each figure that misses its mark, in a run of its own
  profiles.py --write  docs/profiles.md is what they say
"""
import argparse
import datetime
import json
import os
import pathlib
import sys

from harness import groups, machine, profiling, programs, report
from harness.failed import Failed
from harness.progress import Progress

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE / "results" / "profiles.json"
PAGE = HERE.parent / "docs" / "profiles.md"
MARKER = "profiles"
# Over within a millisecond, behind a million acquires: samples would show those.
CALLS = {"million.sweep/held": "liblock_sweep"}


def missed():
    """(row id, label, metric of ours) of each figure that misses its mark."""
    for table in groups.TABLES.values():
        parts = {(row.id, part.label): part for row in table.rows for part in row.parts}
        run = json.loads((HERE / "results" / table.reference).read_text(encoding="utf-8"))
        for entry in run["figures"]:
            if entry.get("verdict") == "MISSED":
                ours = parts[entry["row"], entry["label"]].needs[0]
                yield entry["row"], entry["label"], ours


def profiled(build, metric):
    """The profile of the benchmark that this metric comes from, and the share of the machine that others used."""
    step, = programs.plan([metric])
    program, names = step
    call = CALLS.get(f"{program}.{names[0]}")
    if call is not None:
        command = [os.path.join(build, "bench", f"bench-{program}"), f"--benchmark_filter=^{names[0]}"]
        return {"benchmark": f"{program}.{names[0]}", "call": call, **profiling.of_call(command, call)}
    shares = []
    found = profiling.samples(lambda: shares.append(programs.run_once(build, step)[1]))
    return {"benchmark": " ".join([program, *names]), "foreign": round(max(shares), 3), **found}


def measure(build):
    by_benchmark = {}
    for row, label, metric in missed():
        by_benchmark.setdefault(metric.split(":")[0], []).append((row, label, metric))
    commit = machine.describe_commit(str(HERE.parent))
    progress, profiles = Progress(len(by_benchmark)), []
    for benchmark, wanted in by_benchmark.items():
        progress.begins(benchmark)
        row, _, metric = wanted[0]
        profiles.append({"row": row, "labels": [label for _, label, _ in wanted], **profiled(build, metric)})
    progress.ends()
    return {"when": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "commit": commit, "machine": machine.describe_machine(), "build": machine.describe_build(build),
            "profiles": profiles}


def of_samples(profile):
    threads = ", ".join(f"{name} {share} %" for name, share in profile["threads"])
    files = ", ".join(f"{file} of {thread} {share} %" for thread, file, share in profile["files"])
    rows = [f"| {share} % | {thread} | `{function}` |" for thread, function, share in profile["functions"]]
    left = 100 - sum(share for *_, share in profile["functions"])
    return [f"`{profile['benchmark']}`: {profile['samples']:,} samples; the CPUs were idle for {profile['idle']} % "
            f"of the time. By thread: {threads}. By file: {files}.",
            "", "| share | thread | function |", "| ---: | --- | --- |", *rows, f"| {left:.1f} % | | all others |"]


def of_instructions(profile):
    head = (f"`{profile['benchmark']}`, within `{profile['call']}` alone: {profile['instructions']:,} instructions, "
            f"{profile['misses']:,} lines of memory that were not in the cache.")
    rows = [f"| {count:,} | {misses:,} | `{function}` |" for function, count, misses in profile["functions"]]
    return [head, "", "| instructions | misses | function |", "| ---: | ---: | --- |", *rows]


def as_markdown(run):
    where, build = run["machine"], run["build"]
    commit = f", commit {run['commit']}" if run.get("commit") else ""
    lines = [f"{run['when'][:10]}{commit}. {where['cpu']}, {where['cpus']} CPUs, Linux {where['kernel']}, "
             f"{where['libc']}; "
             f"{build['compiler']}, {machine.build_words(build)}. {profiling.HERTZ} samples a second."]
    for profile in run["profiles"]:
        lines += ["", f"## {profile['row']}", "", f"Missed: {'; '.join(profile['labels'])}.", ""]
        lines += of_samples(profile) if profile["kind"] == "samples" else of_instructions(profile)
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", help="build directory (default: LIBLOCK_BUILD, or the newest build*)")
    parser.add_argument("--write", action="store_true", help="put them into docs/profiles.md")
    options = parser.parse_args()
    build = options.build or os.environ.get("LIBLOCK_BUILD") or machine.find_build(str(HERE.parent))
    if not build:
        sys.exit("no build with benchmarks: meson setup build-bench -Dbench=enabled")
    run = measure(os.path.abspath(build))
    text = as_markdown(run)
    print(text)
    if options.write:
        RESULTS.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
        report.into_page(PAGE, MARKER, text)


if __name__ == "__main__":
    try:
        main()
    except Failed as failure:
        sys.exit(f"profiles failed: {failure}")
