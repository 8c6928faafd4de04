# SPDX-License-Identifier: MIT
"""The nemesis of one world: begins faults of the given kinds at random moments, some at once, until every kind had its
turn and the time is over; and knows afterwards which of them hit, that is, acted while an operation was in flight, and
which were felt: something in flight did not come to the end that it has elsewhere, or took far longer to."""
import collections
import contextlib
import dataclasses
import statistics
import time

from bad_clients import BadClients
from bad_lines import BadLines
from bad_servers import BadServers
from bending import Bender, Fault
from harness import SLOW, ServerError

AT_ONCE_MAX = 3
TURNS_LAST = 30  # seconds beyond its time in which every kind must have had a turn
REACHES_NS = 20e6  # what began so shortly after a fault still met it
USUAL_ENDS = (0, 1, 2)  # OK, BUSY, TIMEOUT: others have it
MUCH_LONGER = 5  # than half of all releases take


@dataclasses.dataclass
class Act:
    """Times in ns of the monotonic clock."""
    kind: str
    what: str
    who: tuple
    begin: int
    end: int = 0
    way: str = ""  # the function that began it


class Nemesis(BadServers, BadLines, BadClients, Bender):
    """world: worlds.World; kinds: of kinds.py; see Bender."""

    def __init__(self, dice, world, clients, names, kinds):
        super().__init__(dice, world.servers, world.foreign, world.board, clients, names, world.lease)
        self.context, self.timeout, self.replica = world.context, world.timeout, world.replica
        # Where no more than one server may have a fault, it is well for a while between two: so that no more nodes lie
        # while one lease runs than the votes stand, and so that there are locks on the only server.
        self.alone_for = self.lease if world.group == "liars" else self.lease / 2 if world.nodes == 1 else None
        self.alone_until = 0
        self.acts = []
        self.wanted = list(kinds)
        self.bag = []
        self.kind = self.way = None
        # Worlds of seeds that follow each other begin with other ways.
        self.tries = collections.Counter({kind.name: world.seed for kind in kinds})

    def run(self, seconds):
        """False: a kind had no turn. Without kinds nothing happens."""
        over = time.monotonic() + seconds
        missing = {kind.name for kind in self.wanted}
        while time.monotonic() < (over + TURNS_LAST * SLOW if missing else over):
            self.end_what_is_over()
            if self.wanted and len(self.faults) < min(AT_ONCE_MAX, max(1, len(self.wanted) - 1)):
                self.turn()
                missing.discard(self.acts[-1].kind if self.acts else None)
            if self.dice.randrange(4) == 0 and any(kind.name == "rolled-back" for kind in self.wanted):
                self.try_copy()
            time.sleep(0.02 + self.dice.random() * 0.25)
        self.heal()
        return not missing

    def do_nothing(self):
        self.begin(("nothing", self.dice.random()), "nothing", self.short(), lambda: None)

    def end_what_is_over(self):
        for who, fault in list(self.faults.items()):
            if time.monotonic() >= fault.until:
                self.end(who)

    def server(self):
        if self.alone_for and (time.monotonic() < self.alone_until or any(who[0] == "server" for who in self.faults)):
            return None, None
        return super().server()

    def try_copy(self):
        with contextlib.suppress(OSError, ServerError):
            self.copy()

    def turn(self):
        """One kind of the bag acts; where it cannot now it stays in there."""
        if not self.bag:
            self.bag = self.dice.sample(self.wanted, len(self.wanted))
        kind = self.bag[-1]
        self.kind, counted, acts = kind, sum(self.counts.values()), len(self.acts)
        began = time.monotonic_ns()
        ways = kind.ways(self.context)
        self.way = ways[self.tries[kind.name] % len(ways)]
        self.tries[kind.name] += 1
        with contextlib.suppress(ServerError, OSError):  # it has not read its files yet
            getattr(self, self.way)()
        if sum(self.counts.values()) == counted:
            self.bag.insert(0, self.bag.pop())
            return
        self.bag.pop()
        if len(self.acts) == acts:  # over at once
            self.acts.append(Act(kind.name, kind.name, (), began, time.monotonic_ns(), self.way))
        elif self.acts[-1].who[0] != "client":  # which was looked for first
            self.acts[-1].begin = began

    def begin(self, who, what, seconds, end):
        self.counts[what] += 1
        act = Act(self.kind.name, what, who, time.monotonic_ns(), way=self.way)
        self.acts.append(act)

        def end_and_note():
            with contextlib.suppress(ServerError):
                end()
            act.end = time.monotonic_ns()
            if self.alone_for and who[0] == "server":
                self.alone_until = time.monotonic() + self.alone_for
        self.faults[who] = Fault(what, time.monotonic() + seconds, end_and_note)


def hits(acts, calls):
    """Of the acts those during which an acquire or a release was in flight; of a client's, one of that client."""
    flights = [(call.asked, call.begin if call.is_hold else call.ended) for call in calls]
    flights += [(call.until, call.ended) for call in calls if call.is_hold]

    def hit(act):
        if act.who[:1] == ("client",):
            return any(call.process == act.who[1] and call.asked <= act.begin + REACHES_NS and call.ended >= act.begin
                       for call in calls)
        return any(begin <= act.end + REACHES_NS and end >= act.begin for begin, end in flights)
    return [act for act in acts if hit(act)]


def beside(acts):
    """Those during which another kind acted as well."""
    return [act for act in acts if any(other.kind != act.kind and other.begin <= act.end and other.end >= act.begin
                                       for other in acts)]


def disturbed(calls):
    """(process, begin, end) of what faults can be made answerable for: calls that failed, or whose client was killed,
    and releases that took long. How long an acquire takes is others' doing as well."""
    released = [call for call in calls if call.is_hold and call.status == 0]
    usual = statistics.median(call.ended - call.until for call in released) if released else 0
    failed = [(call.process, call.asked, call.ended) for call in calls if call.status not in USUAL_ENDS]
    return failed + [(call.process, call.until, call.ended) for call in released
                     if call.ended - call.until > MUCH_LONGER * usual]


def felt(acts, calls):
    """Of the acts those that something of that met; of a client's, something of that client."""
    spans = disturbed(calls)

    def is_felt(act):
        of_client = act.who[:1] == ("client",)
        last = (act.begin if of_client else act.end) + REACHES_NS
        return any(begin <= last and end >= act.begin and (not of_client or process == act.who[1])
                   for process, begin, end in spans)
    return [act for act in acts if is_felt(act)]
