# SPDX-License-Identifier: MIT
"""What is measured against what. A row has parts; a part computes one figure out of the metrics of one round,
so that everything that a ratio is made of was measured within the same minute. Parts with a goal are judged,
parts without are printed beside them. Metrics are named program.benchmark, or program.benchmark:counter."""

from dataclasses import dataclass, field
from typing import Callable, Optional


@dataclass(frozen=True)
class Goal:
    at_most: bool
    reach: float
    aim: float

    def verdict(self, value):
        for bound, word in ((self.aim, "aim met"), (self.reach, "reach met")):
            if value <= bound if self.at_most else value >= bound:
                return word
        return "MISSED"

    def text(self, bound):
        return f"{'<=' if self.at_most else '>='} {bound:g}"


@dataclass(frozen=True)
class Part:
    label: str
    unit: str
    needs: tuple
    compute: Callable
    goal: Optional[Goal] = None


@dataclass(frozen=True)
class Row:
    id: str
    title: str
    parts: tuple
    required: bool = False
    needs: frozenset = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "needs", frozenset(need for part in self.parts for need in part.needs))


def at_most(reach, aim):
    return Goal(True, reach, aim)


def at_least(reach, aim):
    return Goal(False, reach, aim)


def ratio(label, above, below, goal=None):
    return Part(label, "x", (above, below), lambda a, b: a / b, goal)


def plain(label, metric, unit, goal=None, scale=1.0):
    return Part(label, unit, (metric,), lambda a: a * scale, goal)


def slow_down(label, benchmark, goal):
    needs = (benchmark + ":on_ns", benchmark + ":off_ns")
    return Part(label, "%", needs, lambda on, off: 100 * (on / off - 1), goal)


PAIR = "pairs.liblock_pair/lease"
MUTEX = "pairs.mutex_pair"
DISJOINT = "contended.disjoint/"
FIFO_2 = "contended.fifo/2_threads"
FIFO_64 = "contended.fifo/64_threads"
RINGS = ("contended.futex_ring/64:per_second", "contended.futex_ring/64_again:per_second")
SPIN = "contended.spin_ping_pong:ns"


def over_rings(label, benchmark):
    needs = (benchmark + ":handed_off_per_second",) + RINGS
    return Part(label, "x", needs, lambda ours, one, two: ours / ((one + two) / 2), at_least(1.2, 3))


LOCAL = (
    Row("L1", "uncontended keyed pair, 16-byte key, with a lease, through the C ABI", (
        ratio("pair / std::mutex pair", PAIR, MUTEX, at_most(2.5, 1.8)),
        plain("std::mutex pair", MUTEX, "ns"),
        plain("pair with a lease, 1,024 keys", PAIR, "ns"),
        plain("the same on one single key", "pairs.liblock_pair/one_key", "ns"),
        plain("pair with NULL options (no lease)", "pairs.liblock_pair/null_options", "ns"),
        plain("pair with a lease and a named owner", "pairs.liblock_pair/named_owner", "ns"),
        plain("pair with a lease on 64-byte keys", "pairs.liblock_pair/key64", "ns"),
    ), required=True),
    Row("L2", "the same pair against other keyed locks", (
        ratio("pair / 64 x unordered_map + mutex", PAIR, "pairs.unordered_map_pair/hot", at_most(0.6, 0.4)),
        ratio("pair / oneTBB accessor", PAIR, "pairs.tbb_pair/hot", at_most(0.45, 0.3)),
        ratio("pair / Go keyed mutex", PAIR, "go.go_keyed_mutex/hot", at_most(0.65, 0.4)),
        ratio("pair / 64 x flat_hash_map + absl::Mutex", PAIR, "pairs.absl_pair/hot"),
        ratio("pair / oneTBB accessor, elements kept", PAIR, "pairs.tbb_kept_pair/hot"),
        plain("64 x unordered_map + mutex", "pairs.unordered_map_pair/hot", "ns"),
        plain("oneTBB accessor", "pairs.tbb_pair/hot", "ns"),
        plain("oneTBB accessor, elements kept", "pairs.tbb_kept_pair/hot", "ns"),
        plain("64 x flat_hash_map + absl::Mutex", "pairs.absl_pair/hot", "ns"),
        plain("Go keyed mutex", "go.go_keyed_mutex/hot", "ns"),
        plain("striped mutex x 4,096 (floor)", "pairs.striped_pair/hot", "ns"),
    ), required=True),
    Row("L3", "pair over 1,000,000 keys in random order", (
        ratio("pair / striped mutex", "pairs.liblock_pair/random", "pairs.striped_pair/random",
              at_most(3, 2)),
        plain("pair with a lease", "pairs.liblock_pair/random", "ns"),
        plain("striped mutex x 4,096 (floor)", "pairs.striped_pair/random", "ns"),
        plain("64 x unordered_map + mutex", "pairs.unordered_map_pair/random", "ns"),
        plain("oneTBB accessor", "pairs.tbb_pair/random", "ns"),
    ), required=True),
    Row("L4", "2 threads on disjoint keys, throughput", (
        ratio("pairs / 64 x unordered_map", DISJOINT + "liblock:per_second",
              DISJOINT + "unordered_map:per_second", at_least(2, 3.3)),
        ratio("pairs / striped mutex (floor)", DISJOINT + "liblock:per_second",
              DISJOINT + "striped:per_second"),
        plain("pairs with a lease", DISJOINT + "liblock:per_second", "M/s", scale=1e-6),
        plain("64 x unordered_map + mutex", DISJOINT + "unordered_map:per_second", "M/s", scale=1e-6),
        plain("oneTBB accessor", DISJOINT + "tbb:per_second", "M/s", scale=1e-6),
        plain("64 x flat_hash_map + absl::Mutex", DISJOINT + "absl:per_second", "M/s", scale=1e-6),
    ), required=True),
    Row("L5", "strict FIFO, 2 threads on 2 CPUs, one key", (
        Part("time per hand-off / spin ping-pong", "x", (FIFO_2 + ":handed_off_per_second", SPIN),
             lambda rate, spin: 1e9 / rate / spin, at_most(6, 3.5)),
        Part("time per hand-off", "ns", (FIFO_2 + ":handed_off_per_second",), lambda rate: 1e9 / rate),
        Part("time per pair", "ns", (FIFO_2 + ":per_second",), lambda rate: 1e9 / rate),
        plain("spin ping-pong, one way (floor)", SPIN, "ns"),
        plain("share, most / least served thread", FIFO_2 + ":share", "x"),
        plain("pairs with 1 us sections", FIFO_2 + "_1us:per_second", "k/s", scale=1e-3),
    )),
    Row("L7", "strict FIFO, 64 threads, one key", (
        over_rings("hand-offs / futex ring, 0 us sections", FIFO_64),
        over_rings("hand-offs / futex ring, 1 us sections", FIFO_64 + "_1us"),
        plain("share, 1 us sections", FIFO_64 + "_1us:share", "x", at_most(1.2, 1.05)),
        plain("share, 0 us sections", FIFO_64 + ":share", "x"),
        plain("hand-offs, 0 us sections", FIFO_64 + ":handed_off_per_second", "k/s", scale=1e-3),
        plain("pairs, 0 us sections", FIFO_64 + ":per_second", "k/s", scale=1e-3),
        plain("hand-offs, 1 us sections", FIFO_64 + "_1us:handed_off_per_second", "k/s", scale=1e-3),
        Part("futex ring of 64 (floor)", "k/s", RINGS, lambda one, two: (one + two) / 2e3),
        plain("futex ring of 8", "contended.futex_ring/8:per_second", "k/s", scale=1e-3),
        plain("futex ring of 2", "contended.futex_ring/2:per_second", "k/s", scale=1e-3),
    ), required=True),
    Row("L9", "any order, 64 threads, one key", (
        ratio("pairs / std::mutex", "contended.any/64_threads:per_second",
              "contended.one_key/mutex:per_second", at_least(0.8, 1.3)),
        plain("share", "contended.any/64_threads:share", "x", at_most(5, 2)),
        plain("pairs", "contended.any/64_threads:per_second", "k/s", scale=1e-3),
        plain("std::mutex (floor)", "contended.one_key/mutex:per_second", "k/s", scale=1e-3),
        plain("share of std::mutex", "contended.one_key/mutex:share", "x"),
        ratio("pairs / std::mutex, 1 us sections", "contended.any/64_threads_1us:per_second",
              "contended.one_key/mutex_1us:per_second"),
        plain("share, 1 us sections", "contended.any/64_threads_1us:share", "x"),
    )),
    Row("L10", "asynchronous FIFO hand-off, 10,000 requests on one key", (
        ratio("hand-off / std::mutex pair", "asynchronous.async/hand_off:ns", "asynchronous.mutex_pair",
              at_most(5, 2.5)),
        plain("hand-off, callback included", "asynchronous.async/hand_off:ns", "ns"),
        plain("std::mutex pair", "asynchronous.mutex_pair", "ns"),
    ), required=True),
    Row("L11", "resident bytes per held 16-byte key at 1,000,000", (
        plain("without a lease", "million.memory/no_lease:bytes", "B", at_most(112, 80)),
        plain("with a lease", "million.memory/lease:bytes", "B", at_most(112, 80)),
        plain("acquire while it grows", "million.memory/lease:acquire_ns", "ns"),
        plain("release", "million.memory/lease:release_ns", "ns"),
    ), required=True),
    Row("L12", "sweep over 1,000,000 leases", (
        plain("per lease that still runs", "million.sweep/held:ns", "ns", at_most(1, 0.4)),
        plain("per lease that has ended", "million.sweep/expired:ns", "ns", at_most(60, 25)),
        Part("one shard held (entries x time per ended lease)", "us",
             ("million.sweep/expired:entries_per_hold", "million.sweep/expired:ns"),
             lambda entries, ns: entries * ns / 1e3, at_most(50, 5)),
        plain("most entries looked at in one hold", "million.sweep/expired:entries_per_hold", "entries"),
    )),
    Row("L13", "3 keys as one lock", (
        ratio("3-key pair / single pair", "pairs.liblock_three_keys", PAIR, at_most(4.5, 3)),
        plain("3-key pair with a lease", "pairs.liblock_three_keys", "ns"),
    ), required=True),
    Row("L14", "deadlock detection on: slow-down of the pair", (
        slow_down("anonymous owner", "pairs.liblock_detection/anonymous", at_most(5, 1)),
        slow_down("named owner", "pairs.liblock_detection/named_owner", at_most(5, 1)),
    )),
    Row("L15", "10,000 waiters cancelled in random order", (
        plain("per cancel", "asynchronous.async/cancel:ns", "ns", at_most(1000, 200)),
        plain("until the last callback, per waiter", "asynchronous.async/cancel:until_last_callback_ns",
              "ns"),
    )),
)
