# SPDX-License-Identifier: MIT
"""The curves of bench/scale.py: of what there is more and more, where, and which costs of one are looked at. A cost is
computed out of the figures of the program and, by the name of a mark, of what the servers saw between it and the mark
before. Flat costs stay as they are however many there are; others may grow as one of n does where all cost n log n."""
from dataclasses import dataclass
from typing import Callable, Optional

from . import growth

NOISE = 0.1  # of an exponent: from one run to the next, and where more does not fit the caches any more
FLAT, LOG = "flat", "log n"


@dataclass(frozen=True)
class Cost:
    label: str
    unit: str
    compute: Callable  # (figures, size) -> cost of one
    grows: Optional[str] = None  # None: shown, not judged
    most: Optional[float] = None  # of the cost itself, at the greatest size
    is_total: bool = False  # what happened in any round counts

    def exponent_most(self, sizes):
        if self.grows is None:
            return None
        return NOISE if self.grows == FLAT else growth.of_log(sizes) + NOISE


@dataclass(frozen=True)
class Curve:
    id: str
    where: str  # local, redis, quorum
    what: str  # as the program calls it
    title: str
    sizes: tuple
    costs: tuple
    judged_from: int = 1  # below that what is paid once hides what one costs

    @property
    def judged(self):
        return tuple(size for size in self.sizes if size >= self.judged_from)


def figure(label, unit, name, grows=None, scale=1.0, most=None):
    return Cost(label, unit, lambda figures, size: figures[name] * scale, grows, most)


def share(label, unit, name, by=None, grows=None, scale=1.0):
    """A sum over all, of which this is one's; or one's of so many as another figure says."""
    return Cost(label, unit, lambda figures, size: figures[name] * scale / (figures[by] if by else size), grows)


QUEUE = (
    figure("client CPU to queue one", "us", "enqueue_cpu_ns", LOG, 1e-3),
    figure("client CPU per hand-over", "us", "hand_over_cpu_ns", LOG, 1e-3),
    figure("time per hand-over", "us", "hand_over_ns", scale=1e-3),
    figure("client memory per waiter", "B", "client_bytes", FLAT),
)


def remote_queue(is_judged):
    """What waiters cost a server is judged only where it knows each of them. Those of one process are one to it: what
    one of n costs there is what that one costs, divided by n, whatever a server does with more."""
    log, flat = (LOG, FLAT) if is_judged else (None, None)
    return QUEUE + (
        share("server CPU to queue one", "us", "queued.cpu_s", grows=log, scale=1e6),
        share("server memory per waiter", "B", "queued.memory", grows=flat),
        share("commands per hand-over", "", "handed_over.commands", grows=flat),
        share("server CPU per hand-over", "us", "handed_over.cpu_s", grows=log, scale=1e6),
        Cost("commands per waiter and second, waiting", "1/s",
             lambda figures, size: figures["waited.commands"] / size / figures["waiting_s"]),
        figure("client CPU while they wait", "% of a core", "waiting_cpu_share", scale=100),
        Cost("server CPU while they wait", "% of a core",
             lambda figures, size: 100 * figures["waited.cpu_s"] / figures["waiting_s"]),
    )


HOLD = (
    figure("client CPU to take one", "us", "acquire_cpu_ns", LOG, 1e-3),
    figure("client CPU to give one back", "us", "release_cpu_ns", LOG, 1e-3),
    figure("client CPU of a pair on other keys", "us", "pair_cpu_ns", FLAT, 1e-3),
    figure("client memory per held key", "B", "client_bytes", FLAT),
)
REMOTE_HOLD = HOLD + (
    share("server memory per held key", "B", "held.memory", grows=FLAT),
    share("server CPU of a pair on other keys", "us", "paired.cpu_s", "pairs", FLAT, 1e6),
)
OWNED = (
    figure("client CPU to open an owner", "us", "open_cpu_ns", LOG, 1e-3),
    figure("client CPU to queue one, searched", "us", "enqueue_cpu_ns", LOG, 1e-3),
    figure("client CPU per hand-over", "us", "hand_over_cpu_ns", LOG, 1e-3),
    figure("client CPU to close an owner that holds", "us", "close_cpu_ns", LOG, 1e-3),
)
KEPT = (
    figure("client CPU", "% of a core", "cpu_share", scale=100, most=10),
    Cost("commands", "1/s", lambda figures, size: figures["kept.commands"] / figures["seconds"], most=2000),
    Cost("server CPU", "% of a core", lambda figures, size: 100 * figures["kept.cpu_s"] / figures["seconds"]),
    Cost("client CPU per renewal", "us",
         lambda figures, size: 1e6 * figures["cpu_share"] * figures["seconds"] / max(figures["renewals"], 1), LOG),
    Cost("commands per renewal", "", lambda figures, size: figures["kept.commands"] / max(figures["renewals"], 1),
         FLAT),
    Cost("server CPU per renewal", "us",
         lambda figures, size: 1e6 * figures["kept.cpu_s"] / max(figures["renewals"], 1), LOG),
    Cost("leases lost", "", lambda figures, size: figures["lost"], most=0, is_total=True),
)
NODES = (
    share("client CPU per pair and node", "us", "pair_cpu_ns", grows=LOG, scale=1e-3),
    share("server CPU per pair, of one node", "us", "done.cpu_s", grows=None, scale=1e6 / 500),
    Cost("commands per pair and node", "", lambda figures, size: figures["done.commands"] / figures["pairs"] / size,
         FLAT),
    figure("a pair, p50", "us", "pair_p50_ns", scale=1e-3),
    figure("a pair, p99", "us", "pair_p99_ns", scale=1e-3),
)
TO_10_000 = (1, 10, 100, 1_000, 10_000)
BUT_10 = (1, 100, 1_000, 10_000)  # below 100 nothing is fitted, and each point with a server takes two seconds

CURVES = (
    Curve("waiters-local", "local", "waiters", "waiters of one key, local", TO_10_000, QUEUE, 100),
    Curve("waiters-redis", "redis", "waiters", "waiters of one process, one key, one server", BUT_10,
          remote_queue(False), 100),
    Curve("waiters-quorum", "quorum", "waiters", "waiters of one process, one key, quorum of 3", (1, 10, 100, 1_000),
          remote_queue(False), 10),
    Curve("standing-redis", "redis", "standing", "waiters that the server knows one by one, one key, one server",
          BUT_10, remote_queue(True), 100),
    Curve("held-local", "local", "held", "keys held, local", (1_000, 10_000, 100_000, 1_000_000), HOLD, 10_000),
    Curve("held-redis", "redis", "held", "keys held, one server", (1_000, 10_000, 100_000), REMOTE_HOLD, 1_000),
    Curve("held-quorum", "quorum", "held", "keys held, quorum of 3", (1_000, 10_000, 100_000), REMOTE_HOLD, 1_000),
    Curve("renewed", "redis", "renewed", "leases of 30 s kept alive (S1), one server", (100, 1_000, 10_000, 100_000),
          KEPT, 1_000),
    Curve("owners-local", "local", "owners", "named owners, local", (10, 100, 1_000, 10_000), OWNED, 100),
    Curve("owners-redis", "redis", "owners", "named owners, one server", (10, 30, 100, 300), OWNED, 10),
    Curve("nodes", "nodes", "pairs", "nodes of a quorum", (3, 5, 7, 9), NODES, 3),
)
