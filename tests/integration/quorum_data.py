#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is left of a lock over a quorum whose servers are restarted, emptied, or copied from each other. Mostly what is
waited for is that leases are over, so that others may run meanwhile. A majority that loses its data is in
quorum_loss.py."""
from harness import Agent, eventually, main, status, test
from quorums import LONG, Quorum, answered, locked, opened, released


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
