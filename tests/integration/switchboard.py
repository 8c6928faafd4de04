# SPDX-License-Identifier: MIT
"""Lines between clients and servers, each of which can be cut for itself, in one direction or both: a proxy in front of
every server that knows its clients by the name they set (CLIENT SETNAME). As in a network that drops packets, what is
sent over a line that is cut is not lost but late: it arrives when the line is mended, also when its sender has gone."""
import contextlib
import re
import selectors
import socket
import threading

NAME = re.compile(rb"SETNAME\r\n\$\d+\r\n([^\r]*)\r\n", re.IGNORECASE)


class Line:
    """One connection: what a client sends goes up, what the server answers comes down."""

    def __init__(self, client, server, number):
        self.ends = {"up": (client, server), "down": (server, client)}
        self.number = number
        self.name = None
        self.begun = b""
        self.held = {"up": bytearray(), "down": bytearray()}
        self.over = {"up": False, "down": False}


class Switchboard:
    def __init__(self, ports):
        self.selector = selectors.DefaultSelector()
        self.targets = ports
        self.listeners = [socket.create_server(("127.0.0.1", 0), backlog=256) for _ in ports]
        self.ports = [listener.getsockname()[1] for listener in self.listeners]
        self.cuts = set()  # (client, number of the server, direction)
        self.lines = set()
        self.late = 0  # pieces that arrived after their sender had gone
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

    def run(self):
        while not self.is_over:
            for key, events in self.selector.select(0.01):
                if isinstance(key.data, int):
                    self.accept(key.fileobj, key.data)
                else:
                    self.receive(*key.data)
            for line in list(self.lines):
                for direction in ("up", "down"):
                    self.forward(line, direction)

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
        try:
            data = source.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            line.over[direction] = True
            with contextlib.suppress(KeyError, ValueError):
                self.selector.unregister(source)
        if direction == "up" and line.name is None:
            line.begun += data
            named = NAME.search(line.begun)
            line.name = named.group(1).decode() if named else None
        line.held[direction] += data
        self.forward(line, direction)

    def forward(self, line, direction):
        """A line without a name yet has not said more than its greeting."""
        if (line.name, line.number, direction) in self.cuts or line not in self.lines:
            return
        target = line.ends[direction][1]
        held = line.held[direction]
        self.late += bool(held) and line.over["up"]
        try:
            while held:
                del held[:target.send(held)]
        except BlockingIOError:
            return
        except OSError:
            held.clear()
        if line.over[direction]:
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
