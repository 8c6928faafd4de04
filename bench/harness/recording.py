# SPDX-License-Identifier: MIT
"""What the library sends for one pair, so that floors and ceilings carry the same commands: one pair is run beside
MONITOR, and its acquire and release are taken from what the server saw. No script is named here and no argument is
known by its place: what must vary is found by its value, so that a change of the scripts changes what is compared with,
and not this file. A pair that is alone has a release of its own. With many at once the library gives back several locks
in one call: such a call is recorded as well, from as many pairs at once as are measured.

  lock key     the argument that ends in the key that was locked; other keys are told by the key within them
  attempt id   the longest run of hexadecimal digits that both commands have and that is no script's
  times        numbers that are within an hour of the server's clock in microseconds: moved an hour ahead, since a
               command that is sent again later would otherwise be refused as late
"""
import codecs
import re
import socket
import threading

HOUR_US = 3_600_000_000
DIGITS = 12  # of the number that redis-benchmark puts where __rand_int__ stands
WORD = re.compile(rb'"((?:[^"\\]|\\.)*)"')


class Recording:
    """One pair of one form. acquire, release: lists of words."""

    def __init__(self, acquire, release, key, now_us):
        self.key = key
        self.acquire = [later(word, now_us) for word in acquire]
        self.release = [later(word, now_us) for word in release]
        self.id = shared_id(acquire, release)
        if not any(word.endswith(key) for word in acquire):
            raise ValueError("the acquire does not name the key that was locked")
        self.lock_key = min((word for word in acquire if word.endswith(key)), key=len)

    def with_number(self, words, number):
        """The same command for another key and another attempt."""
        key = b"%0*d" % (len(self.key), number)
        return [word.replace(self.key, key).replace(self.id, b"%0*x" % (len(self.id), number + 1)) for word in words]


class JoinedRelease:
    """The call that gave back the most locks at once, and which attempt held each of them."""

    def __init__(self, single, commands):
        name_at, id_at = single.acquire.index(single.lock_key), single.acquire.index(single.id)
        held, self.words, self.locks = {}, [], []
        for words in commands:
            if words[1] == single.acquire[1]:
                held[words[name_at]] = words[id_at]
            elif words[1] == single.release[1]:
                given_back = [(name, held[name]) for name in words if name in held]
                if len(given_back) > len(self.locks):
                    self.words, self.locks = words, given_back
        self.key_size, self.id_size = len(single.key), len(single.id)
        if len(self.locks) < 2 or any(attempt not in self.words for _, attempt in self.locks):
            raise ValueError("no two releases went as one call")

    def with_numbers(self, first):
        """The same call for the locks of acquires with so many numbers, from this one on."""
        words = self.words
        for number, (name, attempt) in enumerate(self.locks, first):
            key, another = name[-self.key_size:], b"%0*d" % (self.key_size, number)
            words = [word.replace(key, another).replace(attempt, b"%0*x" % (self.id_size, number + 1))
                     for word in words]
        return words


def later(word, now_us):
    if word.isdigit() and abs(int(word) - now_us) < HOUR_US:
        return b"%d" % (int(word) + HOUR_US)
    return word


def shared_id(acquire, release):
    """Words two and on: the first two are the command and the script."""
    found = {run for word in acquire[2:] for run in re.findall(rb"[0-9a-f]{16,}", word)}
    shared = [run for run in found if any(run in word for word in release[2:])]
    if not shared:
        raise ValueError("acquire and release have no attempt in common")
    return max(shared, key=len)


def parse(line):
    """The words of one line of MONITOR, or None where a script said it."""
    if b" lua]" in line.split(b'"', 1)[0]:
        return None
    return [codecs.escape_decode(word)[0] for word in WORD.findall(line)]


def encode(words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


class Monitor:
    """What a server is asked within a with block."""

    def __init__(self, server):
        self.lines = []
        self.socket = server.send("MONITOR")
        self.stream = self.socket.makefile("rb")
        self.stream.readline()
        self.reader = threading.Thread(target=self.read, daemon=True)

    def read(self):
        for line in self.stream:
            self.lines.append(line)

    def __enter__(self):
        self.reader.start()
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.reader.join(10)
        self.stream.close()
        self.socket.close()

    def commands(self):
        return [words for words in map(parse, self.lines) if words]


def scripts_called(server, run):
    """The calls of scripts that the server saw while run() ran."""
    with Monitor(server) as monitor:
        run()
        server.call("PING")
    return [words for words in monitor.commands() if words[0].lower() == b"evalsha"]


def record(server, key, run):
    """run() makes some pairs on this key, one after the other, the last of which counts."""
    about = [words for words in scripts_called(server, run) if any(key in word for word in words)]
    if len(about) < 2 or len(about) % 2:
        raise ValueError(f"{len(about)} commands about the key, not pairs")
    seconds, micros = server.call("TIME")
    return Recording(about[-2], about[-1], key, int(seconds) * 1_000_000 + int(micros))


def answer_of(server, words):
    """The answer as it comes; not that of a failure."""
    with server.send(*words) as connection:
        answer = connection.recv(65536)
    if answer[:1] == b"-" or any(word in answer for word in (b"BUSY", b"LATE")):
        raise ValueError(f"{words[0]!r} is answered {answer[:200]!r}")
    return answer


def write_commands(path, answer, commands):
    """As bench-floors reads them. Answers of success differ in times and tokens alone, numbers of many digits: they
    are all as long as this one, and begin and end as it does."""
    head = re.match(rb"(?:(?!\d{10}).)*", answer, re.DOTALL).group()
    tail = answer[len(head):] and re.split(rb"\d{10,}", answer)[-1]
    with open(path, "wb") as file:
        file.write(b"%d %d %d\n%s%s" % (len(answer), len(head), len(tail), head, tail))
        for words in commands:
            encoded = encode(words)
            file.write(b"%d\n%s" % (len(encoded), encoded))


def write_pairs(folder, server, recording, count, joined=None):
    """Files of so many acquires and their releases, each on a key of its own, tried on the server first. With a joined
    release there are as many of those as give all of them back."""
    acquires = [recording.with_number(recording.acquire, n) for n in range(count)]
    if joined is None:
        releases = [recording.with_number(recording.release, n) for n in range(count)]
    elif count % len(joined.locks) == 0:
        releases = [joined.with_numbers(first) for first in range(0, count, len(joined.locks))]
    else:
        raise ValueError(f"{count} locks are no multiple of the {len(joined.locks)} that a call gives back")
    answer = [answer_of(server, words) for words in acquires[:1 if joined is None else len(joined.locks)]][0]
    paths = folder / "acquires", folder / "releases"
    write_commands(paths[0], answer, acquires)
    write_commands(paths[1], answer_of(server, releases[0]), releases)
    return paths
