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
import json
import os
import pathlib
import re
import subprocess
import sys

RESULT = re.compile(r"^(ok|not ok) +(\d+)? *(?:- *)?(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)\s*(#.*)?$")
SKIP = re.compile(r"# *SKIP\b *(.*)$", re.IGNORECASE)
PASS, FAIL, SKIPPED = "passed", "failed", "skipped"


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


def selected(build, suites, excluded):
    """What meson knows of the tests in the suites less the excluded ones, by the names on its command line."""
    tests = {}
    for test in introspect(build, "--tests"):
        of_suites = {suite.split(":")[-1] for suite in test["suite"]}
        if of_suites & set(suites) and not any(fnmatch.fnmatch(test["name"], one) for one in excluded):
            tests[test["name"]] = test
    return tests


def targets_of(build, tests):
    """For ninja: what these tests are made of, and what is installed, since some install it."""
    wanted = {target for test in tests.values() for target in test["depends"]}
    files = {file for target in introspect(build, "--targets")
             if target["id"] in wanted or target["installed"] for file in target["filename"]}
    return sorted(os.path.relpath(file, build) for file in files)


def run_meson(build, names, arguments):
    """Runs the tests, with one line for each program that ends; returns meson's records."""
    log = pathlib.Path(build, "meson-logs", "dev-tests.json")
    log.unlink(missing_ok=True)
    environment = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP", MALLOC_PERTURB_="165")
    command = ["meson", "test", "-C", build, "--no-rebuild", "--logbase", "dev-tests",
               "--timeout-multiplier", str(arguments.timeout_multiplier), "--num-processes", str(arguments.jobs)]
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
    """One program outside meson, in the form of meson's records."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    return {"name": label, "result": "OK" if done.returncode == 0 else "FAIL", "returncode": done.returncode,
            "stdout": done.stdout, "stderr": done.stderr}


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
    said = [line for at in wrong for line in lines[at:at + 8]] or lines[-10:]
    return said + entry.get("stderr", "").splitlines()[:30]


def keep_failure(lines):
    """For ./dev, which tells at the end once more what failed."""
    if "LIBLOCK_FAILURES" in os.environ:
        with open(os.environ["LIBLOCK_FAILURES"], "a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)


def report(label, entries):
    counts = {PASS: 0, FAIL: 0, SKIPPED: 0}
    marks = {PASS: "ok", FAIL: "FAILED", SKIPPED: "SKIPPED"}
    for entry in sorted(entries, key=lambda one: one["name"]):
        outcomes = judge(entry)
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
    parser.add_argument("program", nargs="*", help="instead of --build: one program that prints TAP")
    arguments = parser.parse_args()
    if arguments.program:
        names = [arguments.label]
        entries = [run_program(arguments.label, arguments.program)]
    else:
        tests = selected(arguments.build, arguments.suite, arguments.exclude)
        if arguments.targets:
            print("\n".join(targets_of(arguments.build, tests)))
            return 0
        names = sorted(tests)
        entries = run_meson(arguments.build, names, arguments) if names else []
    counts = report(arguments.label, entries)
    if len(entries) < len(names):
        counts[FAIL] += 1
        print(f"  FAILED {arguments.label}: {len(names)} programs to run, {len(entries)} reported")
        keep_failure([f"  FAILED {arguments.label}: {len(names)} programs to run, {len(entries)} reported"])
    if not sum(counts.values()):
        counts[FAIL] += 1
        print(f"  FAILED {arguments.label}: ran no test at all")
        keep_failure([f"  FAILED {arguments.label}: ran no test at all"])
    if "LIBLOCK_COUNTS" in os.environ:
        with open(os.environ["LIBLOCK_COUNTS"], "a", encoding="utf-8") as file:
            file.write(f"{counts[PASS]} {counts[FAIL]} {counts[SKIPPED]}\n")
    return 1 if counts[FAIL] else 0


if __name__ == "__main__":
    sys.exit(main())
