# SPDX-License-Identifier: MIT
"""What can go wrong with the servers of a quorum, its clients, and the lines between them: begun at random, ended after
a while, several at once."""
import collections
import contextlib
import shutil
import signal
import time

from harness import ServerError, eventually
from straining import Strains, connections_of, errors_of, greetings_of, requests_before


class Fault:
    def __init__(self, what, until, end):
        self.what, self.until, self.end = what, until, end


class Bender(Strains):
    """dice decides what is done to whom and for how long; a server or client has one fault at a time. foreign: a server
    of another quorum, or None; lease: in seconds, the longest; only: the name of the one kind of fault that there is to
    be."""

    def __init__(self, dice, servers, foreign, board, clients, names, lease, only=None):
        self.dice, self.servers, self.board, self.clients, self.names = dice, servers, board, clients, names
        self.lease = lease
        self.faults = {}  # by whom it happens to
        self.counts = collections.Counter()
        self.traces = collections.Counter()  # by kind of tests/nemesis/kinds.py: what of it can be counted
        self.copies = {}
        self.mood, self.mood_ends = [], 0
        self.foreign_mark = foreign.call("DUMP", "ll1:node") if foreign else None
        self.kinds = [self.kill, self.kill, self.wipe, self.roll_back, self.roll_back, self.stop_short,
                      self.stop_long, self.lose_majority, self.lose_majority, self.flush, self.forget_scripts,
                      self.demote, self.disconnect, self.disconnect, self.replace, self.cut_line, self.cut_line,
                      self.cut_one_way, self.cut_one_way, self.ring, self.isolate, self.pause_client,
                      self.pause_client, self.pause_client, self.kill_client, self.run_out_of_memory,
                      self.run_out_of_memory, self.keep_busy, self.keep_busy, self.fork_slowly, self.permit_eviction]
        if only:
            self.kinds = [kind for kind in self.kinds if kind.__name__ == only]

    def step(self):
        now = time.monotonic()
        for who, fault in list(self.faults.items()):
            if now >= fault.until:
                self.end(who)
        # A few kinds at a time: what all of them together would hide shows between some.
        if now >= self.mood_ends:
            self.mood, self.mood_ends = self.dice.sample(self.kinds, min(4, len(self.kinds))), now + 3
        if len(self.faults) < 4:
            with contextlib.suppress(ServerError):  # it has not read its files yet
                self.dice.choice(self.mood)()
        if self.dice.randrange(6) == 0:
            self.copy()

    def heal(self):
        for who in list(self.faults):
            self.end(who)

    def end(self, who):
        with contextlib.suppress(OSError):
            self.faults.pop(who).end()

    def begin(self, who, what, seconds, end):
        self.counts[what] += 1
        self.faults[who] = Fault(what, time.monotonic() + seconds, end)

    # Whom: None where all have a fault already. Mostly a minority of the servers has one, but not always.
    def server(self):
        free = [i for i in range(len(self.servers)) if ("server", i) not in self.faults]
        bent = len(self.servers) - len(free)
        if not free or (bent >= 2 and self.dice.randrange(4)):
            return None, None
        number = self.dice.choice(free)
        return ("server", number), self.servers[number]

    def client(self):
        free = [name for name in self.names if ("client", name) not in self.faults]
        name = self.dice.choice(free) if free else None
        return ("client", name), name

    def short(self):
        return 0.05 + self.dice.random() * 0.8

    # ----- servers

    def kill_server(self, server, kind):
        """What its clients lose is their connections."""
        with contextlib.suppress(OSError, ServerError):
            self.traces[kind] += connections_of(server)
        server.kill()

    def stopped(self, what, kind, change=lambda server: None):
        who, server = self.server()
        if not server:
            return
        self.kill_server(server, kind)
        change(server)

        self.begin(who, what, self.short(), server.start)

    def kill(self):
        self.stopped("killed with data", "killed")

    def wipe(self):
        self.stopped("killed without data", "wiped", empty)

    # As after a power loss: the files are those of a while ago.
    def roll_back(self):
        if self.copies:
            number = self.dice.choice(list(self.copies))
            if ("server", number) not in self.faults:
                who, server = ("server", number), self.servers[number]
                self.kill_server(server, "rolled-back")
                empty(server)
                shutil.copytree(self.copies[number], server.directory / "appendonlydir")
                self.begin(who, "rolled back", self.short(), server.start)

    # Whatever a majority knew is gone at once, and the servers are back in a moment.
    def lose_majority(self):
        free = [i for i in range(len(self.servers)) if ("server", i) not in self.faults]
        lost = [self.servers[i] for i in self.dice.sample(free, min(3, len(free)))]
        self.counts["a majority lost at once"] += 1
        how = self.dice.randrange(3)
        for server in lost:
            if how == 0:
                self.empty_at_once(server, "wiped")
                continue
            self.kill_server(server, "wiped")
            empty(server)
            number = self.servers.index(server)
            if how == 1 and number in self.copies:
                shutil.copytree(self.copies[number], server.directory / "appendonlydir")
        if how == 0:
            return
        for server in lost:
            server.start(reachable=False)
        for server in lost:
            eventually(server.answers)

    def copy(self):
        number = self.dice.randrange(len(self.servers))
        if ("server", number) in self.faults:
            return
        server = self.servers[number]
        target = server.directory / f"copy{self.dice.randrange(3)}"
        shutil.rmtree(target, ignore_errors=True)
        with server.paused():
            shutil.copytree(server.directory / "appendonlydir", target)
        self.copies[number] = target

    def stop_short(self):
        self.pause_server("stopped shortly", self.lease * (0.1 + 0.4 * self.dice.random()))

    def stop_long(self):
        self.pause_server("stopped for long", self.lease * (1.1 + self.dice.random()))

    def pause_server(self, what, seconds):
        who, server = self.server()
        if server:
            server.signal(signal.SIGSTOP)

            def end():
                self.traces["stopped"] += requests_before(server)
                server.signal(signal.SIGCONT)
            self.begin(who, what, seconds, end)

    def told(self, what, *words):
        who, server = self.server()
        if not server:
            return None
        answer = server.call(*words)
        self.counts[what] += 1
        return answer

    def empty_at_once(self, server, kind):
        self.traces[kind] += server.call("DBSIZE")
        server.call("FLUSHALL")

    def flush(self):
        _, server = self.server()
        if server:
            self.empty_at_once(server, "emptied")
            self.counts["emptied"] += 1

    def forget_scripts(self):
        self.told("scripts forgotten", "SCRIPT", "FLUSH")

    def disconnect(self):
        self.told("clients disconnected", "CLIENT", "KILL", "TYPE", self.dice.choice(["normal", "pubsub"]))

    def demote(self):
        who, server = self.server()
        if server:
            before = errors_of(server, "READONLY")
            server.call("REPLICAOF", "127.0.0.1", "1")

            def end():
                server.call("REPLICAOF", "NO", "ONE")
                self.traces["made-replica"] += errors_of(server, "READONLY") - before
            self.begin(who, "made a replica", self.short(), end)

    # Another quorum's server in its place, for a while; then its own files again, or none.
    def replace(self):
        aside = "aside" if self.dice.randrange(2) else None
        who, server = self.server()
        if not server:
            return
        server.kill()
        if aside:
            shutil.rmtree(server.directory / aside, ignore_errors=True)
            shutil.copytree(server.directory / "appendonlydir", server.directory / aside)
        empty(server)
        server.start()
        server.call("RESTORE", "ll1:node", 0, self.foreign_mark, "REPLACE")

        def end():
            self.traces["replaced"] += greetings_of(server)
            server.kill()
            empty(server)
            if aside:
                shutil.move(server.directory / aside, server.directory / "appendonlydir")
            server.start()
        self.begin(who, "replaced", self.short() + 0.5, end)

    # ----- lines

    def cut(self, what, cuts):
        who = ("lines", time.monotonic())
        for one in cuts:
            self.board.cut(*one)

        def end():
            for one in cuts:
                self.board.mend(*one)
        self.begin(who, what, self.dice.choice([0.3, 1, 2]) * self.lease * self.dice.random(), end)

    def anybody(self):
        return self.dice.choice(self.names), self.dice.randrange(len(self.servers))

    def cut_line(self):
        self.cut("line cut", [self.anybody() for _ in range(self.dice.choice([1, 2]))])

    def cut_one_way(self):
        self.cut("line cut one way", [(*self.anybody(), (self.dice.choice(["up", "down"]),))])

    def isolate(self):
        name, _ = self.anybody()
        self.cut("client cut off", [(name, number) for number in range(len(self.servers))])

    # Everybody sees another majority.
    def ring(self):
        count = len(self.servers)
        cuts = [(name, (i + k) % count) for i, name in enumerate(self.names) for k in range((count - 1) // 2)]
        self.cut("majority ring", cuts)

    # ----- clients

    def pause_client(self):
        who, name = self.client()
        if name:
            self.clients.signal(name, signal.SIGSTOP)
            seconds = self.lease * self.dice.choice([0.3, 1.2, 2]) * self.dice.random()
            self.begin(who, "client stopped", seconds, lambda: self.clients.signal(name, signal.SIGCONT))

    def kill_client(self):
        who, name = self.client()
        if name:
            self.clients.kill(name)
            self.begin(who, "client killed", self.short(), lambda: self.clients.start(name))


def empty(server):
    shutil.rmtree(server.directory / "appendonlydir", ignore_errors=True)
