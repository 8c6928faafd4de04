# SPDX-License-Identifier: MIT
"""Runs one contest: processes of one client, which all stand ready before any of them is told to go, and judges what
they logged. A client that lets two in at once yields no figure, and neither does one whose additions to the counter,
which only its lock protects, are lost."""

import contextlib
import pathlib
import subprocess
import tempfile
import time
from dataclasses import dataclass, replace

from . import peer_moments
from .failed import Failed
from .placement import preparation
from .servers import integration

Server = integration.Server


END_LIMIT_S = 120

__all__ = ["Contest", "Entry", "Failed", "Server", "judge", "run"]


@dataclass(frozen=True)
class Contest:
    """What each process is asked to do; README.md of bench/peers/remote describes the words."""
    key: str
    processes: int = 1
    threads: int = 1
    sections: int = 0  # of each thread; 0 = no bound
    run_ms: int = 0    # 0 = no bound
    hold_us: int = 0
    pause_us: int = 0
    delay_ms: int = -1  # -1 = what the client comes with
    counts: bool = False

    def named(self, key):
        return replace(self, key=key)

    def words(self, ports, counter):
        return [",".join(map(str, ports)), self.key, *map(str, (
            self.threads, self.sections, self.run_ms, self.hold_us, self.pause_us, self.delay_ms)), counter]


@dataclass(frozen=True)
class Entry:
    name: str
    command: tuple
    contest: Contest
    variant: str = ""


def _starting(placement):
    place = preparation(placement)

    def prepare():
        integration.die_with_parent()
        place()
    return prepare


class _Running:
    """The processes of one entry."""

    def __init__(self, entry, ports, folder, placement):
        self.entry = entry
        self.counter = pathlib.Path(folder) / "counter"
        self.counter.write_text("0\n")
        self.errors = open(pathlib.Path(folder) / "errors", "w+")
        counter = str(self.counter) if entry.contest.counts else "-"
        words = [*entry.command, *entry.contest.words(ports, counter), *filter(None, [entry.variant])]
        self.processes = [
            subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
                             preexec_fn=_starting(placement)) for _ in range(entry.contest.processes)]

    def get_ready(self):
        for process in self.processes:
            if process.stdout.readline() != "ready\n":
                raise self.failed("did not become ready")

    def go(self):
        for process in self.processes:
            process.stdin.write("go\n")
            process.stdin.flush()

    def sections(self, ends):
        """{process number: its sections}"""
        parties = {}
        for nth, process in enumerate(self.processes):
            try:
                text = process.communicate(timeout=max(1, ends - time.monotonic()))[0]
            except subprocess.TimeoutExpired:
                raise self.failed(f"did not end within {END_LIMIT_S} s") from None
            if process.returncode != 0:
                raise self.failed(f"ended with status {process.returncode}")
            parties[nth] = [tuple(map(int, line.split())) for line in text.splitlines()]
        judge(self.entry.name, parties, int(self.counter.read_text() or 0) if self.entry.contest.counts else None)
        return parties

    def failed(self, how):
        self.errors.seek(0)
        return Failed(f"{self.entry.name} {how}: {self.errors.read()[-300:].strip() or 'it said nothing'}")

    def kill(self):
        for process in self.processes:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()
        self.errors.close()


def run(entries, ports, placement="free"):
    """{name: {process number: sections}, or the Failed that says why not}, of entries that all go at once."""
    results, running = {}, []

    def attempt(one, step):
        try:
            return step()
        except (Failed, OSError) as error:
            results[one.entry.name] = error if isinstance(error, Failed) else one.failed(str(error))
            return None

    with contextlib.ExitStack() as stack:
        for entry in entries:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="liblock-"))
            running.append(_Running(entry, ports, folder, placement))
            stack.callback(running[-1].kill)
        for step in (_Running.get_ready, _Running.go):
            for one in running:
                if one.entry.name not in results:
                    attempt(one, lambda one=one, step=step: step(one))
        ends = time.monotonic() + END_LIMIT_S
        for one in running:
            if one.entry.name not in results:
                parties = attempt(one, lambda one=one: one.sections(ends))
                if parties is not None:
                    results[one.entry.name] = parties
    return results


def judge(name, parties, counted=None):
    total = sum(map(len, parties.values()))
    if total == 0:
        raise Failed(f"{name} did nothing")
    both = peer_moments.overlaps(parties)
    if both:
        raise Failed(f"{name} is no lock: two were inside at once, {both} times")
    if counted is not None and counted != total:
        raise Failed(f"{name} is no lock: of {total} additions {total - counted} are lost")
