# SPDX-License-Identifier: MIT
"""What the integration tests are made of: real servers, a network that can be bent, servers that talk rubbish, and
agents: processes that lock through the C API as they are told. Everything started here dies with the test, however
that ends. Standard library only."""
import contextlib
import ctypes
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

# A sanitizer makes agents slower, and its reports must end them with a status that is seen.
SLOW = float(os.environ.get("LIBLOCK_TEST_SLOWNESS", "1"))


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def eventually(condition, seconds=5.0):
    """Whether the condition comes true in time."""
    until = time.monotonic() + seconds * SLOW
    while True:
        if condition():
            return True
        if time.monotonic() > until:
            return False
        time.sleep(0.005)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def encode(*words):
    out = b"*%d\r\n" % len(words)
    for word in words:
        word = word if isinstance(word, bytes) else str(word).encode()
        out += b"$%d\r\n%s\r\n" % (len(word), word)
    return out


class ServerError(Exception):
    pass


class Server:
    """A redis-server in a directory of its own."""

    def __init__(self, *arguments, tls=None, reachable=True):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="liblock-"))
        self.path = str(self.directory / "s")
        self.port = free_port()
        self.tls_port = free_port() if tls else 0
        self.arguments = [str(a) for a in arguments]
        if tls:
            self.arguments += ["--tls-port", str(self.tls_port), "--tls-cert-file", tls["certificate"],
                               "--tls-key-file", tls["key"], "--tls-ca-cert-file", tls["ca"],
                               "--tls-auth-clients", tls.get("clients", "no")]
        self.process = None
        self.user = None
        self.start(reachable)

    def start(self, reachable=True):
        program = os.environ.get("LIBLOCK_REDIS_SERVER", "redis-server")
        log = open(self.directory / "log", "ab")
        self.process = subprocess.Popen(
            [program, "--port", str(self.port), "--unixsocket", self.path, "--save", "", "--appendonly", "no",
             "--dir", str(self.directory), "--bind", "127.0.0.1", "--enable-debug-command", "local", *self.arguments],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=die_with_parent)
        if reachable and not eventually(self.answers, 10):
            raise RuntimeError("redis-server did not start: " + (self.directory / "log").read_text()[-2000:])

    def answers(self):
        try:
            self.call("PING")
            return True
        except ServerError:
            return True  # it wants a password
        except OSError:
            return False

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def unix_url(self):
        return f"unix://{self.path}?db=0"

    def call(self, *words):
        """One command on a connection of its own; errors are raised."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            connection.connect(self.path)
            if self.user:
                connection.sendall(encode("AUTH", *self.user))
                read_reply(connection.makefile("rb"))
            connection.sendall(encode(*words))
            return read_reply(connection.makefile("rb"))

    def script_calls(self):
        info = self.call("INFO", "commandstats").decode()
        return sum(int(line.split("calls=")[1].split(",")[0]) for line in info.splitlines()
                   if line.startswith("cmdstat_eval"))

    def commands(self):
        """Calls by command, but for this function's own."""
        calls = {}
        for line in self.call("INFO", "commandstats").decode().splitlines():
            if line.startswith("cmdstat_"):
                name, rest = line[8:].split(":", 1)
                calls[name] = int(rest.split("calls=")[1].split(",")[0])
        return calls

    def locks(self, prefix="liblock:"):
        return [k for k in self.call("KEYS", "*") if k.startswith(prefix.encode()) and not k.startswith(b"ll1:")]

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    @contextlib.contextmanager
    def paused(self):
        self.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.signal(signal.SIGCONT)

    def restart(self):
        if self.process.poll() is None:
            self.kill()
        self.start()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def read_reply(stream):
    line = stream.readline()
    if not line:
        raise OSError("the server closed the connection")
    kind, rest = line[:1], line[1:-2]
    if kind == b"+":
        return rest
    if kind == b"-":
        raise ServerError(rest.decode())
    if kind == b":":
        return int(rest)
    if kind == b"$":
        return None if int(rest) < 0 else stream.read(int(rest) + 2)[:-2]
    return None if int(rest) < 0 else [read_reply(stream) for _ in range(int(rest))]


class Agent:
    """A process that locks as it is told. Each call answers a Reply at once; its result comes when it comes."""

    program = None

    def __init__(self):
        self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        preexec_fn=die_with_parent)
        self.replies = {}
        self.lock = threading.Lock()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            number, _, rest = line.decode("utf-8", "replace").rstrip("\n").partition(" ")
            with self.lock:
                reply = self.replies.pop(number, None)
            if reply:
                reply.settle(rest)

    def ask(self, verb, *arguments, **options):
        reply = Reply(f"{verb} {arguments} {options}")
        with self.lock:
            number = str(id(reply))
            self.replies[number] = reply
            words = [verb, *map(percent, arguments), *(f"{k}={percent(v)}" for k, v in options.items())]
            self.process.stdin.write(f"{number} {' '.join(words)}\n".encode())
            self.process.stdin.flush()
        return reply

    def __call__(self, verb, *arguments, **options):
        """The same, waiting for the end."""
        return self.ask(verb, *arguments, **options).result()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        """Lets it close everything; its exit status must be 0 (a sanitizer's report is another)."""
        self.process.stdin.close()
        status = self.process.wait(60 * SLOW)
        self.process.stdout.close()
        if status != 0:
            raise AssertionError(f"the agent ended with status {status}")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.end()
        else:
            self.kill()


def percent(value):
    raw = value if isinstance(value, bytes) else str(value).encode()
    return "".join(chr(b) if 0x21 <= b < 0x7f and b not in b"%=" else f"%{b:02x}" for b in raw)


class Reply:
    def __init__(self, what):
        self.what = what
        self.event = threading.Event()
        self.began = time.monotonic()
        self.status = None
        self.values = {}
        self.seconds = None

    def settle(self, text):
        self.seconds = time.monotonic() - self.began
        self.status, _, rest = text.partition(" ")
        if "message=" in rest:
            rest, _, message = rest.partition("message=")
            self.values["message"] = message.strip()
        for word in rest.split():
            name, _, value = word.partition("=")
            self.values[name] = int(value) if value.lstrip("-").isdigit() else value
        self.event.set()

    def result(self, seconds=60):
        if not self.event.wait(seconds * SLOW):
            raise AssertionError(f"no answer to {self.what} within {seconds} s")
        return self

    @property
    def is_settled(self):
        return self.event.is_set()

    def __getattr__(self, name):
        try:
            return self.__dict__["values"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self):
        return f"{self.what} -> {self.status} {self.values}"


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
        self.held = []

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
                if not (direction == "up" and self.hold):
                    for one in (source, target):
                        with contextlib.suppress(OSError):
                            one.shutdown(socket.SHUT_RDWR)
                return
            if self.delay[direction]:
                time.sleep(self.delay[direction])
            if self.swallow[direction]:
                continue
            if direction == "up" and self.hold:
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


class Rubbish:
    """A server that answers whatever it is asked with the same bytes."""

    def __init__(self, answer):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.answer = answer
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
            threading.Thread(target=self.talk, args=(client,), daemon=True).start()

    def talk(self, client):
        with contextlib.suppress(OSError), client:
            while client.recv(65536):
                client.sendall(self.answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


class Pretender:
    """A server that keeps no locks: it answers each command by its name, scripts with the given bytes."""

    def __init__(self, to_scripts):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.to_scripts = to_scripts
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
            threading.Thread(target=self.talk, args=(client,), daemon=True).start()

    def talk(self, client):
        answers = {b"INFO": b"$0\r\n\r\n", b"CLIENT": b"+OK\r\n", b"EVALSHA": self.to_scripts, b"EVAL": self.to_scripts}
        now = time.time()
        answers[b"TIME"] = encode(int(now), int(now % 1 * 1e6))
        with contextlib.suppress(OSError), client:
            stream = client.makefile("rb")
            while True:
                words = read_reply(stream)
                client.sendall(answers.get(words[0].upper(), b"+OK\r\n"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


TESTS = []


def test(function):
    """A test: its name is its sentence. A failing assert fails it."""
    TESTS.append(function)
    return function


def same(what, wanted):
    if what != wanted:
        raise AssertionError(f"{what!r}, not {wanted!r}")


def status(reply, *wanted):
    """The reply, when its status is one of these."""
    if reply.status not in wanted:
        raise AssertionError(f"{reply!r}: wanted {' or '.join(wanted)}")
    return reply


def main():
    """Runs the tests of a file as TAP: FILE AGENT [PART OF A NAME]."""
    Agent.program = sys.argv[1]
    part = sys.argv[2] if len(sys.argv) > 2 else ""
    chosen = [t for t in TESTS if part in t.__name__]
    failed = 0
    print(f"1..{len(chosen)}", flush=True)
    for number, function in enumerate(chosen, 1):
        began = time.monotonic()
        try:
            function()
            print(f"ok {number} - {function.__name__} # {time.monotonic() - began:.2f} s", flush=True)
        except Exception as error:  # whatever it is, the next test runs
            failed += 1
            print(f"not ok {number} - {function.__name__}", flush=True)
            trace = error.__traceback__
            while trace.tb_next and trace.tb_next.tb_frame.f_code.co_filename == function.__code__.co_filename:
                trace = trace.tb_next
            print(f"# line {trace.tb_lineno}: {type(error).__name__}: {error}".replace("\n", "\n# "), flush=True)
    sys.exit(failed != 0)
