#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs suites of one build directory with `meson test` and counts single test functions, not programs.

Test programs print TAP (cmocka is told to by the environment), and every line of it is one test. A program
that prints no plan counts as one test by its exit status. What cannot be trusted counts as a failure of its
own: a plan that does not match the lines printed, a program that died, a program whose plan is empty, a run
without any test. The counts are appended to the file named by LIBLOCK_COUNTS as one line `passed failed
skipped`.
"""
import argparse
import fnmatch
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import standstill

RESULT = re.compile(r"^(ok|not ok) +(\d+)? *(?:- *)?(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)\s*(#.*)?$")
TOOK = re.compile(r"^[\d.]+ s$")
SKIP = re.compile(r"# *SKIP\b *(.*)$", re.IGNORECASE)
PASS, FAIL, SKIPPED = "passed", "failed", "skipped"
TRIES_MAX = 3
STOOD_STILL_MS = 250  # within one second; what a crowd of our own processes costs one of them is below 100


def parse_tap(text):
    """Returns (planned or None, [(outcome, name)]). Several groups in one program add up."""
    planned, results = None, []
    for line in text.splitlines():
        plan = PLAN.match(line)
        if plan:
            planned = (planned or 0) + int(plan.group(1))
            continue
        match = RESULT.match(line)
        if not match:
            continue
        skip = SKIP.search(match.group(3))
        if skip:
            name = SKIP.sub("", match.group(3)).strip() or skip.group(1)
            results.append((SKIPPED, name))
        else:
            results.append((PASS if match.group(1) == "ok" else FAIL, match.group(3)))
    return planned, results


def judge(entry):
    """The outcomes of one program: [(outcome, name)], from what meson recorded about it."""
    name, result = entry["name"], entry["result"]
    if result in ("EXPECTEDFAIL", "UNEXPECTEDPASS"):
        return [(PASS if result == "EXPECTEDFAIL" else FAIL, f"{name} (must fail)")]
    planned, results = parse_tap(entry.get("stdout", ""))
    if planned is None and not results:
        outcome = {"OK": PASS, "SKIP": SKIPPED}.get(result, FAIL)
        return [(outcome, f"{name} (whole program, {result})" if outcome == FAIL else name)]
    if planned != len(results):
        results.append((FAIL, f"{name}: planned {planned} tests, reported {len(results)} ({result})"))
    if not results:
        results.append((FAIL, f"{name}: ran no test"))
    failed = any(outcome == FAIL for outcome, _ in results)
    if result not in ("OK", "SKIP") and not failed:
        results.append((FAIL, f"{name}: all its tests passed, yet it ended as {result} ({entry.get('returncode')})"))
    return results


def introspect(build, what):
    listing = subprocess.run(["meson", "introspect", what, build], check=True, capture_output=True, text=True)
    return json.loads(listing.stdout)


def selected(known, suites, excluded):
    """Of what meson knows, the tests in the suites less the excluded ones, by the names on its command line."""
    tests = {}
    for test in known:
        of_suites = {suite.split(":")[-1] for suite in test["suite"]}
        if of_suites & set(suites) and not any(fnmatch.fnmatch(test["name"], one) for one in excluded):
            tests[test["name"]] = test
    return tests


def in_order(tests):
    """As they are to begin. Meson looks at their priorities only where it is given no names. What runs alone comes
    last: meson waits for all others before, and begins none meanwhile."""
    return sorted(tests, key=lambda name: (not tests[name].get("is_parallel", True), -tests[name].get("priority", 0),
                                           name))


def of_one_name(known):
    """The names that several tests have. Meson runs all of them, whichever suite was asked for."""
    names = [test["name"] for test in known]
    return sorted({name for name in names if names.count(name) > 1})


def targets_of(build, tests):
    """For ninja: what these tests are made of, and what is installed, since some install it."""
    wanted = {target for test in tests.values() for target in test["depends"]}
    files = {file for target in introspect(build, "--targets")
             if target["id"] in wanted or target["installed"] for file in target["filename"]}
    return sorted(os.path.relpath(file, build) for file in files)


def run_meson(build, names, arguments, jobs):
    """Runs the tests, with one line for each program that ends; returns meson's records."""
    log = pathlib.Path(build, "meson-logs", "dev-tests.json")
    log.unlink(missing_ok=True)
    environment = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP", MALLOC_PERTURB_="165")
    command = ["meson", "test", "-C", build, "--no-rebuild", "--logbase", "dev-tests",
               "--timeout-multiplier", str(arguments.timeout_multiplier), "--num-processes", str(jobs)]
    with subprocess.Popen(command + names, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", env=environment) as meson:
        tail = []
        for line in meson.stdout:
            tail = (tail + [line])[-20:]
            if re.match(r"^ *\d+/\d+ ", line):
                print("  · " + re.sub(r" {2,}", "  ", line.strip()), flush=True)
    if not log.exists():
        sys.stdout.writelines(tail)
        return []
    with log.open(encoding="utf-8", errors="replace") as lines:
        return [json.loads(line) for line in lines]


def run_program(label, command):
    """One program outside meson, in the form of meson's records. What it says goes to files: a pipe would be waited for
    until the last one has it closed who was left behind with it, and that may be never."""
    began = time.time()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        done = subprocess.run(command, stdout=out, stderr=err, check=False)
        took = time.time() - began
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read().decode(errors="replace"))
    return {"name": label, "result": "OK" if done.returncode == 0 else "FAIL", "returncode": done.returncode,
            "starttime": began, "duration": took, "stdout": said[0], "stderr": said[1]}


def short_name(entry):
    """As it is called on meson's command line: `lost` of `liblock:api+timed / lost`."""
    return entry["name"].rpartition(" / ")[2]


def has_failed(entry):
    return any(outcome == FAIL for outcome, _ in judge(entry))


def run_again(entries, timed, lost_ms, run):
    """Runs once more, one after the other, what failed of the timed programs while the machine stood still, and
    returns all records, with those of the last tries. lost_ms(begin, end) tells how long it stood still then, and
    run(names, jobs) returns the records of these programs."""
    for _ in range(1, TRIES_MAX):
        lost = {short_name(entry): lost_ms(entry["starttime"], entry["starttime"] + entry["duration"])
                for entry in entries if short_name(entry) in timed and has_failed(entry)}
        again = sorted(name for name, ms in lost.items() if ms >= STOOD_STILL_MS)
        if not again:
            break
        for entry in entries:
            if short_name(entry) in again:
                print(f"  AGAIN {short_name(entry)}: the machine stood still for {lost[short_name(entry)]} ms of a "
                      "second while this failed:")
                print("\n".join(f"      | {line}" for line in excerpt(entry)), flush=True)
        entries = [entry for entry in entries if short_name(entry) not in again] + run(again, 1)
    return entries


def print_output(entry):
    """All that a failing program said; the reader should not have to run it again to see why."""
    for stream in ("stdout", "stderr"):
        text = entry.get(stream, "").splitlines()
        if len(text) > 200:
            text = text[:60] + [f"… {len(text) - 180} lines left out …"] + text[-120:]
        for line in text:
            print(f"      | {line}")


def excerpt(entry):
    """Of what a failing program said, the lines by which its failure is known."""
    lines = entry.get("stdout", "").splitlines()
    wrong = [at for at, line in enumerate(lines) if line.startswith("not ok")][:5]
    said = []
    for at in wrong:
        said += [lines[at]] + list(itertools.takewhile(lambda line: line.startswith("#"), lines[at + 1:at + 12]))
    is_explained = len(said) > len(wrong)
    return (said or lines[-10:]) + entry.get("stderr", "").splitlines()[:12 if is_explained else 30]


def keep_failure(lines):
    """For ./dev, which tells at the end once more what failed."""
    if "LIBLOCK_FAILURES" in os.environ:
        append(os.environ["LIBLOCK_FAILURES"], "".join(f"{line}\n" for line in lines))


def append(path, text):
    """At once: others may add to the file at the same time."""
    with open(path, "ab", buffering=0) as file:
        file.write(text.encode())


def keep_figures(label, entry, outcomes):
    """For docs/reliability.md (tests/reliability/report.py): how many tests a program has, and what it measured."""
    if "LIBLOCK_RELIABILITY" not in os.environ:
        return
    tests = {}
    for outcome, name in outcomes:
        if outcome == PASS:
            name, _, figures = name.partition(" # ")
            tests[name] = "" if TOOK.match(figures) else figures
    kept = {"program": short_name(entry), "tests": tests}
    kept |= {one: sum(outcome == one for outcome, _ in outcomes) for one in (PASS, FAIL, SKIPPED)}
    append(pathlib.Path(os.environ["LIBLOCK_RELIABILITY"], f"suite-{label.partition('/')[0]}.jsonl"),
           json.dumps(kept) + "\n")


def report(label, entries):
    counts = {PASS: 0, FAIL: 0, SKIPPED: 0}
    marks = {PASS: "ok", FAIL: "FAILED", SKIPPED: "SKIPPED"}
    for entry in sorted(entries, key=lambda one: one["name"]):
        outcomes = judge(entry)
        keep_figures(label, entry, outcomes)
        program = label if entry["name"] == label else f"{label}/{entry['name']}"
        for outcome, name in outcomes:
            counts[outcome] += 1
            print(f"  {marks[outcome]} {program}: {name}")
        if any(outcome == FAIL for outcome, _ in outcomes):
            print_output(entry)
            keep_failure([f"  FAILED {program}: {name}" for outcome, name in outcomes if outcome == FAIL][:10] +
                         [f"      | {line}" for line in excerpt(entry)])
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--label", required=True, help="how the suite is called in the lines printed")
    parser.add_argument("--build", help="build directory of meson")
    parser.add_argument("--suite", action="append", default=[])
    parser.add_argument("--exclude", action="append", default=[], help="name pattern of tests left out")
    parser.add_argument("--timeout-multiplier", type=float, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--targets", action="store_true", help="run nothing: print what these tests are made of")
    parser.add_argument("--timed", action="store_true", help="the program is one of real time")
    parser.add_argument("program", nargs="*", help="instead of --build: one program that prints TAP")
    arguments = parser.parse_args()
    complaints = []
    watch = standstill.Watch()
    if arguments.program:
        names = [arguments.label]
        timed = names if arguments.timed else []
        run = lambda these, jobs: [run_program(arguments.label, arguments.program)]
    else:
        known = introspect(arguments.build, "--tests")
        complaints += [f"several tests are called '{name}'" for name in of_one_name(known)]
        tests = selected(known, arguments.suite, arguments.exclude)
        if arguments.targets:
            print("\n".join(targets_of(arguments.build, tests)))
            return 0
        names = in_order(tests)
        timed = selected(known, ["timed"], [])
        run = lambda these, jobs: run_meson(arguments.build, these, arguments, jobs)
    entries = run_again(run(names, arguments.jobs) if names else [], timed, watch.worst_second_ms, run)
    counts = report(arguments.label, entries)
    if len(entries) < len(names):
        complaints.append(f"{len(names)} programs to run, {len(entries)} reported")
    if not sum(counts.values()):
        complaints.append("ran no test at all")
    counts[FAIL] += len(complaints)
    for complaint in complaints:
        print(f"  FAILED {arguments.label}: {complaint}")
        keep_failure([f"  FAILED {arguments.label}: {complaint}"])
    if "LIBLOCK_COUNTS" in os.environ:
        append(os.environ["LIBLOCK_COUNTS"], f"{counts[PASS]} {counts[FAIL]} {counts[SKIPPED]}\n")
    return 1 if counts[FAIL] else 0


if __name__ == "__main__":
    sys.exit(main())
