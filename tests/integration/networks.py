# SPDX-License-Identifier: MIT
"""Networks and servers as they should not be: a proxy that delays, swallows, cuts and holds bytes; a server that talks
rubbish, and one that only pretends. Each runs in threads of the test and goes with it."""
import contextlib
import socket
import struct
import threading
import time

from harness import encode, read_reply


class Proxy:
    """In front of a port: forwards, until it is told otherwise. Directions: "up" is to the server."""

    def __init__(self, target_port):
        self.target_port = target_port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.pairs = []
        self.guard = threading.Lock()
        self.heal()
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}/0"

    def heal(self):
        self.refuse = False
        self.delay = {"up": 0.0, "down": 0.0}
        self.swallow = {"up": False, "down": False}
        self.piece = 0
        self.cut_after = {"up": None, "down": None}  # bytes, then RST
        self.hold = False  # requests are kept, also when the client goes, and delivered by let_go()
        self.hold_of = set()  # the same, of these connections to the server
        self.deaf = set()  # nobody hears what the server answers on these
        self.held = []

    def hold_open(self):
        """What is open now; connections that come pass."""
        with self.guard:
            self.hold_of = {server for _, server in self.pairs}

    def lose_answers_of_open(self):
        """Of what is open now; on connections that come answers are heard."""
        with self.guard:
            self.deaf = {server for _, server in self.pairs}

    def holds(self, direction, target):
        return direction == "up" and (self.hold or target in self.hold_of)

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if self.refuse:
                reset(client)
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self.target_port))
            except OSError:
                reset(client)
                continue
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.guard:
                self.pairs.append((client, server))
            threading.Thread(target=self.pump, args=(client, server, "up"), daemon=True).start()
            threading.Thread(target=self.pump, args=(server, client, "down"), daemon=True).start()

    def pump(self, source, target, direction):
        while True:
            try:
                data = source.recv(65536)
            except OSError:
                data = b""
            if not data:
                if not self.holds(direction, target):
                    for one in (source, target):
                        with contextlib.suppress(OSError):
                            one.shutdown(socket.SHUT_RDWR)
                return
            if self.delay[direction]:
                time.sleep(self.delay[direction])
            if self.swallow[direction] or (direction == "down" and source in self.deaf):
                continue
            if self.holds(direction, target):
                self.held.append((target, data))
                continue
            if not self.forward(source, target, data, direction):
                return

    def forward(self, source, target, data, direction):
        cut = self.cut_after[direction]
        try:
            if cut is not None:
                target.sendall(data[:cut])
                self.cut_after[direction] = None
                self.reset_all()
                return False
            if self.piece:
                for at in range(0, len(data), self.piece):
                    target.sendall(data[at:at + self.piece])
            else:
                target.sendall(data)
        except OSError:
            return False
        return True

    def reset_all(self):
        with self.guard:
            pairs, self.pairs = self.pairs, []
        for pair in pairs:
            for one in pair:
                reset(one)

    def drop_clients(self):
        """Ends the clients' side only: what is held for the server can still be delivered."""
        with self.guard:
            pairs = list(self.pairs)
        for client, _ in pairs:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def let_go(self):
        self.hold = False
        held, self.held = self.held, []
        for target, data in held:
            with contextlib.suppress(OSError):
                target.sendall(data)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        self.reset_all()


def reset(connection):
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


class Imposter:
    """Listens on a port and talks to each client in a thread."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}/0"

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.receive, args=(client,), daemon=True).start()

    def receive(self, client):
        with contextlib.suppress(OSError), client:
            self.talk(client)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


class Rubbish(Imposter):
    """Answers whatever it is asked with the same bytes."""

    def __init__(self, answer):
        self.answer = answer
        self.said = 0  # so often
        super().__init__()

    def talk(self, client):
        while client.recv(65536):
            self.said += 1  # before whoever hears it can look
            client.sendall(self.answer)


class Pretender(Imposter):
    """Keeps no locks: it answers each command by its name, scripts with the given bytes."""

    def __init__(self, to_scripts):
        self.to_scripts = to_scripts
        super().__init__()

    def talk(self, client):
        answers = {b"INFO": b"$0\r\n\r\n", b"CLIENT": b"+OK\r\n", b"EVALSHA": self.to_scripts, b"EVAL": self.to_scripts}
        now = time.time()
        answers[b"TIME"] = encode(int(now), int(now % 1 * 1e6))
        stream = client.makefile("rb")
        while True:
            words = read_reply(stream)
            client.sendall(answers.get(words[0].upper(), b"+OK\r\n"))
