#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The status page and the soak bite: a goal is met by what it asks for and by nothing less, what was not measured is
not met, a page that was edited by hand is noticed, and samples that rise are not taken for level ones.
"""
import contextlib
import copy
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from bites import TOOLS, Tap

TESTS = TOOLS.parent / "tests"
sys.path[:0] = [str(TESTS / "reliability"), str(TESTS / "soak")]
import goals  # noqa: E402  (the path had to be set first)
import judging  # noqa: E402
import plan  # noqa: E402
import report  # noqa: E402


PAGE = "docs/reliability.md"
FUZZED = [folder.name for folder in (TESTS / "fuzz/corpus").glob("*/")]
STOPPED = "nobody who was stopped past his lease believes in it afterwards"
CUT = "no wake-up is lost while connections for messages are cut"
SERVED = "a live waiter is served within alive_ms and a poll"
OPEN = "contexts in whose memory it was found while open"


def suite(programs, **more):
    return {"programs": {name: {"passed": passed, "failed": 0, "skipped": 0, "tests": tests}
                         for name, (passed, tests) in programs.items()}, "day": "2000-01-01", **more}


def level_samples():
    return [{"s": float(second), "rss_kib": 20480 + second % 3, "descriptors": 30, "threads": 14, "keys": 40,
             "bent": 0, **{f"{scope}_{name}": value for scope in judging.SCOPES for name, value in
                           (("wakes", 5), ("p50_us", 200), ("p99_us", 900), ("hand_overs", 5 * second))}}
            for second in range(600)]


def told():
    scope = {"hand_overs": 3000, "doubles": 0, "tokens_back": 0, "unexpected": 0, "ends": {}}
    return {name: dict(scope) for name in judging.SCOPES}


def bent_by(kind):
    both = {"single": kind, "quorum": kind}
    others = {f"kind {number}": copy.deepcopy(both) for number in range(23)}
    del others["kind 22"]["single"]
    others["kind 5"]["quorum"] |= {"felt": 0}
    return {"seeds": [1, 2, 3, 4, 5], "nothing": {"single": kind | {"felt": 3}},
            "kinds": {**others, "client-stopped": {"single": kind | {"hits": 50}}}}


def good_results():
    an_hour = [one | {"s": 6 * one["s"]} for one in level_samples()]
    soak = judging.summary(an_hour, told(), [], 0, 59) | {"minutes": 60, "samples": an_hour}
    walks = {f"scenario {number}: each {call} may fail": "7" for number in range(30) for call in goals.CALLS}
    kind = {"runs": 5, "hits": 60, "felt": 4, "beside": 3, "traces": 1, "violations": 0, "guard_violations": 0,
            "stuck": 0, "ways": {"one": 3, "other": 2}, "seeds": 5}
    return {
        "sim": {"seeds": 3600, "failures": [], "counters": {
            "simulated_ms": 144_000_000, "grants": 1, "orphans_undone": 1, "fault_pause": 1, "lives_inside": 3000,
            "lives_outside": 600}},
        "mutants": {"mutants": [{"equivalent": "", "schedules": True, "life": ""}] * 20},
        "mutants-elsewhere": {"faults": [{"by": "order"}] * 15},
        "fuzz": {"executions": dict.fromkeys(FUZZED, 1000), "seconds": 10, "findings": 0},
        "soak": soak, "security": {"counts": {"secrets planted": 1, "bytes searched": 1, OPEN: 1}, "found": 0},
        "coverage": {"parts": {"engine": {"branches": 90.0, "lines": 99.0}}},
        "nemesis": bent_by(kind), "nemesis-each": bent_by(kind | {"beside": 0}), "nemesis-valkey": bent_by(kind),
        "gate": {"seconds": 2700, "suites": 20, "failed": 0, "processors": 2},
        "suites": {
            "queue": suite({"queue": (3, {CUT: "100000 hand-overs, 9 cuts",
                                          SERVED: "1: 90 ms, 10: 90 ms, 100: 100 ms"})}),
            "redis": suite({"lock": (2, {"a_hundred_waiting_instances_cost_few_calls_per_hand_over": ""}),
                            "stops": (1, {STOPPED: "900 stops"}),
                            "network": (1, {"a_lost_reply_is_undone_before_the_next_attempt": ""})}),
            "unit": suite({"unit": (1, {"every_line_of_the_scripts_runs_in_a_test": ""})}),
            "sim": suite({"sim": (1, {"all 40 rare events have happened": ""})}),
            "api": suite({"bad_input": (300, {})}),
            "faults": suite({"torture_local": (30, walks)}),
            "sanitizers": suite({}, said="5 passed, 0 failed")}}


def change(path, value):
    def changed(results):
        *way, last = path
        for step in way:
            results = results[step]
        results[last] = value
    return changed


# goal, and what makes it fall alone
FALLS = [
    ("G3", change(("nemesis", "kinds", "kind 3", "single", "violations"), 1)),
    ("G3", change(("nemesis", "kinds", "kind 5", "quorum", "traces"), 0)),
    ("G3", change(("nemesis", "kinds", "kind 5", "quorum", "stuck"), 1)),
    ("G3", change(("nemesis", "unended"), 1)), ("G3", change(("nemesis-valkey", "missing"), ["judge"])),
    ("G3", lambda results: results["nemesis"]["kinds"]["kind 3"].pop("single")),
    ("G8", change(("nemesis", "kinds", "client-stopped", "single", "hits"), 49)),
    ("G8", change(("nemesis-each", "kinds", "client-stopped", "single", "hits"), 49)),
    ("G3", change(("nemesis-each", "kinds", "kind 3", "single", "ways"), {"one": 5, "other": 0})),
    ("G3", change(("nemesis", "kinds", "client-stopped", "single", "beside"), 0)),
    ("G3", change(("nemesis-each", "kinds", "kind 3", "single", "violations"), 1)),
    ("G8", change(("suites", "redis", "programs", "stops", "tests"), {})),
    ("G3", change(("nemesis", "seeds"), [1, 2])),
    ("G3", change(("nemesis-valkey", "kinds", "kind 3", "quorum", "guard_violations"), 1)),
    ("G3", change(("nemesis-valkey", "seeds"), [1, 2])), ("G3", change(("nemesis-valkey",), {})),
    ("G11", change(("soak", "minutes"), 10)), ("G13", change(("suites", "api", "said"), "9 passed, 1 failed")),
    ("G3", change(("nemesis", "kinds", "kind 3", "quorum", "hits"), 4)), ("G18", change(("gate", "seconds"), 2701)),
    ("G4", change(("suites", "queue", "programs", "queue", "tests", CUT), "99999 hand-overs")),
    ("G9", change(("mutants", "mutants", 0), {"equivalent": "", "schedules": False, "life": ""})),
    ("G5", change(("suites", "queue", "programs", "queue", "tests", SERVED),
                  "1: 90 ms, 10: 90 ms, 100: 109 ms")),
    ("G9", change(("mutants-elsewhere", "faults", 3), {"by": ""})),
    ("G9", change(("mutants-elsewhere", "faults"), [])),
    ("G10", change(("suites", "sim", "programs"), {})), ("G11", change(("soak", "rss_mib", "per_hour"), 1.0)),
    ("G11", change(("soak", "keys_without_expiry"), ["k"])), ("G12", change(("fuzz", "findings"), 1)),
    ("G13", change(("suites", "api", "programs", "bad_input", "passed"), 299)),
    ("G14", change(("suites", "faults", "programs", "torture_local", "failed"), 1)),
    ("G14", change(("suites", "faults", "programs", "torture_local", "tests"),
                   {f"scenario {number}: each {call} may fail": "7" for call in goals.CALLS
                    for number in range(29 if call == "getrandom" else 30)})),
    ("G15", change(("suites", "sanitizers", "said"), "5 passed, 1 failed")),
    ("G16", change(("coverage", "parts", "engine", "branches"), 89.9)), ("G17", change(("security", "found"), 1)),
    ("G17", change(("security", "counts", OPEN), 0)), ("G17", lambda results: results["security"]["counts"].pop(OPEN)),
    ("G18", change(("gate", "failed"), 1)), ("G18", lambda results: results["gate"].pop("failed")),
    ("G12", lambda results: results["fuzz"]["executions"].pop("answers")),
    ("G12", change(("fuzz", "executions", "answers"), 999)),
    ("G15", change(("suites", "sanitizers", "said"), "5 passed, 0 failed, 1 skipped")),
    ("G15", lambda results: results["suites"]["sanitizers"].pop("said")),
    ("G6", change(("suites", "redis", "programs", "lock", "tests"), {})),
    ("G1", change(("sim", "counters", "simulated_ms"), 1)), ("G2", change(("sim", "counters", "bad_tokens"), 1)),
    ("G7", change(("sim", "counters", "orphans_undone"), 0))]


def not_met(results):
    return [name for name, _, _, is_met, *_ in goals.judged(goals.Results(results)) if not is_met]


def commands():
    """Of a suite that ran at night the command says so; of what left no size it stays as the goal has it."""
    results = goals.Results({"suites": {"sim": {"size": "nightly"}, "redis": {"size": "gate"}, "unit": {}}})
    cases = (("./dev test gate sim redis", "./dev test nightly sim; ./dev test gate redis"),
             ("./dev test sim; ./dev soak 60", "./dev test nightly sim; ./dev soak 60"),
             ("./dev test unit redis", "./dev test unit redis"), ("./dev test gate", "./dev test gate"))
    return [f"{asked}: {goals.again(results, asked)}" for asked, wanted in cases
            if goals.again(results, asked) != wanted]


def check_goals(tap):
    tap.rule("a_command_is_of_the_size_that_was_counted", commands())
    tap.rule("what_the_goals_ask_for_meets_them", not_met(good_results()))
    count = len(goals.GOALS)
    tap.rule("what_was_not_measured_is_not_met",
             [] if len(not_met({"suites": {}})) == count == 18 else [str(not_met({"suites": {}}))])
    for name, fall in FALLS:
        results = copy.deepcopy(good_results())
        fall(results)
        tap.rule(f"less_than_{name}_asks_for_is_seen", [] if not_met(results) == [name] else [str(not_met(results))])


def asked_for_as_well():
    """What the plan asks for beyond goals, with all that it is measured by."""
    results = good_results()
    programs = {suite: results["suites"].setdefault(suite, {"programs": {}})["programs"]
                for suite in ("redis", "queue", "quorum")}
    programs["redis"] |= suite({"redis bad input": (407, {"row": ""}), "redis come and go": (4, {
        "local_contexts_leave_nothing_in_the_process": "100000 in 1 s",
        "contexts_on_a_server_leave_nothing_in_the_process": "10000 in 1 s",
        "the_server_has_none_of_their_connections_left": "10000 connections"})})["programs"]
    programs["quorum"] |= suite({"quorum bad input": (407, {"row": ""}), "quorum lock": (1, {
        "a_hundred_waiting_instances_cost_each_node_few_calls_per_hand_over": ""})})["programs"]
    programs["queue"]["queue"]["tests"][CUT] += ", p99 3.5 ms"
    return results


def told_of(results):
    return {f"{name}, {asked}": there for name, asked, there in plan.rows(goals.Results(results))}


def check_plan(tap):
    whole = asked_for_as_well()
    told = told_of(whole)
    met = [asked for asked, there in told.items() if there.startswith("met")]
    tap.rule("what_the_plan_asks_for_is_told_as_met", [] if len(met) == 4 else [str(told)])
    kept = told_of(report.slim(copy.deepcopy(whole), whole))
    tap.rule("what_is_kept_of_a_run_tells_the_same_of_the_plan", [] if kept == told else [str(kept)])
    tap.rule("what_the_plan_asks_for_and_nobody_measured_is_told_so",
             [] if "met" not in [there[:3] for there in told_of({"suites": {}}).values()] else ["it is met"])
    whole["suites"]["redis"]["programs"]["redis come and go"]["failed"] = 1
    whole["suites"]["quorum"]["programs"]["quorum bad input"]["failed"] = 1
    worse = [asked for asked, there in told_of(whole).items() if there != told[asked]]
    tap.rule("what_failed_is_not_told_as_met", [] if [one[:3] for one in worse] == ["G11", "G13"] else [str(worse)])


def check_merging(tap):
    """What a smaller run does to what was kept."""
    life = {"failures": [], "counters": {}}
    harm = {"seed": {"one": {"violations": 0, "guard_violations": 1}}}
    before = {"sim": {**life, "seeds": 20_000}, "nemesis": {"worlds": 400, "kinds": {}},
              "suites": {"redis": {"size": "nightly", "said": "9 passed, 0 failed"}}}

    def said(failed):
        return {"sim": {**life, "seeds": 9, "counters": {"double_grants": failed}},
                "nemesis": {"worlds": 9, "kinds": harm if failed else {}},
                "suites": {"redis": {"size": "gate", "said": f"9 passed, {failed} failed"}}}
    with contextlib.redirect_stdout(io.StringIO()):
        well, badly = (report.merged(before, said(failed)) for failed in (0, 1))
    tap.rule("a_smaller_run_that_went_well_takes_no_place", [] if well == before else [str(well)])
    tap.rule("a_smaller_run_in_which_something_failed_is_shown", [] if badly == said(1) else [str(badly)])


def check_page(tap):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name in ("tools/tap.py", "tests/reliability/goals.py", "tests/reliability/plan.py",
                     "tests/reliability/report.py", PAGE):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(TOOLS.parent / name, root / name)
        left = root / "build/reliability"
        left.mkdir(parents=True)
        # In an order that is not the one in which they are kept.
        fuzz = {"executions": {"words": 1, "calls": 7}, "seconds": 1, "findings": 0, "command": "./dev test fuzz"}
        (left / "fuzz.json").write_text(json.dumps(fuzz), encoding="utf-8")
        gate = {"seconds": 2700, "suites": 9, "failed": 0}
        (left / "gate.json").write_text(json.dumps(gate), encoding="utf-8")

        def run(*words):
            return subprocess.run([sys.executable, root / "tests/reliability/report.py", root, *words],
                                  capture_output=True, text=True, env={"PATH": "/usr/bin"})

        def complaints():
            """Rules and goals by their names."""
            said = run("--check").stdout
            return [re.findall(one, said, re.MULTILINE) for one in (r"^not ok \d+ - (\w+)", r"^# (G\d+):")]
        run("--write")
        page = root / PAGE
        rules, unmet = complaints()
        tap.rule("a_page_that_a_run_has_written_passes", [] if rules == ["each_goal_is_met"] else [f"broken: {rules}"])
        wanted = [name for name, *_ in goals.GOALS if name != "G18"]
        tap.rule("goals_that_are_not_met_are_noticed", [] if unmet == wanted else [f"noticed: {unmet}"])
        page.write_text(page.read_text(encoding="utf-8").replace("| calls | 7 |", "| calls | 70 |"), encoding="utf-8")
        tap.rule("a_page_that_was_edited_by_hand_is_noticed",
                 [] if "the_page_is_what_the_results_say" in complaints()[0] else ["it passed"])
        run("--write")
        kept = root / "tests/reliability/results.json"
        for name, what in (("took_too_long", {"seconds": 2701}), ("failed", {"failed": 1})):
            (left / "gate.json").write_text(json.dumps(gate | what), encoding="utf-8")
            before = page.read_text(encoding="utf-8")
            run("--write")
            is_kept = page.read_text(encoding="utf-8") == before
            tap.rule(f"a_gate_that_{name}_takes_no_place",
                     [] if complaints() == [rules, unmet] and is_kept else [str(complaints())])
            results = json.loads(kept.read_text(encoding="utf-8"))
            results["gate"] |= what
            kept.write_text(json.dumps(results), encoding="utf-8")
            tap.rule(f"a_gate_that_{name}_and_was_written_there_is_noticed",
                     [] if "G18" in complaints()[1] else ["it passed"])
            results["gate"] |= gate
            kept.write_text(json.dumps(results), encoding="utf-8")


# what rises, and the rule that must fall alone
RISES = [
    ("memory", lambda one: one.update(rss_kib=one["rss_kib"] + one["s"] * 3)),
    ("descriptors", lambda one: one.update(descriptors=one["descriptors"] + int(one["s"] // 200))),
    ("threads", lambda one: one.update(threads=one["threads"] + int(one["s"] // 200))),
    ("keys", lambda one: one.update(keys=one["keys"] + int(one["s"]))),
    ("redis: waiters", lambda one: one.update(redis_p50_us=200 + 5 * one["s"])),
    ("quorum: the key", lambda one: one.update(quorum_hand_overs=min(one["quorum_hand_overs"], 1000)))]


def broken(samples, last=None, lasting=(), status=0, minutes=9.9):
    run = judging.summary(samples, last or told(), list(lasting), status, minutes)
    return [name for name, holds, _ in judging.rules(run) if not holds]


def check_soak(tap):
    tap.rule("level_samples_pass", broken(level_samples()))
    for what, rise in RISES:
        samples = level_samples()
        for one in samples:
            rise(one)
        fell = broken(samples)
        tap.rule(f"{what.replace(': ', '_').replace(' ', '_')}_that_rises_is_seen",
                 [] if len(fell) == 1 and fell[0].startswith(what) else [str(fell)])
    for name, value in (("doubles", 1), ("tokens_back", 1), ("unexpected", 1)):
        last = told()
        last["redis"][name] = value
        tap.rule(f"{name}_are_seen", [] if len(broken(level_samples(), last)) == 1 else ["it passed"])
    fell = broken(level_samples(), lasting=["k"])
    tap.rule("a_key_that_never_expires_is_seen", [] if len(fell) == 1 else [str(fell)])
    fell = broken(level_samples(), minutes=10)
    tap.rule("an_end_before_its_time_is_seen", [] if fell == ["it lasts as long as it was told"] else [str(fell)])
    tap.rule("a_client_that_dies_is_seen", [] if len(broken(level_samples(), status=-6)) == 1 else ["it passed"])


def main():
    tap = Tap()
    check_goals(tap)
    check_plan(tap)
    check_merging(tap)
    check_page(tap)
    check_soak(tap)
    tap.finish()


if __name__ == "__main__":
    main()
