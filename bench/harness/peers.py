# SPDX-License-Identifier: MIT
"""The steps of a run that compare lock clients: (`peers`, [CONTEST, CLIENT, …]). All clients of a contest stand before
the same fresh servers, one after the other, in each round another one first. One that cannot be had, or fails, yields
no figures and is named with the reason; only liblock may not fail."""

import contextlib
import functools
import subprocess
import sys
from collections import Counter

from .failed import Failed
from .peer_clients import CLIENTS, Missing
from .peer_contest import Contest, Entry, Server, run
from .peer_rows import LATE, MEASURED, NODES, OURS
from .placement import place_servers

PROGRAM = "peers"
BY_NAME = {client.name: client for client in CLIENTS}
BY_CONTEST = {measured.key: measured for measured in MEASURED}
# What failed in this run: client -> why, the first time.
FAILURES = {}
# How often each contest was held in this run, where a machine was busy more than once in a round.
HELD = Counter()
ROUNDS = 5  # of a run for the tables: in them the first one comes from all parts of the list


def plan(metrics):
    """The steps that yield these metrics. By day the best peer is looked for among those of the day."""
    steps = []
    not_now = {client.name for client in LATE} - {client_of(need) for need in metrics}
    for measured in MEASURED:
        asked = {name for name in (*measured.clients, "best")
                 if any(need.startswith(measured.metric(name, "")) for need in metrics)}
        names = [name for name in measured.clients
                 if name in asked or ("best" in asked and name in measured.best_of and name not in not_now)]
        if names:
            steps.append((PROGRAM, [measured.key, *names]))
    return steps


@functools.cache
def command_of(build, make):
    """The words by which a client is called, or why it cannot be."""
    try:
        return tuple(make(build))
    except Missing as reason:
        return reason


def why_not(build, name):
    """Why this client cannot be had, or an empty text. Installs and builds it when it can."""
    client = BY_NAME[name]
    known = command_of.cache_info().misses
    found = command_of(build, client.command)
    if command_of.cache_info().misses > known:
        print(f"made ready: {name}", file=sys.stderr, flush=True)
    return f"{name} ({found})" if isinstance(found, Missing) else ""


def available(build, step):
    """The step without the clients that cannot be had, and the names of those."""
    program, (contest, *names) = step
    absent = [name for name in names if why_not(build, name)]
    if OURS in absent:
        raise Failed(f"{why_not(build, OURS)}: build with -Dbench=enabled")
    there = [name for name in names if name not in absent]
    return (program, [contest, *there] if there else []), absent


def found_quorum(command, servers):
    words = Contest("none").words([server.port for server in servers], "-")
    subprocess.run([*command, *words, "founder"], check=True, timeout=60)


def entry(build, measured, name):
    client = BY_NAME[name]
    contest = measured.contest_of(client)
    named = contest.named(f"{contest.key}-{CLIENTS.index(client)}")
    return Entry(name, command_of(build, client.command), named, client.variant)


def figures(measured, name, parties):
    """{metric: value} of one client; none when it failed."""
    try:
        if isinstance(parties, Failed):
            raise parties
        found = measured.figures_of(parties)
    except Failed as failure:
        if name == OURS:
            raise
        FAILURES.setdefault(name, str(failure))
        return {}
    return {measured.metric(name, figure): value for figure, value in found.items()}


def in_turn(names, nth):
    """Who comes after whom the nth time: nobody is always the one whom fresh servers serve, or the last."""
    first = nth * max(1, round(len(names) / ROUNDS)) % len(names)
    return [*names[first:], *names[:first]]


def measure(build, contest, names):
    """{metric: value} of one contest."""
    measured = BY_CONTEST[contest]
    entries = [entry(build, measured, name) for name in in_turn(names, HELD[contest])]
    HELD[contest] += 1
    found = {}
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(Server()) for _ in range(NODES if measured.over == "quorum" else 1)]
        if measured.over == "quorum":
            found_quorum(command_of(build, BY_NAME[OURS].command), servers)
        place_servers(measured.placement, servers)
        for group in [entries] if measured.together else [[one] for one in entries]:
            for name, parties in run(group, [server.port for server in servers], measured.placement).items():
                found.update(figures(measured, name, parties))
    of_peers = [found[measured.metric(name, "p50_us")] for name in measured.best_of
                if measured.metric(name, "p50_us") in found]
    if of_peers:
        found[measured.metric("best", "p50_us")] = min(of_peers)
    return found


def failed(metrics, rounds):
    """{metric: why it is missing}, of those that not every round has because a client failed."""
    return {need: FAILURES.get(client_of(need), "every peer") for need in metrics
            if need.startswith(f"{PROGRAM}.") and any(need not in taken for taken in rounds)}


def client_of(metric):
    return metric.removeprefix(f"{PROGRAM}.").split("/")[0]
