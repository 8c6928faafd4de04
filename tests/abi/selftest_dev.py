#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts and conclusions of ./dev and .ci/run are as they promise: on a copy of the script with small suites
of its own.
"""
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from bites import TOOLS, Tap, write_tree

ROOT = TOOLS.parent
SLEEP = f"sleep 1000.{os.getpid()}"  # by which whoever is left behind is known
AT_ONCE = 3
ENDED_IN_S = "5"  # whoever hangs; what comes before that must have ended on a busy machine as well
BOTH = "quick() { check holds true; }\ngate() { check holds true; check holds_too test 1 = 1; }\n"
ONLY_GATE = "gate() { check deep true; }\n"
FAILS = "quick() { check falls false; check holds true; }\n"
SKIPS = "quick() { check holds true; skip absent 'no such toolchain'; }\n"
EMPTY = "quick() { :; }\n"
DIES = "quick() { check holds true; exit 1; }\n"
HANGS = f"quick() {{ check holds true; setsid {SLEEP}; check never true; }}\n"
NEVER = f"quick() {{ setsid {SLEEP}; }}\n"
# What is made ahead waits for somebody who wants it, and writes down what time it is given then; and afterwards, when
# each process begins the next one while that is taken back from them.
AHEAD = """slow() { : >"$log_dir/begun"; sleep 3; chrt --pid $BASHPID >"$log_dir/time"; }
chain() {
  sleep 0.01
  if [ "$1" -gt 0 ]; then (chain $(($1 - 1))); return; fi
  sleep 3
  chrt --pid $BASHPID >"$log_dir/time_behind"
}
ahead() { alone thing slow; (chain 40); }
gate() {
  for i in $(seq 300); do [ -e "$log_dir/begun" ] || sleep 0.1; done
  alone thing true
  check was_given_time grep -q POLICY "$log_dir/time"
  for i in $(seq 300); do [ -s "$log_dir/time_behind" ] || sleep 0.1; done
  check gave_it_back grep -q BEHIND "$log_dir/time_behind"
}
"""
# What is made ahead counts, and not while something is measured.
COUNTS_AHEAD = """ahead() { for i in $(seq 300); do echo $i >>"$log_dir/ticks"; sleep 0.05; done; }
ticks() { wc -l <"$log_dir/ticks"; }
stands_still() { sleep 0.3; local before; before=$(ticks); sleep 0.5; [ "$(ticks)" = "$before" ]; }
measure() { check stands_still stands_still; }
gate() {
  for i in $(seq 300); do [ -s "$log_dir/ticks" ] || sleep 0.1; done
  while_ahead_waits measure
  local before; before=$(ticks)
  for i in $(seq 300); do [ "$(ticks)" = "$before" ] || break; sleep 0.1; done
  check goes_on [ "$(ticks)" != "$before" ]
}
"""
LEAVES = f"quick() {{ check holds true; {SLEEP} & }}\n"
BESIDE = """one() {
  for i in $(seq 50); do [ -e "$log_dir/of_two" ] || sleep 0.1; done
  check two_is_there test -e "$log_dir/of_two"
}
two() { : >"$log_dir/of_two"; check holds true; exit 1; }
quick() { side_by_side one two; check holds true; }
"""
HANGS_BESIDE = f"one() {{ check held true; }}\ntwo() {{ {SLEEP}; }}\nquick() {{ side_by_side one two; }}\n"
# Of the quick forms what others want is made once the first one has built what they share.
BUILDS = "quick() { sleep 1; : >\"$log_dir/built\"; check holds true; }\n"
AHEAD_OF_QUICK = """ahead() { [ ! -e "$log_dir/built" ] || echo "$1" >"$log_dir/size"; }
quick() {
  for i in $(seq 300); do [ -s "$log_dir/size" ] || sleep 0.1; done
  check was_made_ahead grep -q quick "$log_dir/size"
}
"""
LEFT_AHEAD = f"ahead() {{ {SLEEP}; }}\ngate() {{ check holds true; }}\n"
# The suite sim with nothing to build, and a program of lives that notes whether its runs count.
LIVES = """suite_needs=
ordinary_build() { :; }
build_more() { :; }
"""
UNTIL_LIVED = """gate() {
  for i in $(seq 300); do [ -e "$log_dir/lives-told.of" ] || sleep 0.1; done
  check holds true
}
"""
LIVED = """#!/bin/sh
echo "$LIBLOCK_COUNTS" >>"$0.runs"
echo '{}' >"$2"
echo 'ok 1 - a_life'
echo '1..1'
exit STATUS
"""
# ./dev soak with nothing to build, and a program that notes for how long it is to last.
SOAKS = """must_have() { :; }
configure() { :; }
build() { :; }
"""
LASTS = """import pathlib, sys
pathlib.Path(__file__).with_name("told").write_text(sys.argv[sys.argv.index("--minutes") + 1])
"""
# Of a build with one test, and then another one.
CONFIGURES = """quick() {
  configure release && check knows_both grep -q '"two"' "$build_root/release/meson-info/intro-tests.json"
}
"""
PROJECT = "project('small')\ntest('one', find_program('true'))\n"
NO_BUILD = "quick() { build_or_fail release -Dnonsense=1; }\n"

# name, suites, arguments, environment, last line, status
CASES = [
    ("a_passing_suite_passes", {"unit": BOTH}, [], {}, "1 passed, 0 failed", 0),
    ("a_named_suite_runs_its_gate_form", {"unit": BOTH}, ["unit"], {}, "2 passed, 0 failed", 0),
    ("a_named_suite_runs_quickly_when_asked", {"unit": BOTH}, ["quick", "unit"], {}, "1 passed, 0 failed", 0),
    ("quick_leaves_out_what_is_gate_only", {"unit": BOTH, "sanitizers": ONLY_GATE}, [], {}, "1 passed, 0 failed", 0),
    ("gate_runs_all", {"unit": BOTH, "sanitizers": ONLY_GATE}, ["gate"], {}, "3 passed, 0 failed", 0),
    ("a_failure_is_counted_and_the_rest_still_runs", {"unit": FAILS, "docs": BOTH}, [], {}, "2 passed, 1 failed", 1),
    ("a_skip_is_named_and_counted", {"unit": SKIPS}, [], {}, "1 passed, 0 failed, 1 skipped", 0),
    ("a_skip_fails_where_all_is_required", {"unit": SKIPS}, [], {"LIBLOCK_REQUIRE_ALL": "1"},
     "1 passed, 1 failed", 1),
    ("a_suite_without_a_test_fails", {"unit": EMPTY}, [], {}, "0 passed, 1 failed", 1),
    ("a_suite_that_breaks_off_fails", {"unit": DIES}, [], {}, "1 passed, 1 failed", 1),
    ("a_suite_that_hangs_is_ended_and_what_comes_after_it_runs", {"unit": HANGS, "docs": BOTH}, [],
     {"LIBLOCK_SUITE_S": ENDED_IN_S}, "2 passed, 2 failed", 1),
    ("a_suite_that_is_late_is_ended_in_time_for_what_was_found_to_be_told", {"unit": HANGS}, [],
     {"LIBLOCK_ENDS_AT": lambda: str(int(time.time()) + 15)}, "1 passed, 2 failed", 1),
    ("what_runs_side_by_side_is_counted_and_so_is_who_breaks_off", {"unit": BESIDE}, [], {}, "3 passed, 1 failed", 1),
    ("what_runs_side_by_side_is_ended_as_well", {"unit": HANGS_BESIDE}, [], {"LIBLOCK_SUITE_S": ENDED_IN_S},
     "1 passed, 2 failed", 1),
    ("what_is_made_ahead_is_ended_with_all", {"unit": BOTH, "docs": LEFT_AHEAD}, ["gate"], {}, "3 passed, 0 failed", 0),
    ("what_the_quick_forms_want_is_made_ahead_behind_the_first_of_them", {"unit": BUILDS, "sim": AHEAD_OF_QUICK}, [],
     {}, "2 passed, 0 failed", 0),
    ("what_is_made_ahead_waits_while_something_is_measured", {"unit": BOTH, "docs": COUNTS_AHEAD}, ["gate"], {},
     "4 passed, 0 failed", 0),
    ("what_a_suite_leaves_behind_is_not_waited_for", {"unit": LEAVES}, [], {}, "1 passed, 0 failed", 0),
    ("a_build_that_fails_is_a_failed_test", {"unit": NO_BUILD}, [], {}, "0 passed, 1 failed", 1),
    ("no_suite_at_all_fails", {}, [], {}, "0 passed, 1 failed", 1),
]


def copy_of_dev(directory, suites):
    root = pathlib.Path(directory)
    (root / "tools/suites").mkdir(parents=True)
    (root / ".ci").mkdir()
    for name in ("dev", ".ci/run", "tools/build.sh", "tools/needs.sh", "tools/needs.txt", "tools/suite.sh",
                 "tools/run_tests.py", "tools/standstill.py"):
        shutil.copy(ROOT / name, root / name)
    for name, text in suites.items():
        (root / "tools/suites" / f"{name}.sh").write_text(text, encoding="utf-8")
    return root


def run(root, program, arguments, environment):
    plain = {name: value for name, value in os.environ.items() if not name.startswith("LIBLOCK_")}
    return subprocess.run([root / program, *arguments], env={**plain, **environment}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


def may_leave_idle_time():
    """It takes a right that not everybody has."""
    return subprocess.run(["sh", "-c", "chrt --idle --pid 0 $$ && chrt --other --pid 0 $$"], check=False,
                          capture_output=True).returncode == 0


def judge(tap, name, done, last, status):
    lines = done.stdout.splitlines()
    good = bool(lines) and lines[-1] == last and done.returncode == status
    tap.rule(name, [] if good else [f"wanted '{last}' and status {status}, got {done.returncode}:", *lines])


def lives_ahead(tap):
    """What came of lives that were lived while other suites ran is told once, and so is that they failed."""
    for name, status in (("lives_that_were_lived_ahead_are_told", 0), ("and_so_is_it_where_they_failed", 1)):
        with tempfile.TemporaryDirectory() as directory:
            sim = (TOOLS / "suites/sim.sh").read_text(encoding="utf-8") + LIVES
            root = copy_of_dev(directory, {"unit": UNTIL_LIVED, "sim": sim})
            program = root / "build/release/tests/sim/sim-quorum"
            program.parent.mkdir(parents=True)
            program.write_text(LIVED.replace("STATUS", str(status)), encoding="utf-8")
            program.chmod(0o755)
            (root / "build/release/capi").mkdir()
            (root / "build/release/capi/liblock.so").write_text("an object", encoding="utf-8")
            judge(tap, name, run(root, "dev", ["test", "gate"], {}), f"3 passed, {status} failed", status)
            runs = program.with_name("sim-quorum.runs").read_text(encoding="utf-8").split()
            tap.rule(f"{name}_by_one_run", [] if runs == ["/dev/null"] else [str(runs)])
            told, lived = (root / "build" / file for file in ("reliability/sim.json", "logs/lives-told.status"))
            tap.rule(f"{name}_as_figures_of_this_run",  # which are given its commit
                     [] if told.stat().st_mtime > lived.stat().st_mtime else ["sim.json is as old as the lives"])


def soaks(tap):
    """For as long as it is told, ten minutes where it is not, and not at all where that is no length."""
    with tempfile.TemporaryDirectory() as directory:
        root = copy_of_dev(directory, {})
        with open(root / "tools/suite.sh", "a", encoding="utf-8") as file:
            file.write(SOAKS)
        write_tree(root, {"tests/soak/run.py": LASTS, "tests/reliability/report.py": ""})
        told = root / "tests/soak/told"
        for words, lasts in (([], "10"), (["0.5"], "0.5"), (["60"], "60"), (["100000"], "100000")):
            status = run(root, "dev", ["soak", *words], {}).returncode
            tap.rule(f"a_soak_lasts_as_long_as_it_is_told{''.join('_' + word for word in words)}",
                     [] if (status, told.read_text(encoding="utf-8")) == (0, lasts) else [f"status {status}"])
            told.unlink(missing_ok=True)
        for word in ("0", "0.0", "-1", "1e3", "an_hour", "10m"):
            done = run(root, "dev", ["soak", word], {})
            good = done.returncode == 2 and "soak needs a number of MINUTES" in done.stdout and not told.exists()
            tap.rule(f"and_for_{word}_not_at_all", [] if good else [str(done)])


def run_case(case):
    _, suites, arguments, environment, _, _ = case
    environment = {name: value() if callable(value) else value for name, value in environment.items()}
    with tempfile.TemporaryDirectory() as directory:
        return run(copy_of_dev(directory, suites), "dev", ["test", *arguments], environment)


def main():
    tap = Tap()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:  # mostly they wait
        for (name, *_, last, status), done in zip(CASES, pool.map(run_case, CASES)):
            judge(tap, name, done, last, status)
    with tempfile.TemporaryDirectory() as directory:
        root = copy_of_dev(directory, {"unit": HANGS_BESIDE})
        said = run(root, "dev", ["test"], {"LIBLOCK_SUITE_S": ENDED_IN_S}).stdout
        tap.rule("what_it_has_said_by_then_is_told", [] if "  ok unit/held" in said else said.splitlines())
    with tempfile.TemporaryDirectory() as directory:
        root = copy_of_dev(directory, {"unit": NEVER})
        done = run(root, "dev", ["test"], {"LIBLOCK_ENDS_AT": "1000"})
        judge(tap, "one_for_which_there_is_no_time_any_more_is_ended_at_once", done, "0 passed, 2 failed", 1)
        tap.rule("which_is_after_a_second", [] if "not at its end after 1 s" in done.stdout else [done.stdout])
    left = subprocess.run(["pgrep", "-f", f"^{SLEEP}$"], capture_output=True, text=True, check=False).stdout.split()
    tap.rule("nobody_is_left_of_a_suite_that_was_ended", [f"process {process}" for process in left])
    with tempfile.TemporaryDirectory() as directory:
        root = copy_of_dev(directory, {"unit": BOTH, "sanitizers": ONLY_GATE})
        judge(tap, "ci_adds_up_the_quick_run_and_the_gate", run(root, ".ci/run", [], {}), "4 passed, 0 failed", 0)
        done = run(root, "dev", ["test", "nonsense"], {})
        good = done.returncode == 2 and "no suite 'nonsense'" in done.stdout
        tap.rule("an_unknown_suite_is_refused", [] if good else [str(done)])
        done = run(root, "dev", ["nonsense"], {})
        good = done.returncode == 2 and "no command 'nonsense'" in done.stdout
        tap.rule("an_unknown_command_is_refused", [] if good else [str(done)])
    with tempfile.TemporaryDirectory() as directory:
        has_idle_time = may_leave_idle_time()
        ahead = AHEAD.replace("POLICY", "SCHED_OTHER" if has_idle_time else "SCHED_")
        ahead = ahead.replace("BEHIND", "SCHED_IDLE" if has_idle_time else "SCHED_")
        done = run(copy_of_dev(directory, {"unit": BOTH, "docs": ahead}), "dev", ["test", "gate"], {})
        good = "waiting for what is made in build/thing" in done.stdout and done.returncode == 0
        tap.rule("who_waits_for_what_is_made_ahead_gives_it_time_of_its_own", [] if good else done.stdout.splitlines())
    lives_ahead(tap)
    soaks(tap)
    with tempfile.TemporaryDirectory() as directory:
        root = copy_of_dev(directory, {"unit": CONFIGURES})
        (root / "meson.build").write_text(PROJECT, encoding="utf-8")
        judge(tap, "a_test_that_is_not_in_the_build_files_is_not_known", run(root, "dev", ["test"], {}),
              "0 passed, 1 failed", 1)
        (root / "meson.build").write_text(PROJECT + "test('two', find_program('true'))\n", encoding="utf-8")
        judge(tap, "and_is_known_once_it_is_before_anything_is_built", run(root, "dev", ["test"], {}),
              "1 passed, 0 failed", 0)
    with tempfile.TemporaryDirectory() as directory:
        root = copy_of_dev(directory, {"unit": SKIPS})
        judge(tap, "ci_takes_no_skip", run(root, ".ci/run", [], {}), "1 passed, 2 failed", 1)
    with tempfile.TemporaryDirectory() as directory:
        done = run(copy_of_dev(directory, {"unit": FAILS + "gate() { quick; }\n"}), ".ci/run", [], {})
        once_more = done.stdout.split("what failed in both", 1)[-1]
        tap.rule("ci_tells_at_its_end_once_more_what_failed",
                 [] if once_more.count("  FAILED unit/") == 2 else done.stdout.splitlines())
    with tempfile.TemporaryDirectory() as directory:
        done = run(copy_of_dev(directory, {"unit": BOTH}), ".ci/run", [], {})
        tap.rule("and_nothing_of_the_kind_where_nothing_did",
                 done.stdout.splitlines() if "once more" in done.stdout else [])
    tap.finish()


if __name__ == "__main__":
    main()
