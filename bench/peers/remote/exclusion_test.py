#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The peers are locks: two processes of each hold one key by turns, and neither the moments that they log nor a
counter file may show two at once. A peer that let two in would win every comparison. The same is first shown of
processes that do not lock.

Usage: exclusion_test.py BUILD [CLIENT…]   those that cannot be had are skipped by name. Prints TAP."""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[2] / "tools")]

from harness.peer_clients import CLIENTS, LIBLOCK  # noqa: E402
from harness.peer_contest import Contest, Entry, Failed, Server, run  # noqa: E402
from harness.peers import command_of, found_quorum, why_not  # noqa: E402

NODES = 3
CROWD = Contest("exclusion", processes=2, threads=4, sections=40, delay_ms=1, counts=True)
# Over several servers clients without a queue split the votes, the more of them there are, and get on by luck.
TWO = Contest("exclusion", processes=2, sections=60, delay_ms=5, counts=True)


def problem(client, build, servers):
    """What speaks against it, or an empty text."""
    contest = (TWO if len(servers) > 1 else CROWD).named(f"exclusion-{client.name.replace(' ', '-')}")
    entry = Entry(client.name, command_of(build, client.command), contest, client.variant)
    for tries_left in (1, 0) if len(servers) > 1 else (0,):
        found = run([entry], [server.port for server in servers])[client.name]
        if not isinstance(found, Failed):
            return ""
        # Luck is not what is asked for here: who had none gets another try, who let two in does not.
        if not (tries_left and "did not end" in str(found)):
            return str(found)
        print(f"# {client.name} {found}; once more", flush=True)


def main():
    build, names = sys.argv[1], sys.argv[2:]
    chosen = [client for client in CLIENTS if client.name in names or (not names and not client.nightly)]
    missing = {client.name: why_not(build, client.name) for client in chosen}
    count = failed = 0

    def tell(holds, name, said=""):
        nonlocal count, failed
        count, failed = count + 1, failed + (not holds)
        print(f"{'ok' if holds else 'not ok'} {count} - {name}{' # ' + said if said else ''}", flush=True)

    nobody = Entry("nobody", (sys.executable, str(HERE / "nobody.py")), CROWD)
    found = run([nobody], [0])["nobody"]
    tell(isinstance(found, Failed) and "is no lock" in str(found), "processes that do not lock are found out",
         str(found)[:100])
    servers = [Server() for _ in range(NODES)]
    try:
        if missing.get(LIBLOCK.name) == "":
            found_quorum(command_of(build, LIBLOCK.command), servers)
        for client in chosen:
            for over in client.over:
                title = f"{client.name} over {'a server' if over == 'redis' else 'a quorum of 3'} excludes"
                if missing[client.name]:
                    tell(True, title, f"SKIP {missing[client.name]}")
                else:
                    said = problem(client, build, servers[:1] if over == "redis" else servers)
                    tell(not said, title, said)
    finally:
        for server in servers:
            server.stop()
    print(f"1..{count}")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(f"Bail out! {error}")
