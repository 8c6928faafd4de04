# SPDX-License-Identifier: MIT
"""Faults of servers that run and can be reached, and yet do not do what they are asked to. Who is chosen, for how long,
and what is counted is Bender's."""
import re

EVICTING = ["allkeys-lru", "allkeys-random", "volatile-lru", "volatile-ttl"]


class Strains:
    # At the bound some writes of one script still pass and the next one's do not; below it none does.
    def run_out_of_memory(self):
        who, server = self.server()
        if server:
            used = int(server.call("INFO", "memory").split(b"used_memory:")[1].split()[0])
            before = errors_of(server, "OOM")
            server.call("CONFIG", "SET", "maxmemory", self.dice.choice([1000, used + 1000, used + 30000]))

            def end():
                server.call("CONFIG", "SET", "maxmemory", 0)
                self.traces["out-of-memory"] += errors_of(server, "OOM") - before
            self.begin(who, "out of memory", self.short(), end)

    # Until the limit it stands still; then it says BUSY to everybody.
    def keep_busy(self):
        who, server = self.server()
        if server:
            end = server.keep_busy(limit_ms=self.dice.choice([5, 5, 300]))
            self.begin(who, "busy with a script", self.short(), end)

    # As where there is much to copy: it stands still first, and is slow to write afterwards.
    def fork_slowly(self):
        who, server = self.server()
        if server:
            seconds = self.lease * (0.1 + 1.4 * self.dice.random())
            server.call("BGREWRITEAOF")
            sleep = server.send("DEBUG", "SLEEP", f"{seconds:.3f}")
            self.begin(who, "slow to fork", seconds, sleep.close)

    # It may evict, and does not: a quorum of three votes of five stands no loss that cannot be seen. Clients notice
    # it when they connect anew.
    def permit_eviction(self):
        who, server = self.server()
        if not server:
            return
        server.call("CONFIG", "SET", "maxmemory", "100mb")
        server.call("CONFIG", "SET", "maxmemory-policy", self.dice.choice(EVICTING))
        if self.dice.randrange(3):
            server.call("CLIENT", "KILL", "TYPE", "normal")

        def end():
            server.call("CONFIG", "SET", "maxmemory-policy", "noeviction")
            server.call("CONFIG", "SET", "maxmemory", 0)
        self.begin(who, "may evict", self.short() + 0.5, end)


def errors_of(server, name):
    """How often it has answered so, since it was started."""
    found = re.search(rf"errorstat_{name}:count=(\d+)", server.call("INFO", "errorstats").decode())
    return int(found[1]) if found else 0
