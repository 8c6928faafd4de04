# SPDX-License-Identifier: MIT
"""The paths that are counted: where, under which name, how often, and what of each does not vary.

Two threads that wake each other, or a thread and its loop, look and sleep as a scheduler has them: of a call that
waits only what is sent is counted. How many answers of servers are there at one turn of the loop is a matter of chance,
and with it the system calls for them. Renewals go out by the clock: how many are due together depends on the machine,
so that they are only counted roughly.
"""
from typing import NamedTuple

LOCAL = ("instructions", "allocations", "system_calls")
OF_MANY = ("instructions", "allocations", "commands", "writes", "round_trips")
REMOTE = ("instructions", "allocations", "system_calls", "commands", "writes", "round_trips")
WAITING = ("commands", "writes", "round_trips")


class Path(NamedTuple):
    where: str  # local, redis, quorum
    name: str
    walk: str  # as the program calls it
    rounds: int
    kinds: tuple
    is_paced: bool = False  # by the clock: more or fewer go out together
    tenth: str = ""  # the same path with a tenth of whatever there is many of: what one costs may not grow


def local(name, walk, rounds=2000):
    return Path("local", f"local: {name}", walk, rounds, LOCAL)


PATHS = [
    local("acquire, release", "acquire"),
    local("the same, both with a result", "acquire with results"),
    local("try, release", "try"),
    local("acquire with a lease, release", "acquire with a lease"),
    local("the same with a key of 64 bytes", "acquire a key of 64 bytes with a lease"),
    local("acquire for an owner, release", "acquire for an owner"),
    local("acquire for the calling thread, release", "acquire for the thread"),
    local("reenter, release", "reenter"),
    local("acquire three keys with a lease, release", "acquire three keys with a lease"),
    local("try what is busy", "try what is busy"),
    local("acquire_async to a completion queue, release", "acquire to a completion queue"),
    local("acquire_async to a callback, release", "acquire to a callback on a loop"),
    local("acquire_async of a held key, release that hands it over", "hand over"),
    local("is_held", "is_held"),
    local("remaining_ms", "remaining_ms"),
    local("inspect", "inspect"),
    local("open and close an owner, beside 300", "open an owner beside 300"),
    local("open and close an owner, beside 3,000", "open an owner beside 3,000")._replace(
        tenth="local: open and close an owner, beside 300"),
    Path("redis", "redis: acquire, release", "acquire on servers", 300, REMOTE),
    Path("redis", "redis: acquire, release, both waited for", "acquire", 300, WAITING),
    Path("redis", "redis: 64 at once acquire, release", "64 acquires at once", 20, OF_MANY),
    Path("redis", "redis: renew a lease, one of 1,000", "renew 1,000 leases", 1,
         ("instructions", "allocations", "commands"), is_paced=True),
    Path("redis", "redis: an owner's lock, beside 300", "life of an owner beside 300 locks", 100, ("instructions",)),
    Path("redis", "redis: an owner's lock, beside 3,000", "life of an owner beside 3,000 locks", 100, ("instructions",),
         tenth="redis: an owner's lock, beside 300"),
    Path("redis", "redis: hand over to another client", "hand over to another client", 200, REMOTE),
    Path("redis", "redis: hand over within the process", "hand over within the process", 200, ("instructions",),
         is_paced=True),
    Path("quorum", "quorum of 3: acquire, release", "acquire on servers", 200, OF_MANY),
    Path("quorum", "quorum of 3: 64 at once acquire, release", "64 acquires at once", 10, OF_MANY),
    Path("quorum", "quorum of 3: renew a lease, one of 1,000", "renew 1,000 leases", 1,
         ("instructions", "allocations", "commands"), is_paced=True),
    Path("quorum", "quorum of 3: hand over within the process", "hand over within the process", 200,
         ("instructions",), is_paced=True),
]
# What is known without counting, for whoever asks whether the instruments see anything.
KNOWN = Path("local", "known", "known", 1000, LOCAL)
