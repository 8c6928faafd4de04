# SPDX-License-Identifier: MIT
"""One world from beginning to end: what happened there, as data that can be written as JSON."""
import random
import shutil
import time

from acting import Nemesis, beside, felt, hits
from harness import SLOW, eventually
from judging import judge
from worlds import World

# Nodes that were restarted are silent for max_ttl_ms; connections are tried anew every 2 s at the latest.
RESUMES_WITHIN = 8


def resume(clients):
    """Who got no lock within the time after the last fault."""
    healed = time.monotonic_ns()
    waiting = set(clients.names)

    def all_back():
        waiting.difference_update({name for name in waiting if clients.held_since(name, healed)})
        return not waiting
    eventually(all_back, RESUMES_WITHIN)
    return [f"{name} got no lock within {RESUMES_WITHIN * SLOW:.0f} s after the last fault" for name in sorted(waiting)]


def run(context, group, kinds, seed, seconds, tools, way="careful"):
    """tools: programs, check, judge (or None), clock, islands: whether they can be made, kept: the directory for the
    histories of what is wrong."""
    dice = random.Random(seed)
    nodes = dice.choice([3, 5, 5]) if group in ("whole", "apart") else 5
    with World(context, group, tools["programs"], seed, tools["clock"], nodes, tools["islands"]) as world:
        clients = world.crew(way)
        for name in clients.names:
            clients.start(name)
        eventually(lambda: any(clients.held_since(name, 0) for name in clients.names))
        nemesis = Nemesis(dice, world, clients, clients.names, kinds)
        had_turns = nemesis.run(seconds)
        stuck = resume(clients)
        clients.end()
        told = judge(clients, group, tools["check"], tools["judge"])
        told["stuck"] = stuck + clients.wrong + ([] if had_turns else ["not every kind of fault had its turn"])
        acts, calls = nemesis.acts, clients.calls()
        counted = {"runs": acts, "hits": hits(acts, calls), "felt": felt(acts, calls), "beside": beside(acts)}
        told["kinds"] = {kind.name: {what: sum(act.kind == kind.name for act in some) for what, some in counted.items()}
                         for kind in kinds}
        told["ways"] = {kind.name: dict.fromkeys(kind.ways(context), 0) for kind in kinds}
        for act in acts:
            told["ways"][act.kind][act.way] += 1
        told.update(context=context, group=group, seed=seed, nodes=world.nodes, languages=sorted(tools["programs"]),
                    faults=dict(nemesis.counts), traces=traces(nemesis, world, clients),
                    holds_by={name: len(clients.holds(name)) for name in clients.names})
        if told["violations"] or told["guard_violations"] or told["stuck"]:
            told["history"] = keep(clients, world, nemesis, f"{tools['kept']}/{context}-{group}-{seed}")
        return told


def traces(nemesis, world, clients):
    """By kind: what of it shows apart from what clients felt, where anything does."""
    return nemesis.traces | {"delayed": world.board.late + world.board.slowed, "reset-in-reply": world.board.resets,
                             "split-and-joined": world.board.reshaped, "partitioned": world.board.held_up,
                             "client-forked": clients.told("forked")}


def keep(clients, world, nemesis, folder):
    """What happened, for whoever looks for the reason: calls, acts, and what the servers said."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(clients.directory, folder)
    with open(f"{folder}/acts", "w") as file:
        file.writelines(f"{act.begin} {act.end} {act.kind}: {act.what} {act.who}\n" for act in nemesis.acts)
    with open(f"{folder}/killed", "w") as file:
        file.writelines(f"{call}\n" for call in clients.killed)
    for number, server in enumerate(world.servers):
        shutil.copy(server.directory / "log", f"{folder}/server{number}")
    return folder
