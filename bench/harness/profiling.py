# SPDX-License-Identifier: MIT
"""Where the time of a benchmark goes. Samples of all its threads while it runs, those of its servers and of what the
kernel does for them among them; and of one call that is over within a millisecond, far too soon for samples,
instructions and misses of a cache under callgrind. Both need their tool; where it is missing they say which package
has it."""
import contextlib
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter

from . import machine
from .failed import Failed

HERTZ = 997
LEAST_S, READY_S = 3, 30
CACHE = 1 << 20  # the one whose misses are counted: what a CPU has to itself
SHOWN = 8  # functions of a profile; what they leave is in one line
# Of the measuring, not of what is measured.
TOOLS = re.compile(r"perf|python3?")
SAMPLE = re.compile(r"^\s*(?P<thread>.+?)\s+[0-9a-f]+\s(?P<symbol>.*) \((?P<file>.*)\)$")


def need(tool, package):
    if not shutil.which(tool):
        raise Failed(f"{tool} is missing (Debian: {package})")


def short(symbol):
    """A function's name as one would say it: no arguments, no templates, no namespaces of ours."""
    symbol = re.sub(r"\[clone [^]]*\]|\.(constprop|isra|part|cold)(\.\d+)?|\(anonymous namespace\)::", "", symbol)
    before = None
    while before != symbol:
        before, symbol = symbol, re.sub(r"<[^<>]*>|\([^()]*\)( const)?", "", symbol)
    return re.sub(r"^.* (?=\S+$)|\bliblock(_bench)?::", "", symbol.strip())


def counted(script):
    """{(thread, file, function): samples} from what `perf script -F comm,ip,sym,dso` prints, without the measuring."""
    found = Counter()
    for line in script.splitlines():
        sample = SAMPLE.match(line)
        if sample is None or TOOLS.match(sample["thread"]):
            continue
        is_kernels = sample["file"].startswith("[kernel")
        file = "kernel" if is_kernels else re.sub(r"\.so\b.*", "", pathlib.Path(sample["file"]).name)
        file = file.replace("redis-check-rdb", "redis-server")  # the same file, under its other name
        known = sample["symbol"] != "[unknown]"
        found[sample["thread"], file, short(sample["symbol"]) if known else f"without a name in {file}"] += 1
    return found


@contextlib.contextmanager
def recorded(path):
    """What this process begins meanwhile, servers and clients and all their threads. What begins before perf is ready
    would be in no sample, however long it runs: so perf is told to begin, and says when it has."""
    need("perf", "linux-perf")
    orders, answers = f"{path}.orders", f"{path}.answers"
    for pipe in (orders, answers):
        os.mkfifo(pipe)
    command = ["perf", "record", "-q", "-p", str(os.getpid()), "-e", "cpu-clock", "-F", str(HERTZ), "-D", "-1",
               f"--control=fifo:{orders},{answers}", "-o", str(path)]
    with open(orders, "r+b", buffering=0) as told, open(answers, "r+b", buffering=0) as said, \
            subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            told.write(b"enable\n")
            if not select.select([said], [], [], READY_S)[0]:
                raise Failed(f"perf is not ready in {READY_S} s: {' '.join(command)}")
            yield
        finally:
            process.send_signal(signal.SIGINT)
            errors = process.communicate(timeout=60)[1]
    if not path.exists() or path.stat().st_size == 0:
        raise Failed(f"perf recorded nothing: {errors.strip()[-500:]}")


def samples(run):
    """The profile of run(), as often as it takes: shares in %."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "perf.data"
        idle = machine.IdleShare()
        with recorded(path), idle:
            began = time.monotonic()
            run()
            while time.monotonic() - began < LEAST_S:
                run()
        script = subprocess.run(["perf", "script", "-i", str(path), "-F", "comm,ip,sym,dso"], text=True, check=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return {**shares(counted(script)), "idle": round(100 * idle.share, 1)}


def shares(found):
    """Of samples: how many, and the shares by thread, by thread and file, by thread and function."""
    whole = sum(found.values())
    if whole == 0:
        raise Failed("there is no sample of it")

    def largest(size, most):
        sums = Counter()
        for name, count in found.items():
            sums[name[:size] if size < 3 else (name[0], name[2])] += count
        return [[*name, round(100 * count / whole, 1)] for name, count in sums.most_common(most)
                if count / whole >= 0.01]

    return {"kind": "samples", "samples": whole, "threads": largest(1, SHOWN), "files": largest(2, SHOWN),
            "functions": largest(3, SHOWN)}


def of_call(command, function):
    """The profile of this function and what it calls: instructions and misses of a cache, the largest first."""
    need("valgrind", "valgrind")
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "callgrind.out"
        ended = subprocess.run(["valgrind", "--tool=callgrind", "--cache-sim=yes", f"--LL={CACHE},16,64",
                                f"--toggle-collect={function}", f"--callgrind-out-file={out}", *command],
                               text=True, capture_output=True)
        if ended.returncode != 0:
            raise Failed(f"{' '.join(command)} under callgrind ended with {ended.returncode}: {ended.stderr[-1000:]}")
        listed = subprocess.run(["callgrind_annotate", "--auto=no", "--threshold=100", "--show=Ir,DLmr,DLmw", str(out)],
                                text=True, check=True, capture_output=True).stdout
    return instructions(listed)


def instructions(listed):
    """Out of what callgrind_annotate prints for Ir, DLmr and DLmw."""
    whole, functions = (0, 0), {}
    for line in listed.splitlines():
        columns = re.match(r"^\s*" + r"([\d,.]+)(?: \([^)]*\))?\s+" * 3 + r"(.*)$", line)
        if columns is None:
            continue
        count, reads, writes = (int(text.replace(",", "")) if text != "." else 0 for text in columns.groups()[:3])
        if columns[4].startswith("PROGRAM TOTALS"):
            whole = count, reads + writes
            continue
        name = short(re.sub(r"^[^:]*:|\s\[.*\]$", "", columns[4]))
        before = functions.get(name, (0, 0))  # it stands there once for each file that it is made of
        functions[name] = before[0] + count, before[1] + reads + writes
    if whole[0] == 0:
        raise Failed("callgrind has seen nothing of it")
    largest = sorted(functions.items(), key=lambda entry: -entry[1][0])[:SHOWN]
    return {"kind": "instructions", "instructions": whole[0], "misses": whole[1],
            "functions": [[name, *counts] for name, counts in largest if counts[0] / whole[0] >= 0.001]}
