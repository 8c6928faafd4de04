#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A majority of a quorum loses its data while somebody holds a lock: nobody else gets it, however slowly time goes."""
import shutil
import time

from harness import SLOW, Agent, eventually, main, status, test
from quorums import Quorum, locked, opened

TTL_MS = 5000  # servers have started again long before


def granted_while_held(lose):
    """Whether a majority that lost its data grants a key that somebody holds who cannot renew it. And what it says."""
    kept = ["--appendonly", "yes", "--appendfsync", "always"]
    with Quorum(5, *kept, proxied=True, max_ttl_ms=TTL_MS) as quorum, Agent() as holder, Agent() as other:
        opened(holder, quorum, client_name="holder")
        opened(other, quorum, client_name="other")
        for server in quorum.servers:
            shutil.copytree(server.directory / "appendonlydir", server.directory / "copy")
        lock = locked(holder, "kept", ttl_ms=TTL_MS)
        assert eventually(lambda: quorum.held_on("kept") == 5)
        for number in range(5):
            quorum.board.cut("holder", number)
        for server in quorum.servers[:3]:
            lose(server)
        seen, until = set(), time.monotonic() + 50 * SLOW
        while time.monotonic() < until:
            answer = status(other("try", "c", "kept"), "OK", "BUSY", "QUARANTINED", "NO_QUORUM", "IN_DOUBT")
            seen.add(answer.status)
            if answer.status == "OK":
                return holder("is_held", "c", lock.lock).status == "OK", seen
            time.sleep(0.01)
        raise AssertionError(f"nobody got it again, but {seen}")


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


if __name__ == "__main__":
    main()
