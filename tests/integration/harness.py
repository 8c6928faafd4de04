# SPDX-License-Identifier: MIT
"""What the integration tests are made of: real servers, and agents: processes that lock through the
C API as they are told. Everything started here dies with the test, however
that ends. Standard library only."""
import contextlib
import ctypes
import functools
import os
import pathlib
import re
import secrets
import select
import shutil
import signal
import socket
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


@functools.cache
def quiet_ports():
    """Those below the range from which the kernel takes one for each connection that is made."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        least = int(file.read().split()[0])
    return range(max(1024, least - 12000), least) if least > 2048 else range(20000, 32000)


CLAIMS = {}  # port: the name that says to all processes that it is taken, as long as this one lives


def free_port():
    """A port that no connection is given and no other test takes meanwhile, also not while its server is down for a
    moment. Until give_port_back, or the end of this process."""
    for port in secrets.SystemRandom().sample(quiet_ports(), len(quiet_ports())):
        claim = socket.socket(socket.AF_UNIX)
        with socket.socket() as probe, contextlib.suppress(OSError):
            claim.bind(f"\0liblock-port-{port}")
            probe.bind(("127.0.0.1", port))
            CLAIMS[port] = claim
            return port
        claim.close()
    raise RuntimeError("there is no free port")


def give_port_back(port):
    CLAIMS.pop(port).close()


def encode(*words):
    out = b"*%d\r\n" % len(words)
    for word in words:
        word = word if isinstance(word, bytes) else str(word).encode()
        out += b"$%d\r\n%s\r\n" % (len(word), word)
    return out


class ServerError(Exception):
    pass


def recipe():
    """The rights for locking, as docs/operations.md gives them."""
    page = pathlib.Path(__file__).parents[2].joinpath("docs/operations.md").read_text(encoding="utf-8")
    line = re.search(r"^    ACL SETUSER locker on >PASSWORD (.*?)\n\n", page, re.MULTILINE | re.DOTALL)
    return tuple(line.group(1).split())


@functools.cache
def debug_commands(program):
    """What lets DEBUG be used; before 7.0 it was not asked for."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return [] if " v=6." in said else ["--enable-debug-command", "local"]


class Server:
    """A redis-server in a directory of its own. within: words before the command that starts it; environment: what it
    has beside that of the test."""

    def __init__(self, *arguments, tls=None, reachable=True, within=(), environment=None):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="liblock-"))
        self.path = str(self.directory / "s")
        self.port = free_port()
        self.tls_port = free_port() if tls else 0
        self.claimed = [port for port in (self.port, self.tls_port) if port]
        self.arguments = [str(a) for a in arguments]
        if tls:
            self.arguments += ["--tls-port", str(self.tls_port), "--tls-cert-file", tls["certificate"],
                               "--tls-key-file", tls["key"], "--tls-ca-cert-file", tls["ca"],
                               "--tls-auth-clients", tls.get("clients", "no")]
        self.within, self.environment = list(within), environment or {}
        self.process = None
        self.user = None
        self.start(reachable)

    def start(self, reachable=True):
        program = os.environ.get("LIBLOCK_REDIS_SERVER", "redis-server")
        log = open(self.directory / "log", "ab")
        self.process = subprocess.Popen(
            [*self.within, program, "--port", str(self.port), "--unixsocket", self.path, "--save", "",
             "--appendonly", "no", "--dir", str(self.directory), "--bind", "127.0.0.1", *debug_commands(program),
             *self.arguments],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=die_with_parent,
            env={**os.environ, **self.environment})
        log.close()
        if reachable and not (eventually(self.has_begun, 30) and self.answers()):
            raise RuntimeError("redis-server did not start: " + (self.directory / "log").read_text()[-2000:])

    def has_begun(self):
        return self.answers() or self.process.poll() is not None

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
        with self.send(*words) as connection:
            return read_reply(connection.makefile("rb"))

    def send(self, *words):
        """The same without waiting for the answer, which comes on the connection that is returned."""
        with contextlib.ExitStack() as stack:
            connection = stack.enter_context(socket.socket(socket.AF_UNIX))
            connection.settimeout(10)
            connection.connect(self.path)
            if self.user:
                connection.sendall(encode("AUTH", *self.user))
                read_reply(connection.makefile("rb"))
            connection.sendall(encode(*words))
            stack.pop_all()
            return connection

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

    def keep_busy(self, limit_ms=1):
        """A script without an end; other clients are told so once it has run for the limit. Returns what ends it."""
        self.call("CONFIG", "SET", "lua-time-limit", limit_ms)
        script = self.send("EVAL", "while true do end", 0)

        def is_killed():
            with contextlib.suppress(ServerError):  # it may not have begun yet
                self.call("SCRIPT", "KILL")
            return bool(select.select([script], [], [], 0.1)[0])

        def end():
            with script:
                assert eventually(is_killed), "the script cannot be killed"
        return end

    def is_busy(self):
        try:
            self.call("PING")
            return False
        except ServerError as error:
            return str(error).startswith("BUSY")

    def restart(self):
        if self.process.poll() is None:
            self.kill()
        self.start()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.kill()
        while self.claimed:  # a second stop gives nothing back that is somebody else's by then
            give_port_back(self.claimed.pop())
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
    """A process that locks as it is told. Each call answers a Reply at once; its result comes when it comes. within:
    words before the command that starts it."""

    program = None

    def __init__(self, within=(), **environment):
        self.process = subprocess.Popen([*within, self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, **environment}, preexec_fn=die_with_parent)
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
            try:
                self.process.stdin.write(f"{number} {' '.join(words)}\n".encode())
                self.process.stdin.flush()
            except OSError as error:
                raise AssertionError(f"the agent has ended with status {self.process.wait(10)}") from error
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


TESTS = []


def test(function):
    """A test: its name is its sentence. A failing assert fails it; what it returns, if anything, is its figures."""
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


def take_turns(agent, names, waiting, seconds=30):
    """Those who wait asynchronously, by turns in these contexts, have it one after the other, and give it back."""
    left, until = dict(enumerate(waiting)), time.monotonic() + seconds * SLOW
    while left and time.monotonic() < until:
        for number, reply in list(left.items()):
            if reply.is_settled:
                status(reply, "OK")
                agent("release", names[number % len(names)], reply.lock)
                del left[number]
        time.sleep(0.0005)
    same(len(left), 0)


def main():
    """Runs the tests of a file as TAP: FILE AGENT [PART OF A NAME]."""
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit(f"usage: {sys.argv[0]} AGENT [PART OF A NAME]; AGENT: integration-agent of a build")
    Agent.program = sys.argv[1]
    part = sys.argv[2] if len(sys.argv) > 2 else ""
    chosen = [t for t in TESTS if part in t.__name__]
    if not chosen:
        sys.exit(f"no test here has {part!r} in its name")
    failed = 0
    print(f"1..{len(chosen)}", flush=True)
    for number, function in enumerate(chosen, 1):
        began = time.monotonic()
        try:
            figures = function() or f"{time.monotonic() - began:.2f} s"
            print(f"ok {number} - {function.__name__} # {figures}", flush=True)
        except Exception as error:  # whatever it is, the next test runs
            failed += 1
            print(f"not ok {number} - {function.__name__}", flush=True)
            trace = error.__traceback__
            while trace.tb_next and trace.tb_next.tb_frame.f_code.co_filename == function.__code__.co_filename:
                trace = trace.tb_next
            print(f"# line {trace.tb_lineno}: {type(error).__name__}: {error}".replace("\n", "\n# "), flush=True)
    sys.exit(failed != 0)
