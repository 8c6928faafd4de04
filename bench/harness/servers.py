# SPDX-License-Identifier: MIT
"""Benchmarks that need servers: each starts its own, runs one program (or two, that belong together) beside them and
kills them again. Servers keep nothing on disk, have a folder of their own, a free port and a unix socket.

A benchmark is a function that is given a Stage and answers {counter: value}; its name is what rows ask for. Times are
in nanoseconds, rates per second, shares in CPUs."""
import contextlib
import csv
import importlib.util
import os
import pathlib
import re
import subprocess
import tempfile
import threading
import time

from . import placement, recording
from .failed import Failed

ROOT = pathlib.Path(__file__).resolve().parents[2]
# By its path: its name is that of this package.
_SPEC = importlib.util.spec_from_file_location("integration_harness", ROOT / "tests/integration/harness.py")
integration = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(integration)

KEY = b"fadcd1b7938a022e"  # the first of support/keys.hpp
TIME_LIMIT = 120
QUICK = ("--warm-up-ms", "20", "--window-ms", "60")


class Stage:
    """Servers, placed, and how programs are run beside them."""

    def __init__(self, build, where, servers=1, unix=False, quick=False):
        self.build, self.where, self.quick = pathlib.Path(build), where, quick
        self.stack = contextlib.ExitStack()
        self.servers, self.folder = [], None
        self.count, self.unix = servers, unix

    def __enter__(self):
        try:
            self.folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="liblock-")))
            self.servers = [self.stack.enter_context(integration.Server()) for _ in range(self.count)]
            placement.place_servers(self.where, self.servers)
        except BaseException:
            self.stack.close()
            raise
        return self

    def __exit__(self, *_):
        self.stack.close()

    @property
    def server(self):
        return self.servers[0]

    @property
    def url(self):
        urls = [server.unix_url if self.unix else server.url for server in self.servers]
        return urls[0] if len(urls) == 1 else "quorum:" + ",".join(urls)

    def prepared(self):
        place = placement.preparation(self.where)

        def prepare():
            integration.die_with_parent()
            place()
        return prepare

    def output(self, *command):
        ended = subprocess.run([str(word) for word in command], text=True, capture_output=True, timeout=TIME_LIMIT,
                               preexec_fn=self.prepared())
        if ended.returncode != 0:
            raise Failed(f"{' '.join(map(str, command))} ended with {ended.returncode}:\n{ended.stderr[-2000:]}"
                         f"{ended.stdout[-500:]}")
        return ended.stdout

    def run(self, program, *arguments, url=None):
        """Counters of one run of bench-load or bench-floors."""
        pids = ",".join(str(server.process.pid) for server in self.servers)
        return counters(self.output(self.build / "bench" / "load" / program, *arguments, "--url", url or self.url,
                                    "--server-pids", pids))

    def timed(self, program, *arguments, url=None):
        return self.run(program, *arguments, *(QUICK if self.quick else ()), url=url)

    def pairs(self, depth, *form):
        self.output(self.build / "bench/load/bench-load", "closed", "--depth", depth, "--url", self.url,
                    "--warm-up-ms", 5, "--window-ms", 5, *form)

    def recorded(self, *form):
        """What the library sends for a pair of this form, which is alone."""
        return recording.record(self.server, KEY, lambda: self.pairs(1, *form))

    def joined(self, recorded, depth, *form):
        """What it sends to give several back, of so many pairs at once."""
        return recording.JoinedRelease(
            recorded, recording.scripts_called(self.server, lambda: self.pairs(depth, *form)))

    def pair_files(self, recorded, count, joined=None):
        paths = recording.write_pairs(self.folder, self.server, recorded, count, joined)
        return ("--acquires", paths[0], "--releases", paths[1])


def counters(text):
    from .programs import read_benchmarks
    found = read_benchmarks(text, "x")
    return {name.split(":")[1]: value for name, value in found.items() if ":" in name}


# ------------------------------------------------------------------------------------------------- the library

def load(mode, *arguments):
    return lambda stage: stage.timed("bench-load", mode, *arguments)


def hand_over(waiter):
    def measure(stage):
        return stage.run("bench-load", "hand-over", "--waiter", waiter, "--count", 20 if stage.quick else 250)
    return measure


# Of a key each: long enough that a moment of the machine does not decide. Whole pipelines of 64.
ACQUIRES_ONCE = 50_048


def acquires(stage):
    return stage.run("bench-load", "acquires", "--count", 500 if stage.quick else ACQUIRES_ONCE)


class CommandRate(threading.Thread):
    """Script calls that a server has seen, four times a second, until it is told to end."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.seen, self.over = server, [], threading.Event()

    def run(self):
        while not self.over.wait(0.25):
            with contextlib.suppress(OSError):  # a server that is busy is asked again
                self.seen.append((time.monotonic(), self.server.script_calls()))

    def between(self, opened, closed):
        """How many a second there were between two moments of the monotonic clock."""
        self.over.set()
        self.join()
        inside = [one for one in self.seen if opened <= one[0] <= closed]
        if len(inside) < 2 or inside[-1][0] - inside[0][0] < 0.5 * (closed - opened):
            raise Failed("the server was not looked at often enough to say how many commands came")
        return (inside[-1][1] - inside[0][1]) / (inside[-1][0] - inside[0][0])


def leases(stage):
    """Commands are those that the server saw in the window of the driver, who says by the same clock when that was:
    a period of renewal (9.5 s), behind another one over which the keys were taken (bench/support/renewals.hpp)."""
    count, periods, ttl_ms = (200, 6, 600) if stage.quick else (100_000, 1, 30_000)
    rate = CommandRate(stage.server)
    rate.start()
    found = stage.run("bench-load", "leases", "--count", count, "--periods", periods, "--ttl-ms", ttl_ms)
    return {**found, "commands_per_second": rate.between(found["opened_at_s"], found["closed_at_s"])}


def founded(measure):
    """The same over a quorum that is made first."""
    def founding(stage):
        stage.run("bench-load", "found")
        return measure(stage)
    return founding


# --------------------------------------------------------------------------------------------------- the floors

def floor_of(program_mode, count, *form):
    """A floor that sends what the library sends for pairs of this form, a release for each. Of the one that sends whole
    batches also with joined releases, as the library's are of so many at once: its figures are called joined_…"""
    def measured(stage, files):
        depth = ("--depth", count) if program_mode != "sync" else ()
        found = stage.timed("bench-floors", program_mode, *files, *depth)
        if stage.server.locks():
            raise Failed("a floor left locks behind: its releases are none")
        return found

    def measure(stage):
        recorded = stage.recorded(*form)
        found = measured(stage, stage.pair_files(recorded, count))
        if program_mode == "replay":
            files = stage.pair_files(recorded, count, stage.joined(recorded, count, *form))
            found |= {f"joined_{name}": value for name, value in measured(stage, files).items()}
        return found
    return measure


def publish(stage):
    return stage.run("bench-floors", "publish", "--count", 20 if stage.quick else 400)


SET = (b"SET", b"liblock:%d", b"value-%032d", b"NX", b"PX", b"30000")
COMPARE_DELETE = b"if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end"
SET_SCRIPT = b"return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])"


def plain_pairs(stage, count):
    """SET NX PX, and a script that compares and deletes: no fence, no queue, no record of a holder."""
    for server in stage.servers:
        script = server.call("SCRIPT", "LOAD", COMPARE_DELETE)
    sets = [[word % n if b"%" in word else word for word in SET] for n in range(count)]
    deletes = [[b"EVALSHA", script, b"1", words[1], words[2]] for words in sets]
    paths = stage.folder / "acquires", stage.folder / "releases"
    recording.write_commands(paths[0], b"+OK\r\n", sets)
    recording.write_commands(paths[1], b":1\r\n", deletes)
    return ("--acquires", paths[0], "--releases", paths[1])


def plain_floor(program_mode, depth, one_of_all=False):
    def measure(stage):
        files = plain_pairs(stage, depth)
        urls = [server.url for server in stage.servers]
        url = urls[0] if one_of_all else ",".join(urls)
        depths = ("--depth", depth) if program_mode != "sync" else ()
        return stage.timed("bench-floors", program_mode, *files, *depths, url=url)
    return measure


def set_script(stage):
    """A script that only sets, as often as the library's acquires are counted: each key once."""
    script = stage.server.call("SCRIPT", "LOAD", SET_SCRIPT)
    count = 512 if stage.quick else ACQUIRES_ONCE
    commands = [[b"EVALSHA", script, b"1", SET[1] % n, SET[2] % n, b"30000"] for n in range(count)]
    path = stage.folder / "commands"
    recording.write_commands(path, b"+OK\r\n", commands)
    return stage.run("bench-floors", "replay-once", "--commands", path, "--depth", 64)


# ------------------------------------------------------------------------------------------------- the ceilings

HOLD = "for n = ARGV[1], ARGV[2] do redis.call('SET', ARGV[3] .. string.format('%012d', n), ARGV[4], 'PX', 60000) end"
HELD_AT_ONCE = 20_000


def ceiling(depth, *form):
    """How many pairs a second redis-benchmark gets out of the server with the library's own commands: acquires alone,
    releases alone, and from both 1/(1/a + 1/r). Each acquire takes a key that is free, each release gives one back that
    is held: of ten times as many as there are releases, so that few are asked for twice. The same with releases of
    which each call gives back several, as the library's do of so many at once: joined_…"""
    def measure(stage):
        recorded = stage.recorded(*form)
        joined = stage.joined(recorded, depth, *form)
        # Whole pipelines: redis-benchmark now and then gives up at the end of a broken one.
        requests = depth * (2_048 // depth if stage.quick else 40_960 // depth)
        stage.server.call(*recorded.acquire)
        record = stage.server.call("GET", recorded.lock_key)
        a = redis_benchmark(stage, depth, requests, 10 ** 11, random_key(recorded, recorded.acquire))
        found = {"acquires_per_second": a}
        for name, words, locks in (("", random_key(recorded, recorded.release), 1),
                                   ("joined_", random_keys(recorded, joined), len(joined.locks))):
            r = locks * releases(stage, depth // locks, requests // locks, recorded, record, words, requests)
            found |= {f"{name}per_second": 1 / (1 / a + 1 / r), f"{name}releases_per_second": r}
        return found
    return measure


def releases(stage, depth, calls, recorded, record, words, locks):
    """Calls a second that give back so many locks in all, of ten times as many that are held by the same attempt."""
    # What is random in a release is the lock alone.
    names = recorded.lock_key[:-recording.DIGITS]
    stage.server.call("FLUSHALL")
    for first in range(0, 10 * locks, HELD_AT_ONCE):
        stage.server.call("EVAL", HOLD, 0, first, min(first + HELD_AT_ONCE, 10 * locks) - 1, names, record)
    before = stage.server.call("DBSIZE")
    per_second = redis_benchmark(stage, depth, calls, 10 * locks, words)
    if before - stage.server.call("DBSIZE") < 0.9 * locks:
        raise Failed("the releases of the ceiling release nothing")
    return per_second


def random_key(recorded, words):
    """redis-benchmark puts another number into each place, so that only the lock itself may vary."""
    varied = recorded.lock_key[:-recording.DIGITS] + b"__rand_int__"
    return [varied if word == recorded.lock_key else word for word in words]


def random_keys(recorded, joined):
    """The same of a joined release; all locks are held by the attempt of the recorded pair."""
    varied = recorded.lock_key[:-recording.DIGITS] + b"__rand_int__"
    words = {name: varied for name, _ in joined.locks} | {attempt: recorded.id for _, attempt in joined.locks}
    return [words.get(word, word) for word in joined.words]


def redis_benchmark(stage, depth, requests, numbers, words):
    place = ("-s", stage.server.path) if stage.unix else ("-p", stage.server.port)
    text = stage.output("redis-benchmark", *place, "-c", 1, "-P", depth, "-n", requests, "-r", numbers, "--csv",
                        *[word.decode() for word in words])
    rows = [row for row in csv.reader(text.splitlines()) if len(row) > 1 and re.fullmatch(r"[0-9.]+", row[1])]
    if len(rows) != 1:
        raise Failed(f"redis-benchmark printed {text[:500]}")
    return float(rows[0][1])


# --------------------------------------------------------------------------------------------------------- all

PLAIN = ("--form", "plain")
FIVE = {"servers": 5}
# In the order in which they are measured: what is compared stands side by side, so that a machine that changes its
# speed changes both.
REDIS = {
    "fenced/64": (load("closed", "--depth", 64), "other", {}),
    "ceiling_fenced/64": (ceiling(64), "other", {}),
    "fenced/64_loop": (load("closed", "--depth", 64, "--via", "loop"), "other", {}),
    "fenced/64_unix": (load("closed", "--depth", 64), "other", {"unix": True}),
    "open/5000": (load("open", "--rate", 5000), "other", {}),
    "plain/256": (load("closed", "--depth", 256, *PLAIN), "other", {}),
    "ceiling_plain/256": (ceiling(256, *PLAIN), "other", {}),
    "replay_set/256": (plain_floor("replay", 256), "other", {}),
    "plain/256_loop": (load("closed", "--depth", 256, "--via", "loop", *PLAIN), "other", {}),
    "replay_plain/256": (floor_of("replay", 256, *PLAIN), "other", {}),
    "fenced/256": (load("closed", "--depth", 256), "other", {}),
    "async_fenced/256": (floor_of("async", 256), "other", {}),
    "replay_fenced/256": (floor_of("replay", 256), "other", {}),
    "fenced/256_loop": (load("closed", "--depth", 256, "--via", "loop"), "other", {}),
    "acquires": (acquires, "other", {}),
    "set_script": (set_script, "other", {}),
    **{f"{what}/{where}": (measured, where, {}) for where in ("free", "other", "same") for what, measured in (
        ("sequential", load("threads")), ("sync", floor_of("sync", 1)),
        ("sequential_asked", load("threads", "--release", "asked")))},
    "threads/1": (load("threads"), "free", {}),
    "threads/64": (load("threads", "--threads", 64), "free", {}),
    "hand_over/loop": (hand_over("loop"), "other", {}),
    "hand_over/callback": (hand_over("callback"), "other", {}),
    "publish": (publish, "other", {}),
    "hand_over/blocking": (hand_over("blocking"), "other", {}),
    "publish_free": (publish, "free", {}),
    "hand_over/callback_free": (hand_over("callback"), "free", {}),
    "leases": (leases, "other", {}),
}
QUORUM = {
    "fan_out/1": (plain_floor("async", 1), "free", FIVE),
    "single_set": (plain_floor("sync", 1, one_of_all=True), "free", FIVE),
    "acquire": (founded(load("threads")), "free", FIVE),
    "pairs/64": (founded(load("closed", "--depth", 64)), "free", FIVE),
    "fan_out/64": (plain_floor("async", 64), "free", FIVE),
    "pairs/64_loop": (founded(load("closed", "--depth", 64, "--via", "loop")), "free", FIVE),
}
GROUPS = {"redis": REDIS, "quorum": QUORUM}


def measure(build, group, name, quick=False):
    """{metric: value} of one benchmark."""
    function, where, options = GROUPS[group][name]
    with Stage(build, where, quick=quick, **options) as stage:
        found = function(stage)
    return {f"{group}.{name}:{counter}": float(value) for counter, value in found.items()}


def missing(build):
    """What of all this is not there, or None."""
    for program in ("bench-load", "bench-floors"):
        if not os.path.exists(os.path.join(build, "bench", "load", program)):
            return f"{program} (ninja bench/load/{program}, or build with -Dbench=enabled)"
    for program in ("redis-server", "redis-benchmark"):
        if subprocess.run(["sh", "-c", f"command -v {program}"], capture_output=True).returncode != 0:
            return f"{program} (redis-server and redis-tools)"
    return None
