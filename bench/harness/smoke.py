#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every benchmark with servers runs to its end, in a tenth of a second each, and yields the figures that the rows need.
What they say is not looked at: times are never asserted.

Usage: smoke.py BUILD [GROUP…]"""
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent.parent / "tools")]

from harness import groups, servers  # noqa: E402
from harness.failed import Failed  # noqa: E402
from tap import Tap  # noqa: E402

ATTEMPTS = 5


def measured(build, group, name):
    """In so short a window a busy machine may not get round to anything."""
    for _ in range(ATTEMPTS - 1):
        try:
            return servers.measure(build, group, name, quick=True)
        except Failed as failure:
            if "nothing was measured" not in str(failure):
                raise
    return servers.measure(build, group, name, quick=True)


def problems_of(build, group, name, needed):
    try:
        found = measured(build, group, name)
    except (Failed, OSError, ValueError) as failure:
        return [str(failure)]
    return [f"{need}: {found.get(need)}" for need in needed
            if not (math.isfinite(found.get(need, math.nan)) and found[need] > 0)]


def misspelt(build):
    """An option that a mode does not have is refused, and not passed over."""
    try:
        with servers.Stage(build, "free", quick=True) as stage:
            return [f"understood: {stage.timed('bench-load', 'closed', '--dept', 4)}"]
    except Failed as failure:
        return [] if "closed has no --dept" in str(failure) else [str(failure)]


def failing_floor(build):
    """A floor whose commands are refused, since the key is held, yields no figure."""
    try:
        with servers.Stage(build, "free", quick=True) as stage:
            files = servers.plain_pairs(stage, 4)
            stage.server.call("SET", "liblock:2", "somebody else's")
            return [f"measured: {stage.timed('bench-floors', 'replay', *files, '--depth', 4)}"]
    except Failed as failure:
        return [] if "another answer than that of success" in str(failure) else [str(failure)]


def main():
    tap, build = Tap(), sys.argv[1]
    chosen = sys.argv[2:] or servers.GROUPS
    absent = servers.missing(build)
    if absent:
        print(f"ok 1 - what_it_needs_is_there # SKIP {absent}\n1..1")
        return
    tap.rule("an_option_that_there_is_not_is_refused", misspelt(build))
    tap.rule("a_floor_of_failing_commands_is_none", failing_floor(build))
    needed = {need for row in groups.GROUPS["all"] for need in row.needs}
    for group in chosen:
        for name in servers.GROUPS[group]:
            mine = sorted(need for need in needed if need.split(":")[0] == f"{group}.{name}")
            tap.rule(f"{group}_{name}_is_measured", problems_of(build, group, name, mine))
    tap.finish()


if __name__ == "__main__":
    main()
