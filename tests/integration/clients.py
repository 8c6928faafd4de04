# SPDX-License-Identifier: MIT
"""Processes that lock and work at a resource (client.c, and its like in other languages), started, bent and killed by
tests, and what they wrote down: read here, in the words of client_record.c."""
import contextlib
import dataclasses
import os
import pathlib
import signal
import struct
import subprocess
import tempfile
import time

from harness import SLOW, die_with_parent

KEYS_MAX = 8
IDLE, ASKING, HOLDING, RELEASING = range(4)
PLACE, MOMENT = struct.Struct("<4Q"), struct.Struct("<3Q3q")
ENDS_WITHIN_S = 20 * SLOW


@dataclasses.dataclass
class Place:
    """What the resource has of one key."""
    token: int
    value: int
    written: int
    refused: int


@dataclasses.dataclass
class Moment:
    """Where a client is now, or was when it was killed. Times in ns of the monotonic clock."""
    state: int = IDLE
    key: int = 0
    token: int = 0
    asked: int = 0
    begin: int = 0
    until: int = 0


@dataclasses.dataclass
class Call:
    """One acquire and what came of it. From begin until `until` its client certainly held; both 0: never certainly.
    status: of the release, or of the acquire that failed; None: nobody knows, since the client was killed."""
    key: str
    who: str
    asked: int
    ended: int
    status: int = None
    token: int = 0
    begin: int = 0
    until: int = 0

    @property
    def process(self):
        return self.who.partition(".")[0]

    @property
    def is_hold(self):
        return self.until > 0

    def span(self):
        """As check-intervals reads it."""
        return f"{self.key} {self.who} {self.token} {self.begin} {self.until} {self.asked}"


class Clients:
    """In a directory with the resource they work at. Each has a name, which it keeps when it is killed and another one
    takes its place. programs: the words that start one, taken in turn by number of the client."""

    def __init__(self, programs, url, way="careful", hold_ms=20, keys=3, max_ttl_ms=800, votes=0, timeout_ms=0, seed=0):
        self.programs, self.url, self.way = programs, url, way
        self.ways = [str(keys), str(max_ttl_ms), str(hold_ms), way]
        self.rest = [str(votes), str(timeout_ms)]
        self.keys, self.seed = keys, seed
        self.folder = tempfile.TemporaryDirectory(prefix="liblock-")
        self.directory = pathlib.Path(self.folder.name)
        (self.directory / "resource").write_bytes(bytes(PLACE.size * KEYS_MAX))
        self.running, self.numbers = {}, {}
        self.killed = []  # calls that nobody could write down
        self.wrong = []
        self.started = 0

    def start(self, client):
        self.started += 1
        number = self.numbers.setdefault(client, len(self.numbers))
        words = [*self.program_of(client, number), self.url, client, str(self.directory), *self.ways,
                 str(self.seed + self.started), *self.rest]
        # AddressSanitizer looks for leaks at the end, and of a process that was stopped it may wait for ever for a
        # thread that it traces. Leaks are looked for everywhere else.
        environment = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
        self.running[client] = subprocess.Popen(words, env=environment, preexec_fn=die_with_parent)

    def program_of(self, _client, number):
        return self.programs[number % len(self.programs)]

    def kill(self, client):
        ended = self.running[client].poll()
        if ended is not None:
            self.wrong.append(f"{client} ended by itself with status {ended}")
        self.running[client].kill()
        self.running[client].wait()
        for file in self.files(client, "now"):
            moment, who = read_moment(file), file.name.removesuffix(".now")
            if moment.state != IDLE:
                is_hold = moment.until > moment.begin > 0
                self.killed.append(Call(f"k{moment.key}", who, moment.asked, time.monotonic_ns(), None, moment.token,
                                        moment.begin if is_hold else 0, moment.until if is_hold else 0))
            file.unlink()

    def files(self, client, suffix):
        """One for each thread of the process."""
        return [*self.directory.glob(f"{client}.{suffix}"), *self.directory.glob(f"{client}.[0-9]*.{suffix}")]

    def signal(self, client, what):
        self.running[client].send_signal(what)

    def stands_still(self, client):
        """By the kernel's word."""
        status = pathlib.Path(f"/proc/{self.running[client].pid}/stat").read_text()
        return status.rpartition(")")[2].split()[0] == "T"

    def moments(self, client):
        return [read_moment(file) for file in self.files(client, "now")]

    def places(self):
        raw = (self.directory / "resource").read_bytes()
        return [Place(*PLACE.unpack_from(raw, PLACE.size * key)) for key in range(self.keys)]

    def lost_updates(self):
        return sum(place.written - place.value for place in self.places())

    def told(self, what):
        """The sum of what those in C say: passed_on, how often locks went from hand to hand within a process, at their
        end; forked, how often one has made a child while it held."""
        return sum(int(line) for file in self.directory.glob(f"*.{what}") for line in file.read_text().splitlines())

    def calls(self, client=None):
        """Of one client or all of them, in the order of their ends; without those under way."""
        found = [call for call in self.killed if client in (None, call.process)]
        for name in [client] if client else self.numbers:
            for log in self.files(name, "log"):
                found += map(read_call, log.read_text().splitlines())
        return sorted(found, key=lambda call: call.ended)

    def holds(self, client=None):
        return [call for call in self.calls(client) if call.is_hold]

    def held_since(self, client, began_ns):
        """Whether each of its threads has."""
        logs = self.files(client, "log")
        return bool(logs) and all(any(call.begin >= began_ns for call in read_last(log)) for log in logs)

    def end(self):
        (self.directory / "stop").touch()
        for client, process in self.running.items():
            process.send_signal(signal.SIGCONT)
            try:
                status = process.wait(ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                process.kill()
                status = f"none within {ENDS_WITHIN_S:.0f} s"
            if status != 0:
                self.wrong.append(f"{client} ended with status {status}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.running.values():
            process.kill()
            process.wait()
        self.folder.cleanup()


def read_moment(file):
    with contextlib.suppress(OSError, struct.error):
        return Moment(*MOMENT.unpack(file.read_bytes()))
    return Moment()


def read_last(log):
    """The last calls of a file."""
    with open(log, "rb") as file:
        file.seek(max(0, file.seek(0, 2) - 1024))
        return list(map(read_call, file.read().decode().splitlines()[1:]))


def read_call(line):
    words = line.split()
    numbers = list(map(int, words[3:]))
    if words[0] == "hold":
        token, asked, begin, until, ended, status = numbers
        return Call(words[1], words[2], asked, ended, status, token, begin, until)
    token, asked, ended, status = numbers
    return Call(words[1], words[2], asked, ended, status, token)


def judge_spans(check, calls, *arguments):
    """(what is wrong, one line each, of which not all are told; a line of figures), by check-intervals."""
    spans = "\n".join(call.span() for call in calls if call.is_hold)
    judged = subprocess.run([check, *arguments], input=spans, capture_output=True, text=True)
    lines = judged.stdout.splitlines()
    if judged.returncode not in (0, 1) or not lines:
        raise RuntimeError(f"check-intervals ended with {judged.returncode}: {judged.stdout[-500:]}")
    return lines[:-1], lines[-1]


def stop_a_holder(clients, is_enough, rounds=60):
    """Three clients, one of which is stopped for longer than its lease until that has shown on the resource."""
    for name in ("client0", "client1", "client2"):
        clients.start(name)
    for _ in range(rounds):
        time.sleep(0.2)
        clients.signal("client0", signal.SIGSTOP)
        time.sleep(0.6)
        clients.signal("client0", signal.SIGCONT)
        if is_enough(clients):
            break
    clients.end()
    place = clients.places()[0]
    return place.written, clients.lost_updates(), place.refused, clients.wrong
