# SPDX-License-Identifier: MIT
"""How a line may treat what is sent over it, beside being cut: a Manner is laid on some lines of a switchboard for a
while (Switchboard.lay, lift), several at once. Bytes of one line and direction never change their order; those of
different lines may."""
import dataclasses

@dataclasses.dataclass(eq=False)
class Manner:
    """On the lines of a client (None: of all) to a server (None: to all), in these directions. Times in seconds.

    delay      each piece that comes waits for a time between these two; lines that overtake each other are reordered
    piece      bytes are sent on in pieces of so many
    join       what comes within this time is sent on as one piece
    rate       bytes per second
    swallow    what comes is gone; the line is hollow from then on, also when the manner is lifted: nothing is ever sent
               on in that direction, and nobody is told
    reset_after so many bytes of the next thing that is sent on arrive, and then both ends are told RST
    """
    client: str = None
    number: int = None
    directions: tuple = ("up", "down")
    delay: tuple = None
    piece: int = 0
    join: float = 0
    rate: float = 0
    swallow: bool = False
    reset_after: int = None
    swallowed: int = dataclasses.field(default=0, init=False)  # pieces, by now

    def is_for(self, line, direction):
        return (direction in self.directions and self.client in (None, line.name) and
                self.number in (None, line.number))


class Stream:
    """What one direction of one line holds back: pieces with the moment from which each may go on."""

    def __init__(self):
        self.pieces = []  # [due, bytes], in the order of both
        self.room, self.room_at = 0, 0  # bytes that the rate allows, and when that was
        self.is_hollow = False
        self.is_over = False  # its sender has ended

    def add(self, data, now, manners, dice):
        due = max([now, *(piece[0] for piece in self.pieces[-1:])])
        for manner in manners:
            if manner.swallow:
                self.is_hollow = True
                manner.swallowed += bool(data)
            if manner.delay:
                due = max(due, now + dice.uniform(*manner.delay))
            if manner.join:
                due = max(due, (now // manner.join + 1) * manner.join)
        if not self.is_hollow and data:
            self.pieces.append([due, data])

    def due(self, now, manners):
        """What goes on now, as bytes."""
        out = bytearray()
        while self.pieces and self.pieces[0][0] <= now:
            out += self.pieces.pop(0)[1]
        rate = min((manner.rate for manner in manners if manner.rate), default=0)
        if rate:
            self.room = min(max(1, rate / 20), self.room + (now - self.room_at) * rate)
            self.room_at = now
            self.give_back(out[int(self.room):])
            del out[int(self.room):]
            self.room -= len(out)
        return out

    def give_back(self, rest):
        if rest:
            self.pieces.insert(0, [0, bytes(rest)])
