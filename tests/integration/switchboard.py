# SPDX-License-Identifier: MIT
"""Lines between clients and servers, each of which can be cut for itself, in one direction or both, or treat badly what
is sent over it (manners.py): a proxy in front of every server that knows its clients by the name they set (CLIENT
SETNAME). As in a network that drops packets, what is sent over a line that is cut is not lost but late: it arrives when
the line is mended, also when its sender has gone. One thread does all; tests call it from theirs."""
import contextlib
import random
import re
import selectors
import socket
import struct
import threading
import time

from manners import Stream

NAME = re.compile(rb"SETNAME\r\n\$\d+\r\n([^\r]*)\r\n", re.IGNORECASE)


class Line:
    """One connection: what a client sends goes up, what the server answers comes down."""

    def __init__(self, client, server, number):
        self.ends = {"up": (client, server), "down": (server, client)}
        self.number = number
        self.name = None
        self.begun = b""
        self.streams = {"up": Stream(), "down": Stream()}


class Switchboard:
    def __init__(self, ports, seed=0):
        self.selector = selectors.DefaultSelector()
        self.targets = list(ports)
        self.listeners = [socket.create_server(("127.0.0.1", 0), backlog=256) for _ in ports]
        self.ports = [listener.getsockname()[1] for listener in self.listeners]
        self.cuts = set()  # (client, number of the server, direction)
        self.manners = []  # replaced, never changed, by the tests' thread
        self.lines = set()
        self.dice = random.Random(seed)
        self.late = 0  # pieces that arrived after their sender had gone
        self.slowed = 0  # pieces that came while their line was slow
        self.resets = 0  # lines ended within something that was sent
        self.held_up = 0  # pieces that came while their line was cut
        self.reshaped = 0  # pieces that went on in several, or several as one, because a manner wants it
        self.should_reset_hollow = False
        self.is_splitting = False  # there is another piece to send, a moment after the last one
        self.is_over = False
        for number, listener in enumerate(self.listeners):
            listener.setblocking(False)
            self.selector.register(listener, selectors.EVENT_READ, number)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def cut(self, client, number, directions=("up", "down")):
        self.cuts |= {(client, number, direction) for direction in directions}

    def mend(self, client, number, directions=("up", "down")):
        self.cuts -= {(client, number, direction) for direction in directions}

    def lay(self, manner):
        self.manners = [*self.manners, manner]
        return manner

    def lift(self, manner):
        self.manners = [one for one in self.manners if one is not manner]

    def reset_hollow(self):
        """Both ends of what has swallowed something are told, in a moment."""
        self.should_reset_hollow = True

    def run(self):
        while not self.is_over:
            if self.is_splitting:
                time.sleep(0.0001)
            for key, _ in self.selector.select(0 if self.is_splitting else 0.01):
                if isinstance(key.data, int):
                    self.accept(key.fileobj, key.data)
                else:
                    self.receive(*key.data)
            self.is_splitting = False
            for line in list(self.lines):
                for direction in ("up", "down"):
                    self.forward(line, direction)
            if self.should_reset_hollow:
                self.should_reset_hollow = False
                for line in [one for one in self.lines if any(s.is_hollow for s in one.streams.values())]:
                    self.reset(line)

    def accept(self, listener, number):
        try:
            client, _ = listener.accept()
        except OSError:
            return
        try:
            server = socket.create_connection(("127.0.0.1", self.targets[number]), timeout=1)
        except OSError:
            return client.close()
        line = Line(client, server, number)
        self.lines.add(line)
        for direction, (source, _) in line.ends.items():
            source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            source.setblocking(False)
            self.selector.register(source, selectors.EVENT_READ, (line, direction))

    def receive(self, line, direction):
        source = line.ends[direction][0]
        stream = line.streams[direction]
        try:
            data = source.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            stream.is_over = True
            with contextlib.suppress(KeyError, ValueError):
                self.selector.unregister(source)
        if direction == "up" and line.name is None:
            line.begun += data
            named = NAME.search(line.begun)
            line.name = named.group(1).decode() if named else None
        self.held_up += bool(data) and (line.name, line.number, direction) in self.cuts
        manners = self.manners_for(line, direction)
        self.slowed += bool(data) and any(manner.delay or manner.rate for manner in manners)
        stream.add(data, time.monotonic(), manners, self.dice)
        self.forward(line, direction)

    def manners_for(self, line, direction):
        """A line without a name yet has not said more than its greeting."""
        return [manner for manner in self.manners if manner.is_for(line, direction)]

    def forward(self, line, direction):
        if (line.name, line.number, direction) in self.cuts or line not in self.lines:
            return
        stream = line.streams[direction]
        manners = self.manners_for(line, direction)
        waiting = len(stream.pieces)
        held = stream.due(time.monotonic(), manners) if waiting else b""
        self.reshaped += waiting - len(stream.pieces) > 1 and any(manner.join for manner in manners)
        self.late += bool(held) and line.streams["up"].is_over
        if held and not self.send(line, direction, held, manners):
            return
        if stream.is_over and not stream.pieces and not stream.is_hollow:
            self.end(line)

    def send(self, line, direction, held, manners):
        """Whether the line is still one."""
        target = line.ends[direction][1]
        for manner in manners:
            if manner.reset_after is not None:
                with contextlib.suppress(OSError):
                    target.send(held[:manner.reset_after])
                self.resets += 1
                self.reset(line)
                return False
        size = min((manner.piece for manner in manners if manner.piece), default=len(held))
        try:
            sent = target.send(held[:size])
            self.reshaped += sent == size < len(held)
            del held[:sent]
        except BlockingIOError:
            pass
        except OSError:
            held.clear()
        if held:
            line.streams[direction].give_back(held)
            self.is_splitting = True
        return True

    def reset(self, line):
        for one in line.ends["up"]:
            with contextlib.suppress(OSError):
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.end(line)

    def end(self, line):
        self.lines.discard(line)
        for one in line.ends["up"]:
            with contextlib.suppress(KeyError, ValueError):
                self.selector.unregister(one)
            one.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.thread.join()
        for listener in self.listeners:
            listener.close()
        for line in list(self.lines):
            self.end(line)
