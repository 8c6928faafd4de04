#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the whole suite and the random programs with the runners of several languages, on every kind of context, and
compares what each says of each scenario. Prints TAP, with the counts per language behind each context.

    compare.py AGENT NAME=COMMAND… [--context local --context redis --context quorum] [--programs local=1000 …]

The first runner is what the others are compared with. AGENT is who founds the quorum. A command is split at spaces."""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
from tap import Tap  # noqa: E402  (the path had to be set first)

SUPPORT = HERE.parent / "support"
# Those that a runner must fail, each at its step and for its reason; the others are for check_runner.py.
SELF_TESTS = ["invariants", "malformed", "malformed_about", "malformed_schema", "wrong_ends", "wrong_expectations"]
RESULT = re.compile(r"^(ok|not ok) \d+ - (\S+)")
LIMIT_S = 600


def around(context, agent):
    """What runs a command beside the servers that the context takes, and the runner's arguments for it."""
    if context == "local":
        return [], []
    if context == "redis":
        return [sys.executable, str(SUPPORT / "with_redis.py")], ["--url", "{redis}"]
    return [sys.executable, str(SUPPORT / "with_quorum.py"), agent], ["--url", "{quorum}"]


def run(command, context, agent, files):
    """What the runner says: {scenario: passed}, and all that it printed."""
    before, more = around(context, agent)
    done = subprocess.run([*before, *command, *more, *files], capture_output=True, text=True, errors="replace",
                          timeout=LIMIT_S, check=False)
    told = {match.group(2): match.group(1) == "ok"
            for match in map(RESULT.match, done.stdout.splitlines()) if match}
    is_whole = (done.returncode == 0) == all(told.values()) and told
    return told, is_whole, done.stdout + done.stderr


def run_each(runners, context, agent, files, *more):
    """[(language, *what run says)] of the runners in their order. As many at once as there are processors: most of a
    scenario is waiting, and each runner has servers of its own."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        told = pool.map(lambda runner: run([*runner[1], *more], context, agent, files), runners)
        return [(language, *one) for (language, _), one in zip(runners, told)]


def unless(holds, why):
    """The problems of a rule: none, or the last lines of why."""
    return [] if holds else (why or "no output").splitlines()[-40:]


def cause_of(name, text):
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if line.startswith("not ok") and line.endswith(f"- {name}"):
            return "\n".join(lines[at:at + 6])
    return ""


def compare(tap, runners, context, agent, files):
    """One line for each scenario and language, and one for how many each has run and how many differ."""
    counts, reference, all_differing = {}, None, set()
    for language, told, is_whole, text in run_each(runners, context, agent, files):
        counts[language] = len(told)
        tap.rule(f"the runner for {language} comes to its end on {context}", unless(is_whole, text))
        for name, passed in told.items():
            tap.rule(f"{language} on {context}: {name}", unless(passed, cause_of(name, text) or "failed"))
        if reference is None:
            reference = told
        else:
            differing = sorted(name for name in {*told, *reference} if told.get(name) != reference.get(name))
            tap.rule(f"{language} says the same as {runners[0][0]} on {context}", differing)
            all_differing.update(differing)
    told = ", ".join(f"{language} {count}" for language, count in counts.items())
    tap.rule(f"scenarios run on {context}: {told}; {len(all_differing)} differing",
             unless(len(set(counts.values())) == 1 and not all_differing, str(counts)))


def test_runners(tap, runners):
    files = [str(HERE / "selftest" / f"{name}.json") for name in SELF_TESTS]
    for language, told, is_whole, text in run_each(runners, "local", None, files, "--selftest"):
        bad = [name for name, passed in told.items() if not passed]
        tap.rule(f"the runner for {language} fails what is wrong on purpose, {len(told)} times",
                 unless(is_whole and not bad, cause_of(bad[0], text) if bad else text))


def compare_programs(tap, runners, context, agent, programs):
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([sys.executable, HERE / "programs" / "generate.py", "--context", context, "--programs",
                        str(programs), directory], check=True)
        files = sorted(str(path) for path in pathlib.Path(directory).iterdir())
        for language, told, is_whole, text in run_each(runners, context, agent, files):
            bad = [name for name, passed in told.items() if not passed]
            tap.rule(f"{language} on {context}: {programs} random programs do what the model says",
                     unless(is_whole and not bad and len(told) == programs, cause_of(bad[0], text) if bad else text))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("agent")
    parser.add_argument("runners", nargs="+", metavar="NAME=COMMAND")
    parser.add_argument("--context", action="append", default=[])
    parser.add_argument("--programs", action="append", default=[], metavar="CONTEXT=COUNT")
    arguments = parser.parse_args()
    runners = [(name, shlex.split(command)) for name, command in (one.split("=", 1) for one in arguments.runners)]
    scenarios = sorted(str(path) for path in (HERE / "scenarios").glob("*.json"))
    tap = Tap()
    test_runners(tap, runners)
    for context in arguments.context or ["local", "redis", "quorum"]:
        compare(tap, runners, context, arguments.agent, scenarios)
    for context, programs in (one.split("=") for one in arguments.programs):
        compare_programs(tap, runners, context, arguments.agent, int(programs))
    tap.finish()


if __name__ == "__main__":
    main()
