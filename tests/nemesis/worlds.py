# SPDX-License-Identifier: MIT
"""Where a nemesis acts: real servers, the lines to them, and the client processes of several languages, set up for one
group of kinds (kinds.py). Everything dies with the world."""
import contextlib
import pathlib
import tempfile

from bad_servers import follow
from clients import Clients
from harness import Server
from islands import Islands
from quorums import Quorum, found
from switchboard import Switchboard

LEASE_MS = 800  # the longest
SINGLE_TIMEOUT_MS, NODE_TIMEOUT_MS = 300, 200
KEYS, CLIENTS, THREADS, FRONT_MS = 3, 5, 3, 50
# Written before it is answered, so that a killed process has lost nothing.
KEEPS = ["--appendonly", "yes", "--appendfsync", "no", "--repl-diskless-sync", "no"]


def names_of(programs):
    languages = list(programs)
    return [f"{languages[max(0, i - 1) % len(languages)]}{i}" for i in range(CLIENTS)]


class Crew(Clients):
    """Clients of which each may have an island; the first two are in C, whatever else there is, one of them with
    threads that give the lock of one server to each other."""

    def __init__(self, programs, url, islands=None, **words):
        self.islands = islands
        self.names = names_of(programs)
        super().__init__([programs[name[:-1]] for name in self.names], url, **words)

    def program_of(self, client, number):
        words = super().program_of(client, number)
        if number == 1:
            words = ["env", f"LIBLOCK_CLIENT_THREADS={THREADS}", f"LIBLOCK_CLIENT_FRONT_MS={FRONT_MS}", *words]
        return [*self.islands.within(client), *words] if self.islands else words

    def can_fork(self, name):
        return name.startswith("c")


class World(contextlib.ExitStack):
    """servers[0] is the one that answers, of a single context. board: what lines are cut and mended on."""

    def __init__(self, context, group, programs, seed, clock, nodes=5, can_make_islands=False):
        super().__init__()
        self.can_make_islands = can_make_islands
        self.context, self.group, self.programs, self.seed = context, group, programs, seed
        self.clock, self.nodes = clock, 1 if context == "single" else nodes
        self.lease = LEASE_MS / 1000
        self.timeout = (SINGLE_TIMEOUT_MS if context == "single" else NODE_TIMEOUT_MS) / 1000
        self.votes = self.nodes - 1 if group == "liars" else 0
        self.foreign = self.replica = self.islands = None

    def __enter__(self):
        try:
            self.make()
        except BaseException:
            self.close()
            raise
        return self

    def make(self):
        if self.group == "apart" and self.can_make_islands:
            self.make_islands()
        else:
            self.servers = [self.server() for _ in range(self.nodes)]
            self.board = self.enter_context(Switchboard([server.port for server in self.servers], self.seed))
            self.addresses = [f"127.0.0.1:{port}" for port in self.board.ports]
        urls = [f"redis://{address}/0" for address in self.addresses]
        self.url = urls[0] if self.context == "single" else "quorum:" + ",".join(urls)
        if self.context == "quorum":
            found(self.url, LEASE_MS, self.votes, self.islands.within("founder") if self.islands else ())
            self.foreign = self.enter_context(Quorum(1, max_ttl_ms=LEASE_MS))[0]
        elif self.group == "lost":
            self.replica = self.server()
            follow(self.replica, self.servers[0])

    def server(self, *arguments, **words):
        if self.group in ("stepped", "liars"):
            offset = pathlib.Path(self.enter_context(tempfile.TemporaryDirectory(prefix="liblock-"))) / "offset"
            offset.write_bytes(bytes(8))
            words["environment"] = {"LD_PRELOAD": self.clock, "LIBLOCK_CLOCK": str(offset)}
        return self.enter_context(Server(*KEEPS, *arguments, **words))

    def make_islands(self):
        servers = [f"server{i}" for i in range(self.nodes)]
        self.islands = self.board = self.enter_context(Islands([*servers, *names_of(self.programs), "founder"]))
        self.servers = [self.server("--bind", "0.0.0.0", "--protected-mode", "no", within=self.islands.within(name))
                        for name in servers]
        self.addresses = [f"{self.islands.address(name)}:{server.port}"
                          for name, server in zip(servers, self.servers)]

    def crew(self, way="careful"):
        timeout = SINGLE_TIMEOUT_MS if self.context == "single" else 0
        return self.enter_context(Crew(self.programs, self.url, self.islands, way=way, keys=KEYS, max_ttl_ms=LEASE_MS,
                                       votes=self.votes, timeout_ms=timeout, seed=self.seed))
