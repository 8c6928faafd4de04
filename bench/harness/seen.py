# SPDX-License-Identifier: MIT
"""What servers say of themselves between two moments: what it cost them that clients sent."""
from .servers import integration

Server, die_with_parent = integration.Server, integration.die_with_parent

# Of what a server counts those that clients send: the others are called by scripts, or by whoever measures.
SENT = ("eval", "hello", "auth", "select", "client", "subscribe", "unsubscribe", "script", "wait", "ping")


def seen_by(server):
    """{what: figure} since the server started."""
    said = dict(line.split(":", 1) for line in server.call("INFO", "everything").decode().splitlines() if ":" in line)
    calls = sum(int(text.split("calls=")[1].split(",")[0]) for name, text in said.items()
                if name.startswith(tuple("cmdstat_" + command for command in SENT)))
    return {"commands": calls, "memory": int(said["used_memory"]),
            "cpu_s": float(said["used_cpu_sys"]) + float(said["used_cpu_user"])}


def seen_by_all(servers):
    all_of_them = [seen_by(server) for server in servers]
    return {what: sum(one[what] for one in all_of_them) for what in all_of_them[0]} if all_of_them else {}
