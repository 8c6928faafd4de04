#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Worlds of real servers and client processes, in which a nemesis begins faults of 24 kinds at random moments
(kinds.py), and what must hold there all the same. Prints TAP, a line for each kind in each context and for each
workload, and a table; what is wrong comes with the command that repeats it and the place of its history.

Usage: nemesis.py --build DIR [--seed N | --seeds A-B] [--kind NAME,…]… [--context single|quorum] [--seconds S] [--each]
                  [--group NAME] [--workloads] [--jobs N] [--json FILE]
Without --kind all of them, together as far as they can be; --group: the kinds in one world of that group, whatever
theirs is, as worlds in which all act together are repeated; --each: every kind in a world of its own, and one in which
nothing happens, to know how much is felt then; --workloads: these alone, and no world."""
import argparse
import concurrent.futures
import multiprocessing
import os
import pathlib
import shutil
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import islands  # noqa: E402
import run_world  # noqa: E402
import workloads  # noqa: E402
from harness import die_with_parent  # noqa: E402
from kinds import COMPANY, CONTEXTS, KINDS, NOTHING, groups, in_company, named  # noqa: E402
from report import Report  # noqa: E402
from tools_of import Tools  # noqa: E402

SECONDS_FOR_KIND = {"single": 1.4, "quorum": 1}  # of one server no more than one fault can act at a time
SECONDS_LEAST = 4


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, help="the build directory of meson")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("LIBLOCK_SEED", time.time())))
    parser.add_argument("--seeds", help="A-B: a run of everything for each")
    parser.add_argument("--kind", action="append", help="by name or number; several with commas")
    parser.add_argument("--context", choices=CONTEXTS)
    parser.add_argument("--group", choices=COMPANY, help="the world in which these kinds act (kinds.py)")
    parser.add_argument("--seconds", type=float, help="of faults in each world")
    parser.add_argument("--each", action="store_true", help="every kind in a world of its own")
    parser.add_argument("--workloads", action="store_true", help="these alone")
    parser.add_argument("--jobs", type=int, default=2, help="worlds at a time")
    parser.add_argument("--c-alone", action="store_true",
                        help="no client in another language: where a sanitizer's runtime must be loaded first")
    parser.add_argument("--json", help="where the figures go")
    words = parser.parse_args()
    first, _, last = (words.seeds or str(words.seed)).partition("-")
    if not (first.isdecimal() and (last or first).isdecimal() and int(first) <= int(last or first)):
        parser.error(f"--seeds wants A-B, such as 1-5, and not {words.seeds!r}")
    words.seeds = range(int(first), int(last or first) + 1)
    for needed in ("tests/integration/integration-client", "capi/liblock.so"):
        if not pathlib.Path(words.build, needed).exists():
            parser.error(f"{words.build} has no {needed}; ./dev test quick quorum makes build/release")
    server = os.environ.get("LIBLOCK_REDIS_SERVER", "redis-server")
    if not shutil.which(server):
        parser.error(f"there is no program {server}")
    words.kinds = [named(name) for given in words.kind or [] for name in given.split(",")] or \
        KINDS + [NOTHING] * words.each
    if words.workloads:
        words.kinds = []
    words.contexts = [words.context] if words.context else list(CONTEXTS)
    if not words.workloads and not words.group and not any(groups(one, words.kinds) for one in words.contexts):
        parser.error(f"no such kind applies to {words.context}")
    return words


def worlds(words):
    """(context, group, kinds, seed, seconds) of each, the longest first."""
    planned = []
    for seed in words.seeds:
        for context in words.contexts:
            of = {words.group: words.kinds} if words.group else groups(context, words.kinds)
            for group, kinds in of.items():
                together = kinds if words.kind else in_company(group, kinds)
                for part in [[kind] for kind in kinds] if words.each else [together]:
                    seconds = words.seconds or max(SECONDS_LEAST, SECONDS_FOR_KIND[context] * len(part))
                    planned.append((context, group, part, seed, seconds))
    return sorted(planned, key=lambda one: -one[4])


def attempt(function, *words):
    """In a process of its own, which tells what it could not do."""
    try:
        return function(*words)
    except Exception:
        return {"error": traceback.format_exc()}


def main():
    words = arguments()
    tools = Tools(words.build, languages=not words.c_alone)
    has_islands = islands.can_be_made()
    report = Report(words, tools.missing, has_islands)
    if not has_islands:
        print("# no network namespaces can be made here: lines are cut by the switchboard instead", flush=True)
    given = {"programs": tools.programs, "check": tools.check, "judge": tools.judge, "clock": tools.clock,
             "islands": has_islands, "kept": str(tools.place)}
    with concurrent.futures.ProcessPoolExecutor(words.jobs, multiprocessing.get_context("fork"),
                                                initializer=die_with_parent) as pool:
        running = {}
        for context, group, kinds, seed, seconds in worlds(words):
            running[pool.submit(attempt, run_world.run, context, group, kinds, seed, seconds, given)] = (
                report.world, (context, group, kinds, seed, seconds))
        if not words.kind:
            for context in words.contexts:
                for way in ("careless", "guarded"):
                    running[pool.submit(attempt, workloads.run, context, way, tools.programs["c"])] = (
                        report.workload, (context, way))
        for done in concurrent.futures.as_completed(running):
            take, what = running[done]
            take(done.result(), *what)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
