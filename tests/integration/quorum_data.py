#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is left of a lock over five servers where these are restarted, emptied, set back, or copied from each other.
Mostly what is waited for is that leases are over, so that others may run meanwhile."""
import shutil
import time

from harness import Agent, eventually, main, status, test
from quorums import LONG, Quorum, answered, locked, opened, released


def granted_while_held(lose):
    """Whether a majority that lost its data grants a key that somebody holds who cannot renew it. And what it says."""
    kept = ["--appendonly", "yes", "--appendfsync", "always"]
    with Quorum(5, *kept, proxied=True) as quorum, Agent() as holder, Agent() as other:
        opened(holder, quorum, client_name="holder")
        opened(other, quorum, client_name="other")
        for server in quorum.servers:
            shutil.copytree(server.directory / "appendonlydir", server.directory / "copy")
        lock = locked(holder, "kept", **LONG)
        assert eventually(lambda: quorum.held_on("kept") == 5)
        for number in range(5):
            quorum.board.cut("holder", number)
        for server in quorum.servers[:3]:
            lose(server)
        seen = set()
        while True:
            answer = status(other("try", "c", "kept"), "OK", "BUSY", "QUARANTINED", "NO_QUORUM", "IN_DOUBT")
            seen.add(answer.status)
            if answer.status == "OK":
                return holder("is_held", "c", lock.lock).status == "OK", seen
            time.sleep(0.01)


@test
def a_majority_that_lost_its_data_grants_nothing_that_somebody_may_hold():
    def wipe(server):
        server.kill()
        shutil.rmtree(server.directory / "appendonlydir")
        server.start()

    def roll_back(server):  # as after a power loss
        server.kill()
        shutil.rmtree(server.directory / "appendonlydir")
        shutil.move(server.directory / "copy", server.directory / "appendonlydir")
        server.start()

    def empty(server):
        server.call("FLUSHALL")

    for lose in (wipe, roll_back, empty):
        was_held, seen = granted_while_held(lose)
        assert not was_held, lose.__name__
        assert "QUARANTINED" in seen, (lose.__name__, seen)


@test
def a_lock_survives_rolling_restarts_of_all_nodes():
    with Quorum() as quorum, Agent() as agent, Agent() as other:
        opened(agent, quorum)
        opened(other, quorum)
        lock = locked(agent, "rolling")
        for server in quorum.servers:
            server.restart()
            assert eventually(lambda: server.call("EXISTS", "liblock:rolling") == 1), "it was not written anew"
            assert eventually(lambda: quorum.voting() == 5), "it does not vote again"
        status(agent("is_held", "c", lock.lock), "OK")
        status(other("try", "c", "rolling"), "BUSY")
        released(agent, lock)


@test
def a_node_that_was_emptied_rejoins_by_itself():
    with Quorum(3) as quorum, Agent() as agent:
        opened(agent, quorum)
        token = released(agent, locked(agent)) and locked(agent)
        released(agent, token)
        quorum[1].call("FLUSHALL")
        lock = locked(agent)
        assert eventually(lambda: quorum.voting() == 2), "it votes at once"
        assert eventually(lambda: quorum.voting() == 3), "it does not vote again"
        assert eventually(lambda: quorum.held_on("k") == 3), "it was not written anew"
        released(agent, lock)
        assert locked(agent).token > lock.token > token.token
        told = agent("told", "c")
        assert told.quarantined >= 1 and told.rejoined >= 1, told


@test
def a_node_that_copied_another_ones_data_gives_no_second_vote():
    with Quorum(3) as quorum, Agent() as agent:
        opened(agent, quorum)
        quorum[2].call("REPLICAOF", "127.0.0.1", quorum[0].port)
        assert eventually(lambda: b"master_link_status:up" in quorum[2].call("INFO", "replication"), 20)
        quorum[2].call("REPLICAOF", "NO", "ONE")
        released(agent, locked(agent, wait_ms=10000))
        answered(quorum.url, "INVALID_ARGUMENT", "a copy of another node's")
        quorum[2].call("FLUSHALL")
        assert eventually(lambda: quorum.voting() == 3), "it is no node of its own again"


if __name__ == "__main__":
    main()
