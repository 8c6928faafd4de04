#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""From a release to the next holder in another process, over one Redis server: liblock next to redis-py and redsync.

Method: for each library two processes of it contend for one key (the contenders of tests/interop), each holding it for
5 ms and pausing for 2 ms after a release, so that the other one has been waiting for 3 ms by then. Both log when they
had the lock and when they began to release it, by the monotonic clock. A hand-over is the time from that to the other
one's having it. All libraries in one run, one after the other, ROUNDS times; medians over the rounds. redis-py and
redsync poll every millisecond, which no program could afford by the hundred; liblock polls once a second and is told.

Usage: handover.py [--rounds N] (after ./dev test quick interop, which builds and installs the contenders)
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "integration"))
from harness import Server, die_with_parent  # noqa: E402

SECTIONS, HOLD_MS, PAUSE_MS = 150, 5, 2


def contenders():
    build, interop = ROOT / "build" / "release", ROOT / "build" / "interop"
    known = {"liblock": [str(build / "tests/interop/interop-contender")],
             "redis-py": [str(interop / "venv/bin/python"), str(ROOT / "tests/interop/contender.py")],
             "redsync": [str(interop / "redsync")]}
    for name, command in known.items():
        if pathlib.Path(command[0]).exists():
            yield name, command
        else:
            print(f"# {name}: not there; run ./dev test quick interop first", file=sys.stderr)


def hand_overs_us(server, command):
    environment = dict(os.environ, INTEROP_HOLD_MS=str(HOLD_MS), INTEROP_PAUSE_MS=str(PAUSE_MS))
    with tempfile.TemporaryDirectory(prefix="liblock-") as folder:
        directory = pathlib.Path(folder)
        (directory / "counter").write_text("0\n")
        names = ("one", "two")
        running = [subprocess.Popen([*command, "127.0.0.1", str(server.port), "bench", str(SECTIONS), folder, name],
                                    env=environment, preexec_fn=die_with_parent) for name in names]
        time.sleep(0.7)
        (directory / "start").touch()
        if any(process.wait(120) != 0 for process in running):
            sys.exit("a contender failed")
        sections = sorted((*map(int, line.split()[1:3]), name) for name in names
                          for line in (directory / f"{name}.log").read_text().splitlines())
    return [(after[0] - before[1]) / 1e3 for before, after in zip(sections, sections[1:]) if before[2] != after[2]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    figures = {}
    with Server() as server:
        for _ in range(rounds):
            for name, command in contenders():
                us = sorted(hand_overs_us(server, command))
                if us:
                    figures.setdefault(name, []).append((us[len(us) // 2], us[len(us) * 99 // 100], len(us)))
    ours = statistics.median(p50 for p50, _, _ in figures["liblock"])
    print("| library | p50 us | p99 us | p50 / liblock's | hand-overs per round |")
    print("|---|---|---|---|---|")
    for name, found in figures.items():
        p50, p99, count = (statistics.median(one[i] for one in found) for i in range(3))
        print(f"| {name} | {p50:.0f} | {p99:.0f} | {p50 / ours:.1f} | {count:.0f} |")


if __name__ == "__main__":
    main()
