# SPDX-License-Identifier: MIT
"""A counter under a lock, with a holder that is stopped past its lease. Without the guard it must lose updates: no lock
with a lease can prevent it, and a test that does not see it sees nothing. With the guard it must not."""
import contextlib

from clients import Clients, stop_a_holder
from harness import Server
from quorums import Quorum

MAX_TTL_MS, HOLD_MS = 400, 60
LOSSES, REFUSALS = 3, 3  # so many are enough; who had read before an update was lost can bring others back


def servers(context):
    return Server() if context == "single" else Quorum(5, max_ttl_ms=2 * MAX_TTL_MS)


def run(context, way, client):
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(servers(context)).url
        clients = stack.enter_context(Clients([client], url, way, HOLD_MS, 1, MAX_TTL_MS))
        if way == "careless":
            written, lost, refused, wrong = stop_a_holder(clients, lambda them: them.lost_updates() >= LOSSES)
        else:
            written, lost, refused, wrong = stop_a_holder(clients, lambda them: them.places()[0].refused >= REFUSALS)
        is_fine = not wrong and (lost > 0 if way == "careless" else lost == 0 and refused >= REFUSALS)
        return {"context": context, "way": way, "written": written, "lost": lost, "refused": refused, "wrong": wrong,
                "is_fine": is_fine}
