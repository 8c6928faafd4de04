#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does the nemesis bite? Clients whose library has a fault on purpose (tests/sim/mutation.cpp) lock over a quorum, each
in worlds of one seed after the other until it is found, or the seeds are used up. Here are those that random faults of
real processes find soon; the others are found by the suite mutants, whose worlds are quicker.
Usage: mutants.py --build DIR [--mutant NAME] [--seeds N] [--jobs N]. Prints TAP."""
import argparse
import concurrent.futures
import multiprocessing
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import run_world  # noqa: E402
from harness import die_with_parent  # noqa: E402
from kinds import named  # noqa: E402
from tools_of import Tools  # noqa: E402

SECONDS = 10
FORGETS, LINES = [named("wiped")], [named(name) for name in ("delayed", "half-open", "replies-dropped", "stopped",
                                                             "client-stopped")]
# What each needs to show itself.
MUTANTS = {"one_vote_less": LINES, "release_without_id": LINES, "votes_always": FORGETS, "ignored_votes": FORGETS,
           "no_quarantine": FORGETS}


def hunt(mutant, seeds, tools):
    """(seed, what was found), or None."""
    for seed in range(1, seeds + 1):
        told = run_world.run("quorum", "whole", MUTANTS[mutant], seed, SECONDS, tools)
        found = told["violations"] + told["guard_violations"]
        if found:
            return seed, found[0]
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--mutant", action="append", choices=list(MUTANTS))
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=3)
    words = parser.parse_args()
    made = Tools(words.build, languages=False)
    client = str(made.build / "tests/nemesis/mutant-client")
    mutants = words.mutant or list(MUTANTS)
    failed = 0
    print(f"1..{len(mutants)}", flush=True)
    with concurrent.futures.ProcessPoolExecutor(words.jobs, multiprocessing.get_context("fork"),
                                                initializer=die_with_parent) as pool:
        hunts = {}
        for mutant in mutants:
            tools = {"programs": {"c": ["env", f"LIBLOCK_MUTANT={mutant}", client]}, "check": made.check,
                     "judge": made.judge, "clock": made.clock, "islands": False,
                     "kept": str(made.place / "mutants" / mutant)}
            hunts[pool.submit(hunt, mutant, words.seeds, tools)] = (mutant, time.monotonic())
        for number, done in enumerate(concurrent.futures.as_completed(hunts), 1):
            mutant, began = hunts[done]
            found = done.result()
            failed += not found
            how = f"seed {found[0]}, {time.monotonic() - began:.0f} s: {found[1]}" if found else "not found"
            print(f"{'ok' if found else 'not ok'} {number} - {mutant} is found # {how}", flush=True)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
