# SPDX-License-Identifier: MIT
"""Faults of servers that tests/integration/bending.py does not have. Each is a function without arguments that begins
it (self.begin), or does nothing where it cannot be now."""
import contextlib
import struct
import time

from bending import empty
from harness import ServerError, encode, eventually, read_reply
from straining import errors_of

JUNK_BYTES, JUNK_SECONDS = 10000, 2


class BadServers:
    # Until locks are gone as well: whatever there is may be evicted, and there is more and more.
    def evict(self):
        who, server = self.server()
        if not server:
            return
        server.call("CONFIG", "SET", "maxmemory-policy", self.dice.choice(["allkeys-random", "allkeys-lru"]))
        server.call("CLIENT", "KILL", "TYPE", "normal")  # whoever minds looks when he connects
        used = int(server.call("INFO", "memory").split(b"used_memory:")[1].split()[0])
        before = evicted_keys(server)
        server.call("CONFIG", "SET", "maxmemory", used + 20 * JUNK_BYTES)
        junk = "x" * JUNK_BYTES
        pipeline(server, [("SET", f"junk{self.dice.random()}", junk, "EX", JUNK_SECONDS) for _ in range(300)])
        evicted = evicted_keys(server) - before
        self.traces["evicting"] += evicted

        def end():
            server.call("CONFIG", "SET", "maxmemory-policy", "noeviction")
            server.call("CONFIG", "SET", "maxmemory", 0)
        if evicted == 0:
            return end()
        self.begin(who, "evicting", self.short(), end)

    # As long as it reads, it says LOADING; every 1024 records it looks who asks.
    def load_slowly(self):
        who, server = self.server()
        if not server:
            return
        records = 3000
        pipeline(server, [("SET", "junk", number, "EX", JUNK_SECONDS) for number in range(records)])
        server.kill()
        delay_us = int(self.dice.uniform(0.3, 0.9) * 1e6 / records)
        arguments = server.arguments
        server.arguments = [*arguments, "--key-load-delay", str(delay_us)]
        server.start(reachable=False)
        server.arguments = arguments
        eventually(server.answers)
        self.traces["loading"] += b"loading:1" in server.call("INFO", "persistence")

        def end():
            eventually(server.answers, 20)
            with contextlib.suppress(ServerError):
                server.call("CONFIG", "SET", "key-load-delay", 0)
        self.begin(who, "loading", self.short() + 0.3, end)

    # Whoever comes next brings them again.
    def forget_scripts(self):
        who, server = self.server()
        if not server:
            return
        server.call("SCRIPT", "FLUSH")
        before = errors_of(server, "NOSCRIPT")

        def end():
            self.traces["scripts-flushed"] += errors_of(server, "NOSCRIPT") - before
        self.begin(who, "scripts forgotten", self.short(), end)

    # Its locks end early, or late; and so again when the step is taken back.
    def step_ahead(self):
        self.step_clock("clock stepped ahead", 1)

    def step_back(self):
        self.step_clock("clock stepped back", -1)

    def step_clock(self, what, direction):
        who, server = self.server()
        if server:
            set_clock(server, direction * self.dice.choice([0.3, 1, 5]) * (0.5 + self.dice.random()))
            seconds, micros = map(int, server.call("TIME"))
            self.traces["clock-stepped"] += direction * (seconds + micros / 1e6 - time.time()) > 0.1
            self.begin(who, what, self.lease * (0.5 + self.dice.random()), lambda: set_clock(server, 0))

    # The replica takes over, with what it has; the old one comes back empty, as its replica.
    def fail_over(self):
        who, server = self.server()
        if not server or not self.replica or not is_linked(self.replica):
            return
        self.kill_server(server, "failed-over")
        old, new = server, self.replica
        new.call("REPLICAOF", "NO", "ONE")
        self.servers[0], self.replica = new, None
        self.board.targets[0] = new.port

        def end():
            empty(old)
            old.start()
            follow(old, new)
            self.replica = old
        self.begin(who, "failed over", self.short() + 0.3, end)

    def cut_messages(self):
        self.traces["messages-cut"] += self.told("messages cut", "CLIENT", "KILL", "TYPE", "pubsub") or 0


def pipeline(server, commands):
    """Without waiting between them; errors are answers as well."""
    with server.send(*commands[0]) as connection:
        connection.sendall(b"".join(encode(*command) for command in commands[1:]))
        stream = connection.makefile("rb")
        for _ in commands:
            with contextlib.suppress(ServerError):
                read_reply(stream)


def evicted_keys(server):
    return int(server.call("INFO", "stats").split(b"evicted_keys:")[1].split()[0])


def set_clock(server, seconds):
    """Of a server that was started with stepped_clock.c."""
    with open(server.environment["LIBLOCK_CLOCK"], "r+b") as file:
        file.write(struct.pack("<q", int(seconds * 1e9)))


def follow(replica, master):
    replica.call("REPLICAOF", "127.0.0.1", master.port)
    eventually(lambda: is_linked(replica))


def is_linked(replica):
    return b"master_link_status:up" in replica.call("INFO", "replication")
