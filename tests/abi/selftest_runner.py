#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run_tests.py counts what it should, and takes nothing for a pass that is none."""
import os
import pathlib
import subprocess
import sys
import tempfile

from bites import TOOLS, Tap

RUNNER = TOOLS / "run_tests.py"
CASES = [
    ("two_passes_are_two_passes", "1..2\nok 1 - a\nok 2 - b\n", 0, "2 0 0"),
    ("two_groups_in_one_program_add_up", "1..1\nok 1 - a\n1..1\nok 1 - b\n", 0, "2 0 0"),
    ("a_plan_at_the_end_counts_as_well", "ok 1 - a\n1..1\n", 0, "1 0 0"),
    ("a_failure_is_a_failure", "1..2\nok 1 - a\nnot ok 2 - b\n", 1, "1 1 0"),
    ("a_failure_counts_even_when_the_program_says_success", "1..2\nok 1 - a\nnot ok 2 - b\n", 0, "1 1 0"),
    ("a_skip_is_neither", "1..2\nok 1 - a\nnot ok 2 # SKIP b\n", 0, "1 0 1"),
    ("a_program_that_stops_half_way_fails", "1..3\nok 1 - a\n", 1, "1 1 0"),
    ("more_results_than_planned_fail", "1..1\nok 1 - a\nok 2 - b\n", 0, "2 1 0"),
    ("passes_without_a_plan_fail", "ok 1 - a\n", 0, "1 1 0"),
    ("an_empty_plan_fails", "1..0\n", 0, "0 1 0"),
    ("passes_of_a_program_that_died_fail", "1..1\nok 1 - a\n", 139, "1 1 0"),
    ("a_program_without_tap_counts_once", "hello\n", 0, "1 0 0"),
    ("a_failing_program_without_tap_counts_once", "hello\n", 3, "0 1 0"),
]


def counted(text, status):
    program = f"import sys; sys.stdout.write({text!r}); sys.exit({status})"
    with tempfile.TemporaryDirectory() as directory:
        counts, failures = pathlib.Path(directory, "counts"), pathlib.Path(directory, "failures")
        failures.touch()
        own = {"LIBLOCK_COUNTS": str(counts), "LIBLOCK_FAILURES": str(failures)}
        done = subprocess.run([sys.executable, RUNNER, "--label", "t", "--", sys.executable, "-c", program],
                              env={**os.environ, **own}, capture_output=True, text=True)
        return counts.read_text(encoding="utf-8").strip(), failures.read_text(encoding="utf-8"), done


def main():
    tap = Tap()
    for name, text, status, wanted in CASES:
        counts, failures, done = counted(text, status)
        ends = 1 if int(wanted.split()[1]) else 0
        good = counts == wanted and done.returncode == ends and ends == failures.startswith("  FAILED t: ")
        tap.rule(name, [] if good else [f"counted '{counts}', not '{wanted}', status {done.returncode}",
                                        *done.stdout.splitlines()])
    tap.finish()


if __name__ == "__main__":
    main()
