#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The runner from outside: what it prints, and the status with which it ends.

A suite is only as good as its exit status, so each way to fail is provoked once. Prints TAP.
usage: check_runner.py RUNNER SELFTEST_FOLDER SCENARIO_FILE...
"""
import os
import subprocess
import sys


def run(*words):
    ended = subprocess.run([RUNNER, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    return ended.returncode, ended.stdout


def a_failing_scenario_ends_the_run_as_failed_and_names_the_step():
    status, text = run(os.path.join(FOLDER, "plain_failure.json"))
    assert status == 1, text
    assert "ok 1 - passes\nnot ok 2 - fails\n" in text, text
    assert "# plain_failure.json: step 1 of 1:" in text, text
    assert "expected locked true, got false" in text, text
    assert "1..2\n# 1 passed, 1 failed" in text, text


def a_filter_that_leaves_only_what_passes_ends_as_passed():
    status, text = run("--filter", "passes", os.path.join(FOLDER, "plain_failure.json"))
    assert status == 0 and "1..1\n" in text, text


def a_malformed_file_ends_the_run_as_failed():
    status, text = run(os.path.join(FOLDER, "malformed_json.json"))
    assert status == 1 and "not ok 1 - malformed_json.json" in text and "duplicate" in text, text


def a_file_that_is_missing_ends_the_run_as_failed():
    status, text = run(os.path.join(FOLDER, "there_is_no_such_file.json"))
    assert status == 1 and "not ok 1 - there_is_no_such_file.json" in text, text


def must_fail_is_a_field_of_self_tests_only():
    status, text = run(os.path.join(FOLDER, "wrong_ends.json"))
    assert status == 1 and 'unknown field "must_fail"' in text, text


def a_self_test_that_passes_ends_the_run_as_failed():
    status, text = run("--selftest", os.path.join(FOLDER, "plain_failure.json"))
    assert status == 1 and "not ok 1 - passes" in text, text


def a_run_of_nothing_ends_as_failed():
    status, text = run("--filter", "no_scenario_has_this_name", *SCENARIOS)
    assert status == 1 and "1..0\n" in text, text


def a_census_that_is_not_met_ends_as_failed():
    status, text = run("--census", "total=100000", *SCENARIOS)
    assert status == 1 and "not ok 1 - total" in text, text
    assert run("--census", "total=1 order=many", *SCENARIOS)[0] == 1


def words_that_are_not_understood_end_the_runner_with_2():
    assert run()[0] == 2
    assert run("--filters", "x", *SCENARIOS)[0] == 2
    assert run("--filter")[0] == 2


def a_list_names_each_scenario_once_and_runs_none():
    status, text = run("--list", *SCENARIOS)
    names = text.split("\n")[:-1]
    assert status == 0 and len(names) > 60 and len(set(names)) == len(names), text


RUNNER, FOLDER, SCENARIOS = sys.argv[1], sys.argv[2], sys.argv[3:]
CHECKS = [check for name, check in list(globals().items()) if callable(check) and name.count("_") > 2]
failed = 0
for number, check in enumerate(CHECKS, 1):
    try:
        check()
        print(f"ok {number} - {check.__name__}")
    except AssertionError as cause:
        failed += 1
        print(f"not ok {number} - {check.__name__}")
        for line in str(cause).split("\n"):
            print("#", line)
print(f"1..{len(CHECKS)}")
sys.exit(1 if failed else 0)
