# SPDX-License-Identifier: MIT
"""Faults of the lines between clients and servers, over the switchboard (tests/integration/manners.py)."""
from manners import Manner


class BadLines:
    def lay(self, what, manner, seconds):
        self.board.lay(manner)
        kind = self.kind.name

        def end():
            self.board.lift(manner)
            if manner.swallow:
                self.traces[kind] += manner.swallowed
                self.board.reset_hollow()
        self.begin(("lines", id(manner)), what, seconds, end)

    def some(self):
        """Lines of one client or all, to one server or all."""
        return {"client": self.dice.choice([None, *self.names]),
                "number": self.dice.choice([None, *range(len(self.servers))])}

    def drop_replies(self):
        manner = Manner(**self.some(), directions=("down",), swallow=True)
        self.lay("replies dropped", manner, self.short())

    # Now and then for as long as the library needs to see it by itself.
    def half_open(self):
        seconds = self.dice.choice([self.short(), self.short(), 3 + self.dice.random()])
        self.lay("half open", Manner(**self.some(), swallow=True), seconds)

    # Longer than their senders wait, who have cleaned up when they arrive.
    def hold_requests(self):
        name, number = self.anybody()
        self.board.cut(name, number, ("up",))
        seconds = 2 * self.timeout * (0.8 + self.dice.random())
        self.begin(("lines", self.dice.random()), "requests held", seconds,
                   lambda: self.board.mend(name, number, ("up",)))

    def reorder_lines(self):
        most = self.dice.choice([0.02, 0.1, 0.4])
        directions = self.dice.choice([("up",), ("down",), ("up", "down")])
        self.lay("reordered", Manner(**self.some(), directions=directions, delay=(0, most)), self.short())

    def slow_line(self):
        self.lay("slow line", Manner(**self.some(), rate=self.dice.choice([2000, 10000, 50000])), self.short())

    def split_bytes(self):
        self.lay("bytes split", Manner(**self.some(), piece=self.dice.choice([1, 3, 17])), self.short())

    def join_bytes(self):
        self.lay("bytes joined", Manner(**self.some(), join=self.dice.choice([0.005, 0.02, 0.1])), self.short())

    def reset_in_reply(self):
        manner = Manner(**self.some(), directions=("down",), reset_after=self.dice.choice([1, 5, 20]))
        self.lay("reset in reply", manner, 0.02 + self.dice.random() * 0.2)
