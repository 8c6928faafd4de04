# SPDX-License-Identifier: MIT
"""How long the machine stood still, for run_tests.py.

A test of real time asks for ends that any machine of its own keeps. A guest of a busy host does not always run: then a
lease of a second is lost although nothing is wrong. What was taken away is measured here, so that such a failure is
known for what it may be, and no other one is. Two figures: what the host took of each processor (steal of /proc/stat,
in hundredths of a second), and how much too late a thread that sleeps woke up, where that is more than a crowd of our
own processes costs it.

A watch belongs to who made it; its thread adds samples, and others only read what was added before.
"""
import pathlib
import threading
import time

EVERY_S = 0.05
LATE_MS = 100
HUNDREDTH_MS = 10
STEAL = 8  # the column of /proc/stat, after the processor's name


def stolen_ms(text):
    """Of what /proc/stat says: for each processor, how long its host ran something else since it began."""
    rows = [line.split() for line in text.splitlines() if line.startswith("cpu")]
    return {row[0]: int(row[STEAL]) * HUNDREDTH_MS for row in rows if row[0] != "cpu" and len(row) > STEAL}


def worst_second_ms(samples, begin, end):
    """Of samples (time, {what: ms lost since the one before}): the most that one of them lost within a second, where
    that second touches the span from begin to end."""
    near = [(at, lost) for at, lost in samples if begin - 1 <= at <= end + 1]
    worst = 0
    for what in {what for _, lost in near for what in lost}:
        first, total = 0, 0
        for at, lost in near:
            total += lost.get(what, 0)
            while at - near[first][0] > 1:
                total -= near[first][1].get(what, 0)
                first += 1
            worst = max(worst, total)
    return worst


class Watch:
    """Measures from its making on, for as long as the process lives."""

    def __init__(self, stat="/proc/stat"):
        self._stat = pathlib.Path(stat)
        self._samples = []
        threading.Thread(target=self._measure, daemon=True).start()

    def _stolen(self):
        try:
            return stolen_ms(self._stat.read_text(encoding="ascii"))
        except OSError:
            return {}

    def _measure(self):
        before, woke = self._stolen(), time.monotonic()
        while True:
            time.sleep(EVERY_S)
            now, stolen = time.monotonic(), self._stolen()
            lost = {what: ms - before.get(what, ms) for what, ms in stolen.items()}
            late_ms = round(1000 * (now - woke - EVERY_S))
            lost["wake"] = late_ms if late_ms >= LATE_MS else 0
            self._samples.append((time.time(), lost))
            before, woke = stolen, now

    def worst_second_ms(self, begin, end):
        """What was lost at worst within a second of this span, in milliseconds; times are time.time()'s."""
        return worst_second_ms(list(self._samples), begin, end)
