# SPDX-License-Identifier: MIT
"""Faults of servers that run and can be reached, and yet do not do what they are asked to. Who is chosen, for how long,
and what is counted is Bender's."""
import pathlib
import re

ESTABLISHED = "01"
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
            before = errors_of(server, "BUSY")
            release = server.keep_busy(limit_ms=self.dice.choice([5, 5, 300]))

            def end():
                release()
                self.traces["busy"] += errors_of(server, "BUSY") - before
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


def number_in(server, section, what):
    """Of what it says of itself; 0 where it says nothing of that."""
    found = re.search(rf"{what}(\d+)", server.call("INFO", section).decode())
    return int(found[1]) if found else 0


def errors_of(server, name):
    """How often it has answered so, since it was started."""
    return number_in(server, "errorstats", f"errorstat_{name}:count=")


def connections_of(server):
    """But that over which it is asked."""
    return number_in(server, "clients", "connected_clients:") - 1


def greetings_of(server):
    """How many clients have told it their names since it was started."""
    return number_in(server, "commandstats", r"cmdstat_client(?:\|setname)?:calls=")


def requests_before(server):
    """Connections on which something stands that it has not read, of a server that stands still, by the kernel."""
    def of(line):
        local, _, state, queues = line.split()[1:5]
        return int(local.rpartition(":")[2], 16) == server.port and state == ESTABLISHED and \
            int(queues.partition(":")[2], 16) > 0
    return sum(of(line) for name in ("tcp", "tcp6")
               for line in pathlib.Path("/proc/net", name).read_text().splitlines()[1:])
