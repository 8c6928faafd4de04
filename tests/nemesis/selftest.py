#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The nemesis is tested itself: clients that are wrong on purpose (the ways of tests/integration/client.c) and a server
that forgets are found, by the sweep, by the guard and by Porcupine, each for itself; and where nothing is wrong nothing
is found. Usage: selftest.py --build DIR. Prints TAP."""
import argparse
import concurrent.futures
import multiprocessing
import os
import pathlib
import random
import subprocess
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import islands  # noqa: E402
from acting import Act, Nemesis, beside, felt, hits  # noqa: E402
from clients import Call  # noqa: E402
from harness import die_with_parent, eventually  # noqa: E402
from judging import HEARS_WITHIN_NS, judge  # noqa: E402
from kinds import CONTEXTS, KINDS, groups, in_company, named  # noqa: E402
from tools_of import Tools  # noqa: E402
from worlds import World  # noqa: E402

SEED, SECONDS, JOBS = 1, 3, 3
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def found(tools, way, kind=None, group="whole"):
    """What the judges say of one server whose clients go that way, while faults of the kind act; as if exclusion were
    promised."""
    with World("single", group, {"c": tools.programs["c"]}, SEED, tools.clock) as world:
        clients = world.crew(way)
        for name in clients.names:
            clients.start(name)
        nemesis = Nemesis(random.Random(SEED), world, clients, clients.names, [named(kind)] if kind else [])
        nemesis.run(SECONDS)
        clients.end()
        assert not clients.wrong, clients.wrong
        told = judge(clients, "whole", tools.check, tools.judge)
        assert told["holds"] > 20, told
        return told


@test
def a_lock_that_always_grants_is_found_by_the_sweep_the_guard_and_porcupine(tools):
    told = found(tools, "granting")
    assert told["doubles"] > 0, told
    assert told["refused"] > 0, told
    assert told["porcupine"] > 0, told


@test
def a_holder_that_does_not_believe_its_loss_is_found_by_the_sweep_the_guard_and_porcupine(tools):
    told = found(tools, "believing", "client-stopped")
    assert told["doubles"] > 0, told
    assert told["refused"] > 0, told
    assert told["porcupine"] > 0, told


@test
def a_token_that_does_not_rise_is_found_by_the_sweep_and_porcupine(tools):
    told = found(tools, "repeating")
    assert told["guard_violations"], told
    assert told["porcupine"] > 0, told


@test
def a_server_that_forgets_its_locks_under_their_holders_is_found_by_the_sweep_and_porcupine(tools):
    told = found(tools, "careful", "emptied", "lost")
    assert told["doubles"] > 0, told
    assert told["porcupine"] > 0, told
    # Hands within a process go on with the tokens of a lease that the server has forgotten, until that is noticed: the
    # resource refuses them.
    assert not any("updates lost" in one for one in told["guard_violations"]), told


@test
def who_is_cut_off_gets_no_lock_until_the_line_is_mended(tools):
    with World("single", "apart", {"c": tools.programs["c"]}, SEED, tools.clock,
               can_make_islands=islands.can_be_made()) as world:
        clients = world.crew()
        one, other = clients.names[0], clients.names[2]
        for name in (one, other):
            clients.start(name)
        assert eventually(lambda: clients.held_since(one, 0))
        world.board.cut(one, 0)
        over = time.monotonic_ns() + int(world.lease * 1e9)  # of what it holds or was granted
        assert not eventually(lambda: clients.held_since(one, over), 2), "it goes on"
        # Behind those who stand in the queue with the one who is cut off, each of whom is given the key for a lease.
        assert eventually(lambda: clients.held_since(other, over), 10), "it was not cut off"
        world.board.mend(one, 0)
        healed = time.monotonic_ns()
        assert eventually(lambda: clients.held_since(one, healed), 5), "it does not go on"
        clients.end()
        assert not clients.wrong, clients.wrong


@test
def where_the_machine_allows_namespaces_each_process_has_its_own(tools):
    allows = islands.machine_allows()
    assert islands.can_be_made() == allows
    if not allows:
        return
    with World("single", "apart", {"c": tools.programs["c"]}, SEED, tools.clock, can_make_islands=True) as world:
        clients = world.crew()
        for name in clients.names:
            clients.start(name)
        assert eventually(lambda: all(clients.moments(name) for name in clients.names)), "not all came up"
        processes = [os.getpid(), world.servers[0].process.pid, *[one.pid for one in clients.running.values()]]
        seen = [os.readlink(f"/proc/{one}/ns/net") for one in processes]
        clients.end()
    assert len(set(seen)) == len(seen) == 2 + len(clients.names), seen


@test
def where_it_allows_them_and_they_fail_nobody_goes_without_in_silence(_):
    if not islands.machine_allows():
        return
    connect = islands.Islands.connect
    try:
        islands.Islands.connect = lambda *_: islands.ip("link", "add")  # which is no command
        assert not islands.can_be_made()
    except subprocess.CalledProcessError:
        return
    finally:
        islands.Islands.connect = connect
    raise AssertionError("it was taken for a machine that allows none")


@test
def nothing_is_found_where_nothing_is_wrong(tools):
    told = found(tools, "careful")
    assert not told["violations"] and not told["guard_violations"], told
    assert told["hand_overs"] > 20, told


@test
def an_act_counts_as_felt_where_something_went_otherwise_and_as_a_hit_where_something_was_in_flight(_):
    ms = 1_000_000

    def hold(who, begin, took=1, status=0):
        return Call("k", who, begin * ms, (begin + 10 + took) * ms, status, 1, (begin + 1) * ms, (begin + 10) * ms)
    calls = [hold("c0.1", 100 * turn) for turn in range(10)]
    calls += [hold("c1.1", 2000, took=9), hold("c2.1", 3000, status=21)]

    def act(at, *who):
        return Act("kind", "what", who, at * ms, at * ms)
    quiet, missed, slow = act(492), act(1500), act(2012)
    lost, other = act(3001, "client", "c2"), act(3001, "client", "c1")
    acts = [quiet, missed, slow, lost, other]
    assert hits(acts, calls) == [quiet, slow, lost], hits(acts, calls)
    assert felt(acts, calls) == [slow, lost], felt(acts, calls)


@test
def an_act_is_beside_others_where_another_kind_acts_at_the_same_time(_):
    long, within, same_kind, behind = Act("a", "", (), 0, 9), Act("b", "", (), 3, 3), Act("b", "", (), 2, 4), \
        Act("c", "", (), 10, 12)
    assert beside([long, within, behind]) == [long, within]
    assert beside([within, same_kind, behind]) == []


@test
def kinds_keep_each_other_company_where_all_act_together(_):
    for context in CONTEXTS:
        for group, kinds in groups(context, KINDS).items():
            together = in_company(group, kinds)
            assert len(together) >= 5 and len(set(together)) == len(together), (context, group)
            assert {named("client-stopped"), named("client-killed")} <= set(together), (context, group)


class Told:
    """What clients wrote down, without clients."""

    def __init__(self, *calls):
        self._calls = [Call("k", who, asked, until, 0, token, begin, until)
                       for who, token, asked, begin, until in calls]

    def calls(self):
        return self._calls

    def lost_updates(self):
        return 0

    def told(self, _):
        return 0

    def places(self):
        return []


@test
def a_forgotten_lock_that_goes_from_hand_to_hand_is_in_order_and_nobody_else_s_token_may_be_smaller(tools):
    def said(*calls):
        told = judge(Told(*calls), "lost", tools.check, tools.judge)
        return len(told["guard_violations"]), told["porcupine"]

    first, another = ("c1", 5, 10, 20, 60), ("c2", 9, 30, 40, 80)  # the server has forgotten c1's lock
    assert said(first, another, ("c1.1", 6, 50, 70, 90)) == (0, 0)
    for wrong in (("c3", 6, 50, 70, 90), ("c1.1", 7, 50, 70, 90), ("c1.1", 6, 65, 70, 90)):
        assert said(first, another, wrong) == (1, 1), wrong
    lease = int(HEARS_WITHIN_NS)  # behind which its process must have heard
    assert said(first, another, ("c1.1", 6, 50, 70, lease), ("c1.2", 7, 75, lease, lease + 20)) == (0, 0)
    assert said(first, another, ("c1.1", 6, 50, 70, lease), ("c1.2", 7, 75, lease + 50, lease + 60)) == (1, 1)


@test
def a_token_that_was_given_twice_is_found_also_where_nobody_held_by_it(tools):
    told = judge(Told(("c1", 5, 10, 20, 60), ("c2", 5, 70, 0, 0), ("c2", 6, 80, 90, 95)), "whole", tools.check, None)
    assert len(told["guard_violations"]) == 1 and "token 5" in told["guard_violations"][0], told


def attempt(number, tools):
    """What went wrong."""
    try:
        TESTS[number](tools)
        return ""
    except Exception:
        return "\n# " + traceback.format_exc().strip().replace("\n", "\n# ")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    tools = Tools(parser.parse_args().build, languages=False)
    if not tools.judge:
        print(f"1..0 # SKIP there is no Porcupine: {tools.missing['judge']}")
        return 0
    failed = 0
    with concurrent.futures.ProcessPoolExecutor(JOBS, multiprocessing.get_context("fork"),
                                                initializer=die_with_parent) as pool:
        for number, told in enumerate(pool.map(attempt, range(len(TESTS)), [tools] * len(TESTS)), 1):
            failed += bool(told)
            print(f"{'not ok' if told else 'ok'} {number} - {TESTS[number - 1].__name__}{told}", flush=True)
    print(f"1..{len(TESTS)}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
