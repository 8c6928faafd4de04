#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What every call answers under every fault: the table of docs/errors.md, one test for each of its cells. A test
arranges the fault, makes the call, and wants the status that the table names, in time, and nothing left behind."""
import contextlib
import os
import pathlib
import time

import harness
from harness import Agent, Server, ServerError, eventually, main, status, test
from networks import Pretender, Proxy, Rubbish

WAIT_MS, TIMEOUT_MS, TTL_MS = 400, 600, 3000
TABLE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "errors.md"


class Stage:
    """An agent with a lock on `held`, and a server that the fault is about to befall."""

    def __init__(self, *arguments, proxied=False, url=None, rows=0):
        self.stack = contextlib.ExitStack()
        self.server = None
        if url is None:
            self.server = self.stack.enter_context(Server(*arguments))
            for row in range(rows):
                self.server.call("SET", f"row{row}", os.urandom(1100))
            url = self.server.url
            if proxied:
                self.proxy = self.stack.enter_context(Proxy(self.server.port))
                url = self.proxy.url
        self.agent = self.stack.enter_context(Agent())
        status(self.agent("open", "c", url, command_timeout_ms=TIMEOUT_MS, connect_timeout_ms=TIMEOUT_MS), "OK")
        self.held = None
        if self.server:
            self.held = status(self.agent("acquire", "c", "held", ttl_ms=TTL_MS), "OK").lock
            # What holding brings with it is over: messages come, and the lock was verified once more.
            eventually(lambda: self.server.script_calls() >= 2)
            status(self.agent("verify", "c", self.held), "OK")

    def call(self, name):
        if name == "try":
            return self.agent("try", "c", "wanted", ttl_ms=TTL_MS)
        if name == "acquire":
            return self.agent("acquire", "c", "wanted", ttl_ms=TTL_MS, wait_ms=WAIT_MS, retry_interval_ms=50)
        if name == "release":
            return self.agent("release", "c", self.held)
        return self.agent("extend", "c", self.held, ttl_ms=TTL_MS)

    def __enter__(self):
        self.stack.__enter__()
        return self

    def __exit__(self, *error):
        return self.stack.__exit__(*error)


@contextlib.contextmanager
def plain(befall, **options):
    with Stage(**options) as stage:
        befall(stage)
        yield stage


def replace_by_hashes(stage):
    stage.server.call("DEL", "liblock:held")
    for key in ("held", "wanted"):
        stage.server.call("HSET", f"liblock:{key}", "a", "b")


def run_out_of_memory(stage):
    stage.server.call("CONFIG", "SET", "maxmemory-policy", "noeviction")
    stage.server.call("CONFIG", "SET", "maxmemory", "1000")


def make_busy(stage):
    stage.stack.callback(stage.server.keep_busy())
    assert eventually(stage.server.is_busy)


def load_slowly(stage):
    stage.server.call("SAVE")
    stage.server.kill()
    stage.server.arguments += ["--key-load-delay", "20000", "--loading-process-events-interval-bytes", "1024",
                               "--dbfilename", "dump.rdb"]
    stage.server.start(reachable=False)

    def loads():
        try:
            stage.server.call("GET", "row1")
            return False
        except ServerError as error:
            return str(error).startswith("LOADING")
        except OSError:
            return False

    assert eventually(loads)
    assert eventually(lambda: stage.agent("ping", "c").status == "SERVER")  # it is connected again


def stand_still(stage):
    stage.server.signal(harness.signal.SIGSTOP)


def kill(stage):
    """And it is known: a call that is sent before the end of the connection was read is in doubt, which is right."""
    stage.server.kill()
    assert eventually(lambda: stage.agent("ping", "c").status == "CONNECT")


def restart(stage):
    stage.server.restart()
    assert eventually(lambda: stage.agent("ping", "c").status == "OK")


def make_replica(stage):
    stage.server.call("REPLICAOF", "127.0.0.1", "1")


def swallow(stage):
    stage.proxy.swallow = {"up": True, "down": True}


def cut(stage):
    stage.proxy.cut_after["down"] = 3


def split(stage):
    stage.proxy.piece = 1


def rubbish(answer):
    @contextlib.contextmanager
    def made():
        with Rubbish(answer) as server, Stage(url=server.url) as stage:
            yield stage
    return made


def pretended(answer):
    @contextlib.contextmanager
    def made():
        with Pretender(answer) as server, Stage(url=server.url) as stage:
            yield stage
    return made


def guest(url):
    return lambda: Stage(url=url)


def wrong_password():
    @contextlib.contextmanager
    def made():
        with Server("--requirepass", "right") as server, Stage(url=server.url.replace("//", "//:wrong@")) as stage:
            yield stage
    return made()


FAULTS = {
    "a host that does not exist": guest("redis://no-such-host.invalid:6379/0"),
    "a port that nobody listens on": lambda: Stage(url=f"redis://127.0.0.1:{harness.free_port()}/0"),
    "a wrong password": wrong_password,
    "the key holds another type": lambda: plain(replace_by_hashes),
    "the server became a replica": lambda: plain(make_replica),
    "the server has no memory left": lambda: plain(run_out_of_memory),
    "the server is loading": lambda: plain(load_slowly, rows=200),
    "a script keeps the server busy": lambda: plain(make_busy),
    "the server forgot the scripts": lambda: plain(lambda stage: stage.server.call("SCRIPT", "FLUSH")),
    "the server was killed": lambda: plain(kill),
    "the server was restarted without its data": lambda: plain(restart),
    "the server stands still": lambda: plain(stand_still),
    "the connection is half open": lambda: plain(swallow, proxied=True),
    "the connection breaks within a reply": lambda: plain(cut, proxied=True),
    "replies come in single bytes": lambda: plain(split, proxied=True),
    "the server speaks rubbish": rubbish(bytes(range(256)) * 4),
    "the server announces a huge array": rubbish(b"*4294967295\r\n"),
    "the server announces a negative size": rubbish(b"$-5\r\n"),
    "the server nests arrays": rubbish(b"*1\r\n" * 5000),
    "the server sends a line without an end": rubbish(b"+" + b"x" * 300000),
    "the server is a cluster's, and points elsewhere": pretended(b"-MOVED 3999 127.0.0.1:6381\r\n"),
    "the server is a cluster's, and down": pretended(b"-CLUSTERDOWN The cluster is down\r\n"),
    "the script's answer is none": pretended(b"*2\r\n$2\r\nNO\r\n:1\r\n"),
    "the script's answer has absurd numbers": pretended(b"*3\r\n$2\r\nOK\r\n:9223372036854775807\r\n:0\r\n"),
}


def cells():
    """(fault, call, status) of the table under "On a server" in docs/errors.md."""
    columns = None
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        words = [w.strip() for w in line.strip().strip("|").split("|")]
        if line.startswith("| fault |"):
            columns = words[1:]
        elif columns and line.startswith("|") and not line.startswith("|-"):
            for call, wanted in zip(columns, words[1:]):
                yield words[0], call, wanted.strip("` ")
        elif columns and not line.startswith("|"):
            return


def make_test(fault, call, wanted):
    def cell():
        with FAULTS[fault]() as stage:
            answer = status(stage.call(call), wanted)
            most = (2 * TIMEOUT_MS + WAIT_MS) / 1000 + 0.5  # and not what it waits for besides
            assert answer.seconds < most * harness.SLOW, f"{answer} took {answer.seconds:.2f} s"
            if wanted not in ("OK", "LOST", "TIMEOUT", "NOT_HELD"):
                assert answer.values.get("message"), f"{answer} has no message"
    cell.__name__ = f"{call}: {fault}: {wanted}"
    test(cell)


for cell_of_table in cells():
    if cell_of_table[2] != "-":
        make_test(*cell_of_table)


@test
def every_fault_of_the_table_is_made_here_and_every_one_made_here_is_in_the_table():
    harness.same({fault for fault, _, _ in cells()}, set(FAULTS))
    calls = {}
    for fault, call, _ in cells():
        calls.setdefault(fault, []).append(call)
    assert all(c == ["try", "acquire", "release", "extend"] for c in calls.values()), calls


if __name__ == "__main__":
    main()
