#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what the main paths cost in things that do not vary with what baseline.json says that they cost.

Exact: allocations, system calls, commands that reach a server, writes and round trips, to within one of them in a
hundred operations, since what the library does by the clock may fall between any two. Instructions may differ by a few
per cent, which is what another patch release of a compiler or of a library below makes of the same source; by half
where another compiler made the program. System calls where a server is asked may differ by a third: a loop looks once
more where an answer is not there yet. Times are never asserted.
What came out wrong is counted again, and the least counts: noise only ever adds. What became better is told, so that
the baseline follows.

Usage: run.py COSTS AGENT [--only TEXT] [--baseline FILE] [--update], COSTS being the program of this folder and AGENT
that of tests/integration. Prints TAP. --update writes the baseline, and the table of it in bench/README.md.
"""
import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tests" / "integration"), str(ROOT / "tools")]
from counting import Failed, per_operation  # noqa: E402
from harness import Agent, Server  # noqa: E402
from paths import PATHS  # noqa: E402
from quorums import Quorum  # noqa: E402
from table import KINDS, is_current, shown, write_table  # noqa: E402
from tap import Tap  # noqa: E402

BASELINE = HERE / "baseline.json"
TOLERANCE = {"local": 0.03, "redis": 0.08, "quorum": 0.08}
TOLERANCE_OF_OTHERS = 0.5  # for instructions that another compiler made
TOLERANCE_OF_PACED = 0.3
TOLERANCE_OF_TURNS = 0.35  # a loop that looks once more before an answer is there
STRAY = 0.01
STRAY_OF_LAG = 0.25  # blocks, where a node lags as never before: more is under way at once, and kept for the next time
GROWTH_MOST = 1.4  # log(3,000) / log(300)
ATTEMPTS = 3


@contextlib.contextmanager
def servers_for(where):
    """(url, servers) of a path's own."""
    if where == "redis":
        with Server() as server:
            yield server.url, [server]
    elif where == "quorum":
        with Quorum(3, max_ttl_ms=60000) as quorum:
            yield quorum.url, quorum.servers
    else:
        yield None, []


def tolerance(path, kind, is_same_maker):
    allowed = TOLERANCE_OF_PACED if path.is_paced else TOLERANCE[path.where]
    if kind == "instructions":
        return allowed if is_same_maker else TOLERANCE_OF_OTHERS
    if kind == "system_calls" and path.where != "local":
        return TOLERANCE_OF_TURNS
    return allowed if path.is_paced else 0.0


def stray(path, kind):
    return STRAY_OF_LAG if path.where == "quorum" and kind == "allocations" else STRAY


def is_worse(found, known, path, kind, is_same_maker):
    return found > known * (1 + tolerance(path, kind, is_same_maker)) + stray(path, kind)


def is_better(found, known, path, kind, is_same_maker):
    return found < known * (1 - tolerance(path, kind, is_same_maker)) - stray(path, kind)


def measure(program, path, known, made_by):
    """{kind: figure}, the least of as many attempts as it takes to be no worse than what is known."""
    least, failed = {}, None
    for _ in range(ATTEMPTS):
        try:
            with servers_for(path.where) as (url, servers):
                found, maker = per_operation(program, path.walk, path.rounds, url, servers)
        except Failed as failure:  # such as a lease that ended on a machine that was busy with other things
            failed = failure
            continue
        least = {kind: min(found[kind], least.get(kind, found[kind])) for kind in path.kinds}
        if not any(is_worse(least[kind], known.get(kind, 0), path, kind, maker == made_by) for kind in path.kinds):
            break
    if not least:
        raise failed
    return least, maker


def judge(tap, path, found, known, is_same_maker):
    for kind in path.kinds:
        name = f"{path.name}: {KINDS[kind]} {shown(found[kind])}"
        if kind not in known:
            tap.rule(name, ["not in the baseline: run with --update and commit what it writes"])
            continue
        allowed = tolerance(path, kind, is_same_maker)
        within = f", within {allowed:.0%}" if allowed else ""
        worse = is_worse(found[kind], known[kind], path, kind, is_same_maker)
        tap.rule(f"{name} (baseline {shown(known[kind])}{within})",
                 ["more than before: tests/costs/README.md says how to find what was added; where it is meant to cost "
                  "that, run with --update and say why in the commit"] if worse else [])
        if is_better(found[kind], known[kind], path, kind, is_same_maker):
            print(f"# better than the baseline ({shown(known[kind])}): run with --update, so that it stays so")


def judge_growth(tap, path, found, tenth):
    """Ten times as many make one cost no more than n log n does."""
    growth = found["instructions"] / tenth["instructions"]
    tap.rule(f"{path.name}: instructions grow {growth:.2f}-fold with ten times as many (within {GROWTH_MOST})",
             ["each costs more because there are many: something looks through all of them"]
             if growth > GROWTH_MOST else [])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("agent")
    parser.add_argument("--only", default="", help="paths whose name has this text")
    parser.add_argument("--baseline", type=pathlib.Path, default=BASELINE)
    parser.add_argument("--update", action="store_true")
    return parser.parse_args()


def main():
    given = arguments()
    Agent.program = given.agent
    baseline = json.loads(given.baseline.read_text()) if given.baseline.exists() else {"made_by": "", "paths": {}}
    chosen = [path for path in PATHS if given.only in path.name]
    known = {path: {} if given.update else baseline["paths"].get(path.name, {}) for path in chosen}
    tap, figures = Tap(), {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {path: pool.submit(measure, given.program, path, known[path], baseline["made_by"]) for path in chosen}
        for path, future in running.items():
            try:
                found, maker = future.result()
            except Failed as failure:
                tap.rule(f"{path.name}: is counted", [str(failure)])
                continue
            if given.update:
                baseline["made_by"] = maker
                baseline["paths"][path.name] = known[path] = found
            figures[path.name] = found
            judge(tap, path, found, known[path], maker == baseline["made_by"])
            if path.tenth in figures:
                judge_growth(tap, path, found, figures[path.tenth])
    if given.update:
        names = [path.name for path in PATHS]
        baseline["paths"] = {name: baseline["paths"][name] for name in names if name in baseline["paths"]}
        given.baseline.write_text(json.dumps(baseline, indent=1) + "\n")
        write_table(ROOT, baseline)
    tap.rule("the_table_in_bench_README_md_is_what_the_baseline_says",
             [] if is_current(ROOT, baseline) else ["run with --update"])
    tap.finish()


if __name__ == "__main__":
    main()
