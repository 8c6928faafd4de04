# SPDX-License-Identifier: MIT
"""The rows that compare liblock over servers with other lock clients, and the contests that yield their metrics. A
metric is peers.CLIENT/OVER_CONTEST:FIGURE. The best of the peers is looked for anew in each round, among those that are
there; liblock itself and the floor (hiredis sync) are no peers."""

from dataclasses import dataclass, replace
from typing import Callable

from . import peer_moments as moments
from .peer_clients import CLIENTS
from .failed import Failed
from .java_peers import PARTS as JAVA
from .peer_contest import Contest
from .rows import Part, Row, at_least, at_most, plain, ratio

OURS = "liblock"
AT_NIGHT = "nightly."  # before the name of a client that is asked for at night alone
# The first ones go to connections, and to compilers that work while the program runs.
SAMPLES, PASSED_OVER = 3000, 1000
NODES = 5
CROWD_MS, TWO_MS = 1500, 10_000
POLLING = tuple(client.name for client in CLIENTS if client.slowest_poll_ms and "redis" in client.over)
TOLD = ("Redisson RLock", "Redisson FairLock", "Redisson FencedLock")
FLOOR = "hiredis sync"
CROWD = (OURS, "redsync", "redis-py", "Redisson RLock")


@dataclass(frozen=True)
class Measured:
    """A contest, who takes part, and what figures come of it. The least p50_us among `best_of` is
    that of the client "best"."""
    name: str
    clients: tuple
    contest_of: Callable  # of a client
    figures_of: Callable  # of the sections of all processes: {figure: value}
    over: str = "redis"
    best_of: tuple = ()
    together: bool = False  # all clients at once: they mostly sleep
    placement: str = "free"

    @property
    def key(self):
        return f"{self.over}_{self.name}"

    def metric(self, client, figure):
        return metric(client, self.name, figure, self.over)


def pairs(parties):
    us = moments.pair_us(parties[0], PASSED_OVER)
    return {"p50_us": moments.quantile(us, 0.5), "p99_us": moments.quantile(us, 0.99)}


def hand_overs(parties):
    us, disturbed = moments.hand_overs_us(parties)
    if len(us) < 5 or disturbed > len(us):
        raise Failed(f"of the hand-overs {len(us)} were undisturbed and {disturbed} were not")
    return {"p50_us": moments.quantile(us, 0.5), "p99_us": moments.quantile(us, 0.99)}


def crowd(parties):
    waits = moments.waits_ms(parties, CROWD_MS)
    return {"per_second": moments.per_second(parties, CROWD_MS), "p99_wait_ms": moments.quantile(waits, 0.99),
            "longest_wait_ms": max(waits)}


def two(parties):
    longest = moments.longest_wait(parties, TWO_MS)
    if longest is None:
        raise Failed("nobody waited")
    us, _ = moments.hand_overs_us(parties)
    if not us:
        raise Failed("one of the processes had everything")
    return {"share": moments.share_of_least(parties, TWO_MS), "per_second": moments.per_second(parties, TWO_MS),
            "hand_over_us": moments.quantile(us, 0.5), **longest}


def waiting_for(slowest_poll_ms):
    """Two processes by turns: who gives the lock back stays away for longer than the other one ever sleeps between two
    looks, and is waiting again before that one gives it back."""
    pause_ms = slowest_poll_ms + 8
    return {"processes": 2, "pause_us": pause_ms * 1000, "hold_us": (pause_ms + 4) * 1000}


def by_default(client):
    return Contest("turns", sections=6, **waiting_for(client.slowest_poll_ms))


def each_ms(client):
    return Contest("turns", sections=60, delay_ms=1, **waiting_for(1))


def a_crowd(pause_us, delay_ms=-1):
    return lambda client: Contest("crowd", threads=64, run_ms=CROWD_MS, pause_us=pause_us, delay_ms=delay_ms)


def clients(over, only_peers=False):
    return tuple(client.name for client in CLIENTS if over in client.over and (client.peer or not only_peers))


def alone(_client):
    return Contest("pairs", sections=SAMPLES)


MEASURED = (
    Measured("pairs", clients("redis"), alone, pairs, best_of=clients("redis", only_peers=True)),
    Measured("pairs_apart", clients("redis"), alone, pairs, best_of=clients("redis", only_peers=True),
             placement="other"),
    Measured("pairs", clients("quorum"), alone, pairs, over="quorum",
             best_of=clients("quorum", only_peers=True)),
    Measured("turns", (OURS, *POLLING, *TOLD), by_default, hand_overs, best_of=POLLING, together=True),
    Measured("turns_1ms", (OURS, *POLLING, *TOLD), each_ms, hand_overs, best_of=POLLING),
    Measured("crowd", CROWD, a_crowd(0), crowd),
    Measured("crowd_1ms", CROWD, a_crowd(1000), crowd),
    Measured("crowd_busy", ("redsync", "redis-py"), a_crowd(1000, delay_ms=1), crowd),
    Measured("two", (OURS,), lambda _: Contest("two", processes=2, threads=32, run_ms=TWO_MS), two),
)


def metric(client, contest, figure, over="redis"):
    return f"peers.{client}/{over}_{contest}:{figure}"


def against_best(label, contest, goal=None, over="redis"):
    return ratio(f"liblock / best of {label}", metric(OURS, contest, "p50_us", over),
                 metric("best", contest, "p50_us", over), goal)


def each(names, contest, figure, unit):
    return tuple(plain(name, metric(name, contest, figure), unit) for name in names)


def per_second_over(peer, contest, goal):
    return ratio(f"pairs, liblock / {peer}", metric(OURS, contest, "per_second"), metric(peer, contest, "per_second"),
                 goal)


def of_two(label, figure, unit, goal=None):
    return plain(label, metric(OURS, "two", figure), unit, goal)


ROWS = (
    Row("P1", "acquire and release without contention, both awaited, p50", (
        against_best("the peers", "pairs", at_most(0.9, 0.6)),
        against_best("the peers, quorum of 5", "pairs", at_most(0.8, 0.5), "quorum"),
        against_best("the peers, client and server on a CPU each", "pairs_apart"),
        *each(clients("redis"), "pairs", "p50_us", "us"),
        *(plain(f"{name}, a CPU each", metric(name, "pairs_apart", "p50_us"), "us") for name in clients("redis")),
        *(plain(f"{name}, quorum of 5", metric(name, "pairs", "p50_us", "quorum"), "us") for name in clients("quorum")),
    )),
    Row("P2", "from a release to the next holder in another process that waits, p50", (
        against_best("those that poll, as they come", "turns", at_most(0.05, 0.02)),
        against_best("those that poll, made to poll each ms", "turns_1ms"),
        ratio("liblock / Redisson RLock (told by pub/sub)", metric(OURS, "turns_1ms", "p50_us"),
              metric("Redisson RLock", "turns_1ms", "p50_us"), at_most(0.8, 0.5)),
        *each((OURS, *POLLING), "turns", "p50_us", "us"),
        *(plain(f"{name}, polling each ms", metric(name, "turns_1ms", "p50_us"), "us") for name in POLLING),
        *each(TOLD, "turns_1ms", "p50_us", "us"),
    )),
    Row("F1", "64 threads of one process on one key", (
        *(per_second_over(peer, "crowd_1ms", at_least(100, 1000)) for peer in CROWD[1:]),
        *(ratio(f"the same, {peer} polling each ms", metric(OURS, "crowd_1ms", "per_second"),
                metric(peer, "crowd_busy", "per_second")) for peer in ("redsync", "redis-py")),
        *(ratio(f"the same, nobody pausing: / {peer}", metric(OURS, "crowd", "per_second"),
                metric(peer, "crowd", "per_second")) for peer in CROWD[1:]),
        *(plain(f"{name}: pairs, 1 ms between two of a thread", metric(name, "crowd_1ms", "per_second"), "/s")
          for name in CROWD),
        *(plain(f"{name}: pairs, no pause", metric(name, "crowd", "per_second"), "/s") for name in CROWD),
        *(plain(f"{name}: longest wait, no pause", metric(name, "crowd", "longest_wait_ms"), "ms") for name in CROWD),
    )),
    Row("F2", "two processes of 32 threads on one key, 10 s", (
        of_two("share of the process that had less", "share", "%", at_least(40, 45)),
        Part("longest wait / (those ahead x time of each + a round trip)", "x",
             tuple(metric(OURS, "two", figure) for figure in ("wait_us", "ahead", "each_us")) +
             (metric(OURS, "pairs", "p50_us"),),
             lambda wait, ahead, each_us, pair_us: wait / (ahead * each_us + pair_us / 2), at_most(1, 1)),
        of_two("longest wait", "wait_us", "us"),
        of_two("those ahead of it at its beginning", "ahead", ""),
        of_two("grants to others meanwhile", "meanwhile", ""),
        of_two("pairs of both", "per_second", "/s"),
        of_two("hand-over between the processes, p50", "hand_over_us", "us"),
    )),
)



def by_day(rows, late):
    """These rows without what only the late clients would show beside a judged figure. A judged one stays, and asks for
    what nobody measures by day, so that it says what it lacks."""
    prefixes = tuple(f"peers.{client.name}/" for client in late)

    def kept(part):
        lacking = [client.name for client in late
                   if any(need.startswith(f"peers.{client.name}/") for need in part.needs)]
        return replace(part, needs=(AT_NIGHT + lacking[0],)) if lacking else part

    return tuple(Row(row.id, row.title, tuple(kept(part) for part in row.parts if part.goal or
                                              not any(need.startswith(prefixes) for need in part.needs)))
                 for row in rows)


LATE = tuple(client for client in CLIENTS if client.nightly)
PEERS = by_day(ROWS, LATE)
NIGHTLY = (*ROWS, Row("L2J", "the pair of L2 against keyed locks of Java", JAVA))
