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

from . import java_peers, peers, servers
from .failed import Failed
from .machine import BUSY, ForeignLoad

# Repetitions within one process, in an order that Google Benchmark shuffles.
SHORT = ["--benchmark_min_time=0.04", "--benchmark_repetitions=3",
         "--benchmark_enable_random_interleaving=true"]
TIME_LIMIT = 120
REPEATS_WHEN_BUSY = 2


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
    if wanted.get(java_peers.PROGRAM):
        steps.append((java_peers.PROGRAM, sorted(wanted[java_peers.PROGRAM])))
    steps += peers.plan(metrics)
    # Each has servers of its own.
    steps += [(group, [name]) for group, known in servers.GROUPS.items() for name in known if name in wanted[group]]
    return steps


def read_benchmarks(text, program):
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
    if program in servers.GROUPS:
        with ForeignLoad() as load:
            found = servers.measure(build, program, benchmarks[0])
        return found, load.share
    if program == peers.PROGRAM:
        with ForeignLoad() as load:
            found = peers.measure(build, benchmarks[0], benchmarks[1:])
        return found, load.share
    if program == java_peers.PROGRAM:
        with ForeignLoad() as load:
            found = java_peers.measure()
        return found, load.share
    go_peer = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "peers", "go")
    with tempfile.TemporaryDirectory() as folder, ForeignLoad() as load:
        out = os.path.join(folder, "out.json")
        ended = subprocess.run(_command(build, program, benchmarks, out), text=True, timeout=TIME_LIMIT,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               cwd=go_peer if program == "go" else None,
                               env={**os.environ, "GOWORK": "off"})
        if ended.returncode != 0:
            raise Failed(f"{program} ended with {ended.returncode}:\n{ended.stderr[-2000:]}")
        if program == "go":
            text = ended.stdout
        else:
            with open(out) as file:
                text = file.read()
    return read_benchmarks(text, program), load.share


def run_quietly(build, step, repeats=REPEATS_WHEN_BUSY):
    """The same, repeated while others use the machine; the quietest attempt counts."""
    try:
        best = run_once(build, step)
    except Failed:
        best = run_once(build, step)  # such as of leases that a machine was too busy to renew; twice is no accident
    for _ in range(repeats):
        if best[1] <= BUSY:
            break
        best = min(best, run_once(build, step), key=lambda attempt: attempt[1])
    return best


def is_of(metric, program, name):
    """Is it one of this benchmark (of peers: of this client)?"""
    return metric.startswith(f"{program}.{name}/") if program == peers.PROGRAM else \
        metric.split(":")[0] == f"{program}.{name}"


def available(build, step):
    """The step without the benchmarks that this build or machine does not have, and the names of those."""
    program, benchmarks = step
    if program in servers.GROUPS:
        return ((program, []), benchmarks) if servers.missing(build) else (step, [])
    if program == peers.PROGRAM:
        return peers.available(build, step)
    if program == java_peers.PROGRAM:
        return ((program, []), benchmarks) if java_peers.why_not() else (step, [])
    if program == "go":
        return (step, []) if shutil.which("go") else ((program, []), benchmarks)
    path = os.path.join(build, "bench", "bench-" + program)
    if not os.path.exists(path):
        raise Failed(f"{path} is missing: build with -Dbench=enabled")
    listed = subprocess.run([path, "--benchmark_list_tests=true"], text=True, capture_output=True, check=True)
    names = {re.sub(r"/(iterations:\d+|real_time)", "", line.strip()) for line in listed.stdout.splitlines()}
    absent = [name for name in benchmarks if name not in names]
    return (program, [name for name in benchmarks if name in names]), absent
