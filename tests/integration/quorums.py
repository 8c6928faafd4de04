# SPDX-License-Identifier: MIT
"""Servers that are a quorum together: started, founded, and taken by their number."""
import contextlib

from harness import Agent, Server, status
from switchboard import Switchboard

MAX_TTL_MS = 1500  # short silences; leases by renewal are as long at the most
LONG = {"ttl_ms": MAX_TTL_MS}  # nothing is renewed meanwhile
PATIENCE_MS = 5000  # of who founds: a busy machine is no reason to be in doubt


class Quorum:
    """So many servers, and the url that names them. proxied: the url names a switchboard's ports
    instead, behind which they are. votes: of its configuration, 0 = a majority; servers: what each is told beside."""

    def __init__(self, count=5, *arguments, founded=True, proxied=False, max_ttl_ms=MAX_TTL_MS, votes=0, **servers):
        self.max_ttl_ms = max_ttl_ms
        self.stack = contextlib.ExitStack()
        self.servers, self.board = [], None
        try:
            for _ in range(count):
                self.servers.append(self.stack.enter_context(Server(*arguments, **servers)))
            if proxied:
                self.board = self.stack.enter_context(Switchboard([server.port for server in self.servers]))
            if founded:
                found(self.url, max_ttl_ms, votes=votes)
        except BaseException:
            self.stack.close()
            raise

    @property
    def url(self):
        if self.board:
            return "quorum:" + ",".join(f"redis://127.0.0.1:{port}/0" for port in self.board.ports)
        return "quorum:" + ",".join(server.url for server in self.servers)

    def __getitem__(self, number):
        return self.servers[number]

    def held_on(self, key, prefix="liblock:"):
        return sum(server.call("EXISTS", prefix + key) for server in self.servers)

    def script_calls(self):
        return [server.script_calls() for server in self.servers]

    def voting(self):
        """How many do, by what they say of themselves."""
        return sum(votes(server) for server in self.servers)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()


def votes(server):
    said = server.call("HMGET", "ll1:node", "silent_until", "needs_floor")
    seconds, micros = server.call("TIME")
    return said[1] == b"0" and int(seconds) * 1000000 + int(micros) >= int(said[0])


def found(url, max_ttl_ms=MAX_TTL_MS, votes=0, within=()):
    """A new cluster is silent until somebody says that it is one."""
    with Agent(within) as agent:
        status(agent("open", "founder", url, max_ttl_ms=max_ttl_ms, votes=votes, connect_timeout_ms=PATIENCE_MS,
                     command_timeout_ms=PATIENCE_MS), "OK")
        status(agent("quorum_init", "founder"), "OK")


def opened(agent, quorum, name="c", **options):
    status(agent("open", name, quorum.url, **{"max_ttl_ms": quorum.max_ttl_ms, **options}), "OK")
    return agent


def locked(agent, key="k", context="c", **options):
    return status(agent("acquire", context, key, **options), "OK")


def released(agent, lock, *wanted, context="c"):
    return status(agent("release", context, lock.lock), *(wanted or ["OK"]))


def answered(url, wanted, says, **options):
    with Agent() as agent:
        answer = status(agent("open", "c", url, max_ttl_ms=MAX_TTL_MS, **options), wanted)
        assert says in answer.message, answer
        assert "s3cr3t" not in answer.message, answer
