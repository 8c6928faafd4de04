#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that run beside each other do not get into each other's way: a port is one test's alone until it gives it
back, also while its server is down."""
import pathlib
import subprocess
import sys

from bites import TOOLS, Tap

INTEGRATION = TOOLS.parent / "tests/integration"
sys.path.insert(0, str(INTEGRATION))
import harness  # noqa: E402

ROOM = 12
# Another test: it takes as many ports of the same few as it is told, says which, and keeps them until it is let go.
OTHER = """
import sys
import harness
harness.quiet_ports = lambda: range(*map(int, sys.argv[2:]))
print(*[harness.free_port() for _ in range(int(sys.argv[1]))], flush=True)
sys.stdin.read()
"""


def few_ports():
    """So many in a row that are free, and that no other test looks at."""
    highest = harness.quiet_ports().start
    for stop in range(highest, 1024 + ROOM, -ROOM):
        harness.quiet_ports = lambda few=range(stop - ROOM, stop): few
        try:
            for port in [harness.free_port() for _ in range(ROOM)]:
                harness.give_port_back(port)
            return harness.quiet_ports()
        except RuntimeError:
            continue
    raise AssertionError("no row of ports is free")


def other(count, few):
    return subprocess.Popen([sys.executable, "-c", OTHER, str(count), str(few.start), str(few.stop)], text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"PYTHONPATH": str(INTEGRATION)})


def main():
    tap = Tap()

    def same(name, what, wanted):
        tap.rule(name, [] if what == wanted else [f"{what}, not {wanted}"])
    few = few_ports()
    mine = {harness.free_port() for _ in range(ROOM // 2)}
    same("no_port_is_given_twice_while_nobody_listens_on_it", len(mine), ROOM // 2)
    with other(ROOM // 2, few) as process:
        theirs = set(map(int, process.stdout.readline().split()))
        same("two_tests_that_run_at_once_have_no_port_in_common", mine | theirs, set(few))
        try:
            more = harness.free_port()
        except RuntimeError as error:
            more = str(error)
        same("who_finds_no_port_free_is_told", more, "there is no free port")
        harness.give_port_back(min(mine))
        same("a_port_that_was_given_back_is_free", harness.free_port(), min(mine))
        process.kill()
    same("ports_of_a_test_that_ended_are_free", {harness.free_port() for _ in theirs}, theirs)
    tap.finish()


if __name__ == "__main__":
    main()
