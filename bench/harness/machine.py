# SPDX-License-Identifier: MIT
"""The machine and the build that figures come from, and whether anybody else was using it. With another job
running contended figures move ten-fold either way, so CPU time of others is watched around every program."""

import glob
import json
import os
import platform
import re
import resource
import subprocess
import time

# Above this share of all CPUs a measurement is repeated, and marked when repeating does not help; above the second one
# it is not put into a page, where the share stands beside it.
BUSY, TOO_BUSY = 0.04, 0.25
# What is no part of ours may take so many times as long in one round as in another, in figures that are kept: a
# neighbour on the same core of the host shows by nothing else.
UNSTEADY = 1.25


def _cpu_seconds():
    """Of all CPUs since the start: user, nice, system, idle, iowait, irq, softirq, steal."""
    with open("/proc/stat") as stat:
        return [int(word) / os.sysconf("SC_CLK_TCK") for word in stat.readline().split()[1:9]]


def _busy_seconds():
    # Not what interrupts took: on the loopback device it is our own servers' and clients' words that they carry.
    user, nice, system, _idle, _iowait, _irq, _softirq, steal = _cpu_seconds()
    return user + nice + system + steal


def _idle_seconds():
    return sum(_cpu_seconds()[3:5])


def _own_seconds():
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
    return total


class ForeignLoad:
    """The share of all CPUs that others used inside the with block (our children must have ended in it)."""

    def __enter__(self):
        self._start = (time.monotonic(), _busy_seconds(), _own_seconds())
        return self

    def __exit__(self, *_):
        wall, busy, own = (now - then for now, then in zip(
            (time.monotonic(), _busy_seconds(), _own_seconds()), self._start))
        self.seconds = wall
        self.share = max(0.0, busy - own) / (wall * (os.cpu_count() or 1))


class IdleShare:
    """The share of all CPUs that nobody used inside the with block."""

    def __enter__(self):
        self._start = (time.monotonic(), _idle_seconds())
        return self

    def __exit__(self, *_):
        wall, idle = (now - then for now, then in zip((time.monotonic(), _idle_seconds()), self._start))
        self.share = min(1.0, idle / (wall * (os.cpu_count() or 1)))


def wait_until_quiet(patience, say):
    """True as soon as others leave the machine alone, False when they do not within `patience` seconds."""
    end = time.monotonic() + patience
    while True:
        with ForeignLoad() as load:
            time.sleep(1)
        if load.share <= BUSY:
            return True
        if time.monotonic() > end:
            return False
        say(f"others use {100 * load.share:.0f} % of the machine; waiting for quiet")


def _first(pattern, path):
    try:
        with open(path) as file:
            found = re.search(pattern, file.read(), re.M)
        return found.group(1).strip() if found else None
    except OSError:
        return None


def _output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def describe_machine():
    cpus = len(os.sched_getaffinity(0))
    virtual = _first(r"^flags.*\b(hypervisor)\b", "/proc/cpuinfo")
    return {
        "cpu": _first(r"^model name\s*:\s*(.*)$", "/proc/cpuinfo") or platform.machine(),
        "cpus": f"{cpus}{' (virtual machine)' if virtual else ''}",
        "kernel": platform.release(),
        "libc": " ".join(platform.libc_ver()),
        "go": _output("go", "env", "GOVERSION"),
    }


def describe_build(build):
    """Compiler and options of a meson build directory, with reasons why its figures say little, if any."""
    def load(name):
        with open(os.path.join(build, "meson-info", name)) as file:
            return json.load(file)
    try:
        options = {option["name"]: option["value"] for option in load("intro-buildoptions.json")}
        sources = [part for target in load("intro-targets.json") for part in target["target_sources"]]
        command = next(part["compiler"] for part in sources if part.get("language") == "cpp")
    except (OSError, KeyError, StopIteration):
        return {"compiler": "unknown", "warnings": ["not a build of meson; its options are unknown"]}
    warnings = []
    if str(options.get("optimization")) not in ("2", "3"):
        warnings.append(f"built with optimization={options.get('optimization')}")
    if options.get("b_sanitize", "none") != "none":
        warnings.append(f"built with b_sanitize={options['b_sanitize']}")
    if options.get("b_coverage"):
        warnings.append("built with b_coverage=true")
    return {
        "compiler": (_output(*command, "--version") or " ".join(command)).splitlines()[0],
        "buildtype": options.get("buildtype"),
        "optimization": options.get("optimization"),
        "debug": options.get("debug"),
        "b_ndebug": options.get("b_ndebug"),
        "lto": options.get("b_lto"),
        "warnings": warnings,
    }


def build_words(build):
    """What the pages say of it. Results of before 2026-11-27 do not have all of that: what they have not is not said.
    buildtype is left out: it says debug of a build that is optimized, where nobody has set it."""
    off = {"true": True, "false": False, "if-release": build.get("buildtype") in ("release", "plain")}
    has = ["debug information"] if build.get("debug") else []
    if off.get(str(build.get("b_ndebug")).lower()) is False:
        has.append("assertions")
    return f"optimization {build.get('optimization')}" + (f", with {' and '.join(has)}" if has else "")


# What is built and what measures it; not results and pages, which the first half of a run writes before the second.
MEASURED = ("core", "capi", "bench", "meson.build", "meson.options", ":!bench/results", ":!*.md")


def describe_commit(root):
    """Of what is measured: its commit, with -dirty where a file of it was changed since; None: not known."""
    commit = _output("git", "-C", root, "describe", "--always")
    changed = _output("git", "-C", root, "status", "--porcelain", "--untracked-files=no", "--", *MEASURED)
    return None if not commit or changed is None else commit + ("-dirty" if changed else "")


def find_build(root):
    """The build directory whose benchmark programs are newest, or None."""
    found = glob.glob(os.path.join(root, "build*", "bench", "bench-pairs"))
    found += glob.glob(os.path.join(root, "build", "*", "bench", "bench-pairs"))
    return os.path.dirname(os.path.dirname(max(found, key=os.path.getmtime))) if found else None
