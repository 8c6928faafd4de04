#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Five servers and client processes (quorum_client.c), and everything that goes wrong with either and between them, at
random: one seed is one order of faults. Nobody may hold what another one holds, tokens must rise, no update of a
resource that looks at tokens may be lost, and soon after the last fault everybody gets his locks again.
Usage: quorum_chaos.py CLIENT AGENT CHECK_INTERVALS [--seed N] [--seconds N] [--only KIND]. Prints TAP."""
import argparse
import contextlib
import ctypes
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from bending import Bender
from harness import SLOW, Agent, die_with_parent, eventually
from quorums import Quorum

MAX_TTL_MS = 800
KEYS, CLIENTS = 3, 4
# Nodes that were restarted are silent for max_ttl_ms; connections are tried anew every 2 s at the latest.
RESUMES_WITHIN = 8 * SLOW
number = failed = 0


def tell(holds, name, figures=""):
    global number, failed
    number += 1
    failed += not holds
    print(f"{'ok' if holds else 'not ok'} {number} - {name}{' # ' if figures else ''}{figures}", flush=True)


class Place(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("token", "value", "written", "refused")]


class Resource(ctypes.Structure):
    _fields_ = [("is_made", ctypes.c_uint32), ("uncertain", ctypes.c_uint32), ("mutex", ctypes.c_uint64 * 5),
                ("places", Place * 8), ("ends", ctypes.c_uint64 * 128)]


class Clients:
    """Processes that lock, in a directory with the resource they work at. Each has a number, which it keeps when it is
    killed and another one takes its place."""

    def __init__(self, program, url, how="careful", hold_ms=20, keys=KEYS, max_ttl_ms=MAX_TTL_MS):
        self.words = [program, url]
        self.ways = [str(keys), str(max_ttl_ms), str(hold_ms), how]
        self.folder = tempfile.TemporaryDirectory(prefix="liblock-")
        self.directory = pathlib.Path(self.folder.name)
        (self.directory / "resource").write_bytes(bytes(ctypes.sizeof(Resource)))
        self.running = {}
        self.wrong = []
        self.started = 0

    def start(self, client):
        self.started += 1
        words = [*self.words, client, str(self.directory), *self.ways, str(self.started)]
        self.running[client] = subprocess.Popen(words, preexec_fn=die_with_parent)

    def kill(self, client):
        self.running[client].kill()
        self.running[client].wait()

    def signal(self, client, what):
        self.running[client].send_signal(what)

    def resource(self):
        return Resource.from_buffer_copy((self.directory / "resource").read_bytes())

    def spans(self, client):
        log = self.directory / f"{client}.log"
        lines = log.read_text().splitlines() if log.exists() else []
        return [line for line in lines if len(line.split()) == 5]  # not what a killed one has half written

    def held_since(self, client, began_ns):
        return any(int(line.split()[3]) >= began_ns for line in self.spans(client)[-3:])

    def end(self):
        (self.directory / "stop").touch()
        for client, process in self.running.items():
            try:
                status = process.wait(20 * SLOW)
            except subprocess.TimeoutExpired:
                process.kill()
                status = "none within 20 s"
            if status != 0:
                self.wrong.append(f"{client} ended with status {status}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.running.values():
            process.kill()
            process.wait()
        self.folder.cleanup()


def judge(clients, names, check):
    spans = [line for name in names for line in clients.spans(name)]
    judged = subprocess.run([check], input="\n".join(spans), capture_output=True, text=True)
    lines = judged.stdout.splitlines()
    tell(judged.returncode == 0, "nobody held what another one held, and tokens rose",
         lines[-1] if judged.returncode == 0 else "; ".join(lines[:5]))
    resource = clients.resource()
    written = sum(place.written for place in resource.places)
    lost = written - sum(place.value for place in resource.places)
    refused = sum(place.refused for place in resource.places)
    tell(abs(lost) <= resource.uncertain, "no update of the resource that looks at tokens was lost",
         f"{written} updates, {lost} lost, {refused} refused")
    return {number: count for number, count in enumerate(resource.ends) if count}


def chaos(words):
    dice, seconds = random.Random(words.seed), words.seconds
    kept = ["--appendonly", "yes", "--appendfsync", "everysec"]
    with contextlib.ExitStack() as stack:
        quorum = stack.enter_context(Quorum(5, *kept, proxied=True, max_ttl_ms=MAX_TTL_MS))
        foreign = stack.enter_context(Quorum(1, max_ttl_ms=MAX_TTL_MS))
        board = quorum.board
        clients = stack.enter_context(Clients(words.client, quorum.url))
        names = [f"client{i}" for i in range(CLIENTS)]
        for name in names:
            clients.start(name)
        bender = Bender(dice, quorum.servers, foreign[0], board, clients, names, MAX_TTL_MS / 1000, words.only)
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            bender.step()
            time.sleep(0.05 + dice.random() * 0.35)
        bender.heal()
        healed = time.monotonic_ns()
        back = {}
        eventually(lambda: all(back.setdefault(name, time.monotonic_ns()) if clients.held_since(name, healed) else False
                               for name in names), RESUMES_WITHIN / SLOW)
        took = [f"{(back[name] - healed) / 1e9:.2f}" if name in back else "never" for name in names]
        tell(len(back) == CLIENTS, f"everybody gets locks within {RESUMES_WITHIN:.0f} s after the last fault",
             f"{', '.join(took)} s")
        clients.end()
        tell(not clients.wrong, "every client ends as it should", "; ".join(clients.wrong))
        ends = judge(clients, names, words.check)
        print(f"# faults: {', '.join(f'{k} {v}' for k, v in sorted(bender.counts.items()))}; {board.late} late pieces")
        print(f"# statuses by number: {ends}")
        tell(ends.get(0, 0) > 2 * seconds, "most of the time there were locks to be had", f"{ends.get(0, 0)} were OK")


def contended(words, seconds=5):
    """Four clients want one key of a healthy quorum: how often it was held, and for how many ms nobody held it."""
    with Quorum(5, max_ttl_ms=60000) as quorum, Clients(words.client, quorum.url, "careful", 2, 1, 60000) as clients:
        names = [f"client{i}" for i in range(4)]
        for name in names:
            clients.start(name)
        time.sleep(seconds)
        clients.end()
        spans = sorted(tuple(map(int, line.split()[3:])) for name in names for line in clients.spans(name))
        gaps = [begin - end for (_, end), (begin, _) in zip(spans, spans[1:])]
        return len(spans), max(gaps, default=0) / 1e6, clients.wrong


def stopped(words, how, is_enough):
    """Three clients, one of which is stopped for longer than its lease until that has shown, on a healthy quorum."""
    with Quorum(5, max_ttl_ms=MAX_TTL_MS) as quorum, Clients(words.client, quorum.url, how, 60, 1, 400) as clients:
        names = ["client0", "client1", "client2"]
        for name in names:
            clients.start(name)
        for _ in range(60):
            time.sleep(0.2)
            clients.signal("client0", signal.SIGSTOP)
            time.sleep(0.6)
            clients.signal("client0", signal.SIGCONT)
            if is_enough(clients.resource().places[0]):
                break
        clients.end()
        place = clients.resource().places[0]
        return place.written, place.written - place.value, place.refused, clients.wrong


def main():
    parser = argparse.ArgumentParser()
    for name in ("client", "agent", "check"):
        parser.add_argument(name)
    is_quick = os.environ.get("LIBLOCK_TEST_SIZE", "quick") == "quick"
    parser.add_argument("--seed", type=int, default=int(os.environ.get("LIBLOCK_SEED", time.time())))
    parser.add_argument("--seconds", type=int, default=8 if is_quick else 60)
    parser.add_argument("--only", help="a kind of fault by the name of its function in Bender: no others")
    words = parser.parse_args()
    Agent.program = words.agent
    print(f"# --seed {words.seed}", flush=True)
    written, lost, _, wrong = stopped(words, "careless", lambda place: place.written > place.value)
    tell(lost > 0 and not wrong, "a holder that was stopped and shows no token loses updates",
         "; ".join(wrong) or f"{lost} of {written}")
    written, lost, refused, wrong = stopped(words, "guarded", lambda place: place.refused > 2)
    tell(lost == 0 and refused > 0 and not wrong, "a holder that was stopped and shows its token loses none",
         "; ".join(wrong) or f"{written} updates, {refused} refused")
    count, gap, wrong = contended(words)
    tell(count > 100 and gap < 1000 * SLOW and not wrong, "a key that many want is not left idle",
         "; ".join(wrong) or f"held {count} times, nobody's for {gap:.0f} ms at the most")
    chaos(words)
    print(f"1..{number}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
