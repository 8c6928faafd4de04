# SPDX-License-Identifier: MIT
"""Faults of clients at the moment that matters: while they hold, or wait."""
import signal
import time

from clients import ASKING, HOLDING
from harness import SLOW

WAITS_SINCE_NS = 30e6  # no acquire of a free lock takes so long
LOOKS_FOR = 0.5


class BadClients:
    def client_that(self, is_wanted):
        """(who, its name) of one without a fault that is found where it should be; (None, None) if there is none."""
        until = time.monotonic() + LOOKS_FOR * SLOW
        while time.monotonic() < until:
            free = [name for name in self.names if ("client", name) not in self.faults]
            wanted = [name for name in free if any(is_wanted(name, moment) for moment in self.clients.moments(name))]
            if wanted:
                name = self.dice.choice(wanted)
                return ("client", name), name
            time.sleep(0.001)
        return None, None

    def holder(self):
        return self.client_that(lambda _, moment: moment.state == HOLDING)

    def first_in_line(self):
        """Lines are in the order of asking."""
        def is_first(_, moment):
            return moment.state == ASKING and time.monotonic_ns() - moment.asked > WAITS_SINCE_NS and not any(
                other.state == ASKING and other.key == moment.key and other.asked < moment.asked
                for name in self.names for other in self.clients.moments(name))
        return self.client_that(is_first)

    def stop_client(self):
        who, name = self.holder()
        if name:
            self.clients.signal(name, signal.SIGSTOP)
            seconds = self.lease * self.dice.choice([1.1, 1.5, 2])

            def end():
                self.traces["client-stopped"] += self.clients.stands_still(name)
                self.clients.signal(name, signal.SIGCONT)
            self.begin(who, "client stopped", seconds, end)

    def kill_one(self, what, who, name):
        if name:
            self.begin(who, what, self.short(), lambda: self.clients.start(name))
            self.clients.kill(name)
            self.traces["client-killed"] += self.clients.running[name].returncode == -signal.SIGKILL

    def kill_holder(self):
        self.kill_one("holder killed", *self.holder())

    def kill_first_in_line(self):
        self.kill_one("first in line killed", *self.first_in_line())

    # Only clients whose runtime outlives a fork understand it.
    def fork_holder(self):
        who, name = self.client_that(lambda name, moment: moment.state == HOLDING and self.clients.can_fork(name))
        if name:
            self.clients.signal(name, signal.SIGUSR1)
            self.begin(who, "holder forked", 0.1, lambda: None)
