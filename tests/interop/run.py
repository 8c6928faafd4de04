#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""liblock and foreign Redis lock clients exclude each other on one key: each foreign client against one and against
four liblock processes, on a counter file that only the lock protects. Nobody may be inside with somebody else, no
update may be lost, liblock's tokens must rise, and both sides must get on. redsync also over five masters, against a
quorum of them; there, what it leaves locked is liblock's when its expiry is over, and not before.
Usage: run.py CONTENDER CHECK_INTERVALS SECTIONS NAME=COMMAND… Prints TAP."""
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from harness import Server, die_with_parent  # noqa: E402

SECONDS = 150
ROUNDS_MAX = 5


def contend(ports, parties, sweep, threads=1):
    """parties: name -> command, and how many sections it does, in so many threads of each process of liblock. What went
    wrong, and what the logs say."""
    with tempfile.TemporaryDirectory(prefix="liblock-") as folder:
        directory = pathlib.Path(folder)
        (directory / "counter").write_text("0\n")
        running = {}
        for name, (command, count) in parties.items():
            words = [*command, "127.0.0.1", ports, "interop-key", str(count), folder, name]
            running[name] = subprocess.Popen(words, preexec_fn=die_with_parent,
                                             env=dict(os.environ, INTEROP_THREADS=str(threads)))
        time.sleep(0.7)  # everybody is there
        (directory / "start").touch()
        until = time.monotonic() + SECONDS
        wrong = []
        for name, process in running.items():
            try:
                if process.wait(max(0.1, until - time.monotonic())) != 0:
                    wrong.append(f"{name} ended with status {process.returncode}")
            except subprocess.TimeoutExpired:
                wrong.append(f"{name} did not end within {SECONDS} s")
        for process in running.values():
            process.kill()
            process.wait()
        total = sum(count for _, count in parties.values())
        counter = int((directory / "counter").read_text() or 0)
        if counter != total:
            wrong.append(f"the counter is {counter}, not {total}")
        written = {name: directory / f"{name}.log" for name in parties}
        lines = {name: [line.split()[1:] for line in log.read_text().splitlines()]
                 for name, log in written.items() if log.exists()}
    spans = [f"key {name} {(words[2:] or ['-'])[0]} {words[0]} {words[1]}"
             for name, log in lines.items() for words in log]
    judged = subprocess.run([sweep], input="\n".join(spans), capture_output=True, text=True)
    if judged.returncode != 0:
        wrong.append(judged.stdout.splitlines()[0] + " …")
    return wrong, {name: [tuple(map(int, words[:2])) for words in log] for name, log in lines.items()}


def progress(logs, foreign):
    """How many sections each side had while both were at it, and for how long that was."""
    sides = {True: [], False: []}
    for name, log in logs.items():
        sides[name == foreign] += log
    if not sides[True] or not sides[False]:
        return 0, 0
    begin = max(min(b for b, _ in s) for s in sides.values())
    end = min(max(e for _, e in s) for s in sides.values())
    return tuple(sum(1 for b, e in sides[side] if begin <= b and e <= end) for side in (True, False))


def abandoned(ports, liblock, redsync, expiry_ms):
    """After how many ms liblock gets in where redsync went without unlocking."""
    with tempfile.TemporaryDirectory(prefix="liblock-") as folder:
        directory = pathlib.Path(folder)
        (directory / "counter").write_text("0\n")
        (directory / "start").touch()
        began = {}
        for name, command in (("redsync", redsync), ("liblock", liblock)):
            words = [*command, "127.0.0.1", ports, "interop-key", "1", folder, name]
            subprocess.run(words, env=dict(os.environ, INTEROP_ABANDON_MS=str(expiry_ms)), timeout=60, check=True)
            began[name] = int((directory / f"{name}.log").read_text().split()[1])
        return (began["liblock"] - began["redsync"]) / 1e6


def main():
    liblock, sweep, sections = [sys.argv[1]], sys.argv[2], int(sys.argv[3])
    foreign = dict(word.split("=", 1) for word in sys.argv[4:])
    here = pathlib.Path(__file__).resolve().parent
    number = failed = 0

    def tell(holds, name, figures):
        nonlocal number, failed
        number += 1
        failed += not holds
        print(f"{'ok' if holds else 'not ok'} {number} - {name} # {figures}", flush=True)

    def pair(ports, name, command, where):
        for processes, threads in ((1, 1), (4, 1), (1, 8)):
            # From hand to hand a thousand are over before a stranger has looked twice.
            each = sections // processes * (20 if threads > 1 else 1)
            parties = {f"liblock{i}": (liblock, each) for i in range(processes)}
            parties[name] = (command.split(), sections)
            began = time.monotonic()
            # Who comes by chance may come late: a fast stranger who never waits can be through before.
            for _ in range(ROUNDS_MAX):
                wrong, logs = contend(ports, parties, sweep, threads)
                theirs, ours = progress(logs, name)
                if wrong or (theirs > 0 and ours > 0):
                    break
            figures = f"{time.monotonic() - began:.1f} s, while both were at it {theirs} theirs, {ours} ours"
            who = f"{name} and {processes} of liblock" if threads == 1 else f"{name} and {threads} threads of liblock"
            tell(not wrong, f"{who}{where} exclude each other", "; ".join(wrong) or figures)
            tell(theirs > 0 and ours > 0, f"{who}{where} both get on", figures)

    with Server() as server:
        bare = [sys.executable, str(here / "contender.py")]
        wrong, _ = contend(str(server.port), {"nobody1": (bare, 300), "nobody2": (bare, 300)}, sweep)
        tell(bool(wrong), "contenders that do not lock are found out", "; ".join(wrong)[:100])
        for name, command in foreign.items():
            pair(str(server.port), name, command, "")
    if "redsync" in foreign:
        with contextlib.ExitStack() as stack:
            servers = [stack.enter_context(Server()) for _ in range(5)]
            ports = ",".join(str(one.port) for one in servers)
            subprocess.run([*liblock, "127.0.0.1", ports, "k", "0", ".", "founder"], timeout=60, check=True)
            pair(ports, "redsync", foreign["redsync"], " over five masters")
            took = abandoned(ports, liblock, foreign["redsync"].split(), 1500)
            tell(1450 < took < 3500, "what redsync left locked is liblock's after its expiry", f"{took:.0f} ms of 1500")
    print(f"1..{number}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
