#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run_tests.py counts what it should, and takes nothing for a pass that is none."""
import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from bites import TOOLS, Tap

sys.path.insert(0, str(TOOLS))
from run_tests import FAIL, in_order, judge, of_one_name, run_again  # noqa: E402  (the path had to be set first)
from standstill import stolen_ms, worst_second_ms  # noqa: E402

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
    return counted_of(f"import sys; sys.stdout.write({text!r}); sys.exit({status})")


def counted_of(program):
    with tempfile.TemporaryDirectory() as directory:
        counts, failures = pathlib.Path(directory, "counts"), pathlib.Path(directory, "failures")
        failures.touch()
        own = {"LIBLOCK_COUNTS": str(counts), "LIBLOCK_FAILURES": str(failures), "LIBLOCK_RELIABILITY": directory}
        done = subprocess.run([sys.executable, RUNNER, "--label", "t", "--", sys.executable, "-c", program],
                              env={**os.environ, **own}, capture_output=True, text=True)
        return counts.read_text(encoding="utf-8").strip(), failures.read_text(encoding="utf-8"), done

# What each language's own tool prints of a test that fails, and what of it is passed on.
SAYINGS = [
    ("go", "=== RUN   TestX\n    x_test.go:3: boom\n--- FAIL: TestX (0.00s)\nFAIL\n", "TestX", "x_test.go:3: boom"),
    ("cargo", "test a::b ... FAILED\n\n---- a::b stdout ----\npanicked at x.rs:3\nnote: run with\n", "a::b",
     "panicked at x.rs:3"),
    ("minitest", "XTest#test_a = 0.01 s = F\n\n  1) Failure:\nXTest#test_a [x.rb:60]:\nExpected nil\n\n1 runs\n",
     "XTest#test_a", "Expected nil"),
]


def of_language(kind, text):
    program = f"import sys; sys.stdout.write({text!r}); sys.exit(1)"
    return subprocess.run([sys.executable, TOOLS / "tap_of.py", kind, sys.executable, "-c", program],
                          capture_output=True, text=True, check=False).stdout.splitlines()


def record(outcome, name="t"):
    return {"name": f"liblock:api / {name}", "result": "OK", "starttime": 10, "duration": 5,
            "stdout": f"1..1\n{outcome} 1 - a\n"}


# (name, the outcomes of its tries, whether it is timed, ms that the machine stood still, (tries, does it fail))
TRIES = [
    ("a_timed_test_that_failed_while_the_machine_stood_still_runs_again", ["not ok", "ok"], True, 900, (2, False)),
    ("one_that_fails_three_times_has_failed", ["not ok", "not ok", "not ok", "ok"], True, 900, (3, True)),
    ("one_that_failed_on_a_quiet_machine_has_failed", ["not ok", "ok"], True, 100, (1, True)),
    ("one_that_is_not_timed_has_failed", ["not ok", "ok"], False, 900, (1, True)),
    ("one_that_passed_does_not_run_again", ["ok", "not ok"], True, 900, (1, False)),
]


def tried(outcomes, is_timed, lost_ms):
    """How often it ran, and whether it failed in the end. What runs beside it passed, and stays as it is."""
    left = [record(one) for one in outcomes]
    other = record("ok", "other")
    with contextlib.redirect_stdout(io.StringIO()):
        entries = run_again([left.pop(0), other], ["t", "other"] if is_timed else [], lambda begin, end: lost_ms,
                            lambda names, jobs: [left.pop(0)])
    [last] = [entry for entry in entries if entry is not other]
    return len(outcomes) - len(left), any(outcome == FAIL for outcome, _ in judge(last))


# It stops its runner for a while, and fails, but when it has done so before.
STOPPER = """import os, signal, sys, time
again = os.path.exists(sys.argv[1])
open(sys.argv[1], "w").close()
os.kill(os.getppid(), signal.SIGSTOP)
time.sleep(float(sys.argv[2]))
os.kill(os.getppid(), signal.SIGCONT)
time.sleep(0.3)
print("1..1\\nok 1 - a" if again else "1..1\\nnot ok 1 - a", flush=True)
"""


def stopped(seconds, *options):
    with tempfile.TemporaryDirectory() as directory:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LIBLOCK_")}
        command = [sys.executable, RUNNER, "--label", "t", *options, "--", sys.executable, "-c", STOPPER,
                   f"{directory}/ran", str(seconds)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def what_stood_still(tap):
    for name, outcomes, is_timed, lost_ms, wanted in TRIES:
        got = tried(outcomes, is_timed, lost_ms)
        tap.rule(name, [] if got == wanted else [f"{got}, not {wanted}"])
    text = "cpu  1 2 3 4 5 6 7 90 0 0\ncpu0 1 2 3 4 5 6 7 40 0 0\ncpu1 1 2 3 4 5 6 7 50 0 0\nintr 3\n"
    got = stolen_ms(text)
    tap.rule("what_a_host_takes_is_read_for_each_processor", [] if got == {"cpu0": 400, "cpu1": 500} else [str(got)])
    samples = [(at / 10, {"cpu0": 30, "cpu1": 10}) for at in range(100)] + [(10.0, {"cpu0": 0, "wake": 700})]
    got = [worst_second_ms(samples, *span) for span in ((3, 5), (9.5, 9.6), (20, 30), (3.05, 3.06))]
    good = got[0] in (300, 330) and got[1] == 700 and got[2] == 0 and got[3] in (300, 330)
    tap.rule("the_worst_second_of_a_span_counts_by_the_worst_of_what_was_lost", [] if good else [str(got)])
    done = stopped(0.6, "--timed")
    good = done.returncode == 0 and "AGAIN t: the machine stood still for" in done.stdout and "ok t: a" in done.stdout
    tap.rule("a_runner_that_stood_still_itself_notices", [] if good else done.stdout.splitlines())
    done = stopped(0.6)
    tap.rule("and_runs_nothing_again_that_is_not_timed", [] if done.returncode == 1 else done.stdout.splitlines())


# It leaves somebody behind who has its output open.
LEAVER = "import subprocess; subprocess.Popen(['sleep', '60']); print('1..1\\nok 1 - a')"


def leaves_somebody_behind(tap):
    began = time.monotonic()
    counts, _, done = counted_of(LEAVER)
    took_s = time.monotonic() - began
    tap.rule("who_is_left_behind_with_a_program_s_output_is_not_waited_for",
             [] if counts == "1 0 0" and took_s < 30 else [f"'{counts}' after {took_s} s", *done.stdout.splitlines()])


def main():
    tap = Tap()
    what_stood_still(tap)
    leaves_somebody_behind(tap)
    for kind, text, test, cause in SAYINGS:
        said = of_language(kind, text)
        good = said[0] == f"not ok 1 - {test}" and said[-2].endswith(cause) and said[-1] == "1..1"
        tap.rule(f"a_test_of_{kind}_that_fails_says_why", [] if good else said)
    for name, text, status, wanted in CASES:
        counts, failures, done = counted(text, status)
        ends = 1 if int(wanted.split()[1]) else 0
        good = counts == wanted and done.returncode == ends and ends == failures.startswith("  FAILED t: ")
        tap.rule(name, [] if good else [f"counted '{counts}', not '{wanted}', status {done.returncode}",
                                        *done.stdout.splitlines()])
    alone = {"priority": 1, "is_parallel": False}
    order = in_order({"a": {"priority": 0}, "alone": alone, "b": {"is_parallel": True}, "long": {"priority": 1}})
    tap.rule("what_has_priority_begins_first_and_what_runs_alone_last",
             [] if order == ["long", "a", "b", "alone"] else order)
    known = [{"name": name} for name in ("a", "b", "a")]
    tap.rule("tests_of_one_name_are_found_since_meson_would_run_both", [] if of_one_name(known) == ["a"] else ["not a"])
    tap.finish()


if __name__ == "__main__":
    main()
