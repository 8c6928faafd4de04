# SPDX-License-Identifier: MIT
"""Runs the benchmark programs and reads what they print. Every round runs every program in a fresh process,
so that neither a lucky memory layout nor a hash seed decides a figure."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections import defaultdict
from statistics import median

from .machine import BUSY, ForeignLoad

# Repetitions within one process, in an order that Google Benchmark shuffles.
SHORT = ["--benchmark_min_time=0.04", "--benchmark_repetitions=3",
         "--benchmark_enable_random_interleaving=true"]
TIME_LIMIT = 120
REPEATS_WHEN_BUSY = 2


class Failed(Exception):
    pass


def plan(metrics):
    """Steps (program, benchmarks) that yield these metrics, in the order of their programs."""
    wanted = defaultdict(set)
    for metric in metrics:
        program, benchmark = metric.split(".", 1)
        wanted[program].add(benchmark.split(":")[0])
    steps = []
    for program in ("pairs", "go", "contended", "asynchronous", "million"):
        names = sorted(wanted.get(program, ()))
        # Memory is measured once per process: a second table would reuse what the first gave back.
        if program == "million":
            steps += [(program, [name]) for name in names]
        elif names:
            steps.append((program, names))
    return steps


def _read(text, program):
    times = defaultdict(list)
    for entry in json.loads(text)["benchmarks"]:
        name = re.sub(r"/(iterations:\d+|real_time)", "", entry.get("run_name", entry["name"]))
        if entry.get("error_occurred"):
            raise Failed(f"{program}: {name}: {entry['error_message']}")
        if entry.get("run_type", "iteration") != "iteration":
            continue
        scale = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[entry["time_unit"]]
        times[f"{program}.{name}"].append(entry["real_time"] * scale)
        for key, value in entry.items():
            if isinstance(value, float) and key not in ("real_time", "cpu_time"):
                times[f"{program}.{name}:{key}"].append(value)
    return {name: median(values) for name, values in times.items()}


def _command(build, program, benchmarks, out):
    if program == "go":
        return ["go", "run", "."]
    pattern = "^(" + "|".join(benchmarks) + ")(/iterations:1)?(/real_time)?$"
    command = [os.path.join(build, "bench", "bench-" + program), "--benchmark_filter=" + pattern,
               "--benchmark_out=" + out, "--benchmark_out_format=json"]
    return command + (SHORT if program in ("pairs", "asynchronous") else [])


def run_once(build, step):
    """Metrics of one step, and the share of the machine that others used meanwhile."""
    program, benchmarks = step
    peers = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "peers", "go")
    with tempfile.TemporaryDirectory() as folder, ForeignLoad() as load:
        out = os.path.join(folder, "out.json")
        ended = subprocess.run(_command(build, program, benchmarks, out), text=True, timeout=TIME_LIMIT,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               cwd=peers if program == "go" else None,
                               env={**os.environ, "GOWORK": "off"})
        if ended.returncode != 0:
            raise Failed(f"{program} ended with {ended.returncode}:\n{ended.stderr[-2000:]}")
        if program == "go":
            text = ended.stdout
        else:
            with open(out) as file:
                text = file.read()
    return _read(text, program), load.share


def run_quietly(build, step):
    """The same, repeated while others use the machine; the quietest attempt counts."""
    best = run_once(build, step)
    for _ in range(REPEATS_WHEN_BUSY):
        if best[1] <= BUSY:
            break
        best = min(best, run_once(build, step), key=lambda attempt: attempt[1])
    return best


def available(build, step):
    """The step without the benchmarks that this build or machine does not have, and the names of those."""
    program, benchmarks = step
    if program == "go":
        return (step, []) if shutil.which("go") else ((program, []), benchmarks)
    path = os.path.join(build, "bench", "bench-" + program)
    if not os.path.exists(path):
        raise Failed(f"{path} is missing: build with -Dbench=enabled")
    listed = subprocess.run([path, "--benchmark_list_tests=true"], text=True, capture_output=True, check=True)
    names = {re.sub(r"/(iterations:\d+|real_time)", "", line.strip()) for line in listed.stdout.splitlines()}
    absent = [name for name in benchmarks if name not in names]
    return (program, [name for name in benchmarks if name in names]), absent
