#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Five servers and client processes (client.c), and everything that goes wrong with either and between them, at
random: one seed is one order of faults. Nobody may hold what another one holds, tokens must rise, no update of a
resource that looks at tokens may be lost, and soon after the last fault everybody gets his locks again.
Usage: quorum_chaos.py CLIENT AGENT CHECK_INTERVALS [--seed N] [--seconds N] [--only KIND]. Prints TAP."""
import argparse
import collections
import contextlib
import os
import random
import sys
import time

from bending import Bender
from clients import Clients, judge_spans, stop_a_holder
from harness import SLOW, Agent, eventually
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


def judge(clients, check):
    wrong, figures = judge_spans(check, clients.calls())
    tell(not wrong, "nobody held what another one held, and tokens rose", "; ".join(wrong[:5]) or figures)
    places = clients.places()
    written, lost = sum(place.written for place in places), clients.lost_updates()
    tell(lost == 0, "no update of the resource that looks at tokens was lost",
         f"{written} updates, {lost} lost, {sum(place.refused for place in places)} refused")
    return collections.Counter(call.status for call in clients.calls())


def chaos(words):
    dice, seconds = random.Random(words.seed), words.seconds
    kept = ["--appendonly", "yes", "--appendfsync", "everysec"]
    with contextlib.ExitStack() as stack:
        quorum = stack.enter_context(Quorum(5, *kept, proxied=True, max_ttl_ms=MAX_TTL_MS))
        foreign = stack.enter_context(Quorum(1, max_ttl_ms=MAX_TTL_MS))
        board = quorum.board
        clients = stack.enter_context(Clients([[words.client]], quorum.url, keys=KEYS, max_ttl_ms=MAX_TTL_MS))
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
        ends = judge(clients, words.check)
        print(f"# faults: {', '.join(f'{k} {v}' for k, v in sorted(bender.counts.items()))}; {board.late} late pieces")
        print(f"# statuses by number: {dict(ends)}")
        tell(ends.get(0, 0) > seconds, "most of the time there were locks to be had", f"{ends.get(0, 0)} were OK")


def contended(words, seconds=5):
    """Four clients want one key of a healthy quorum: how often it was held, and for how many ms nobody held it."""
    with contextlib.ExitStack() as stack:
        quorum = stack.enter_context(Quorum(5, max_ttl_ms=60000))
        clients = stack.enter_context(Clients([[words.client]], quorum.url, "careful", 2, 1, 60000))
        names = [f"client{i}" for i in range(4)]
        for name in names:
            clients.start(name)
        time.sleep(seconds)
        clients.end()
        spans = sorted((hold.begin, hold.until) for hold in clients.holds())
        gaps = [begin - end for (_, end), (begin, _) in zip(spans, spans[1:])]
        return len(spans), max(gaps, default=0) / 1e6, clients.wrong


def stopped(words, way, is_enough):
    with Quorum(5, max_ttl_ms=MAX_TTL_MS) as quorum, Clients([[words.client]], quorum.url, way, 60, 1, 400) as clients:
        return stop_a_holder(clients, is_enough)


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
    written, lost, _, wrong = stopped(words, "careless", lambda clients: clients.lost_updates() > 0)
    tell(lost > 0 and not wrong, "a holder that was stopped and shows no token loses updates",
         "; ".join(wrong) or f"{lost} of {written}")
    written, lost, refused, wrong = stopped(words, "guarded", lambda clients: clients.places()[0].refused > 2)
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
