#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures how each cost grows as there is more and more of something, and prints a table with the fitted exponents.

  scale.py [CURVE …]      all curves, or those whose id begins so (waiters, held-redis, renewed, …)
  scale.py --require      exit 1 where a cost grows faster than it may, or a bound is missed
  scale.py --write-docs   a run of everything: results/reference-growth.json, and the table in docs/scale.md

Method: each point is a fresh process of bench-scale (bench/scale/) and, where servers are needed, fresh servers of its
own, all of them once in each round. The figures of a point are the medians of the rounds; beside a line stands how far
its rounds are apart at the size where they are farthest, as a share of the median. CPU is what all threads of the
process used; of a server, what it says of itself. An exponent is fitted over the sizes from where what is paid once no
longer hides the rest.
"""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
from harness import growth, machine, report
from harness.progress import Progress
from harness.scale_rows import CURVES
from harness.seen import Server, die_with_parent, seen_by_all

RESULTS = HERE / "results" / "reference-growth.json"
PAGE, MARKER = ROOT / "docs" / "scale.md", "figures scale"
SECONDS_MAX = 180
ROUNDS = 5


class Failed(Exception):
    """A point that was not measured."""


def measured(program, what, size, url, servers):
    """The figures of one point, and by the name of each mark what the servers saw since the one before."""
    figures, before, last = {}, None, ""
    with subprocess.Popen([program, what, str(size), url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          preexec_fn=die_with_parent) as process:
        watchdog = threading.Timer(SECONDS_MAX, process.kill)
        watchdog.start()
        for line in process.stdout:
            last = line
            if line.startswith("mark "):
                now = seen_by_all(servers)
                for name in before or ():
                    figures[f"{line.split()[1]}.{name}"] = now[name] - before[name]
                before = now
                process.stdin.write("\n")
                process.stdin.flush()
        process.wait()
        watchdog.cancel()
    if process.returncode != 0:
        raise Failed(f"{what} {size}: {'killed, it took too long' if process.returncode < 0 else 'see above'}")
    return {**json.loads(last), **figures}


@contextlib.contextmanager
def servers_for(program, where, size):
    """(url, servers) of a point's own."""
    with contextlib.ExitStack() as stack:
        count = {"local": 0, "redis": 1, "quorum": 3, "nodes": size}[where]
        servers = [stack.enter_context(Server()) for _ in range(count)]
        if where == "local":
            yield "local:", servers
        elif where == "redis":
            yield servers[0].url, servers
        else:
            url = "quorum:" + ",".join(server.url for server in servers)
            subprocess.run([program, "found", "1", url], check=True, stdout=subprocess.DEVNULL)
            yield url, servers


def point(program, curve, size):
    with servers_for(program, curve.where, size) as (url, servers):
        return measured(program, curve.what, size, url, servers)


def judged(curve, cost, rounds):
    """What becomes of one line of the table: values by size, how far the rounds are apart, exponent, verdict. rounds:
    of each size all that it cost."""
    # A lease that was lost in one round was lost.
    values = {size: (max if cost.is_total else statistics.median)(each) for size, each in rounds.items()}
    spread = {size: (max(each) - min(each)) / values[size] if values[size] else 0 for size, each in rounds.items()}
    entry = {"curve": curve.id, "label": cost.label, "unit": cost.unit, "spread": max(spread.values()),
             "values": {str(size): value for size, value in values.items()},
             "rounds": {str(size): each for size, each in rounds.items()}}
    problems = []
    points = [(size, values[size]) for size in curve.judged if values[size] > 0]
    if cost.grows is not None and len(points) > 1:
        entry["exponent"] = growth.exponent(points)
        entry["exponent_most"] = cost.exponent_most([size for size, _ in points])
        if entry["exponent"] > entry["exponent_most"]:
            problems.append("grows too fast")
    if cost.most is not None:
        entry["most"] = cost.most
        if values[curve.sizes[-1]] > cost.most:
            problems.append("too much")
    is_judged = "exponent" in entry or "most" in entry
    entry["verdict"] = ", ".join(problems).upper() if problems else "met" if is_judged else ""
    return entry


def measure(program, curves, count):
    figures = {curve.id: {size: [] for size in curve.sizes} for curve in curves}
    progress = Progress(count * sum(len(curve.sizes) for curve in curves))
    for nth in range(count):
        for curve in curves:
            for size in curve.sizes:
                progress.begins(f"round {nth + 1} of {count}, {curve.id}: {size:,}")
                figures[curve.id][size].append(point(program, curve, size))
    progress.ends()
    return [judged(curve, cost, {size: [cost.compute(one, size) for one in figures[curve.id][size]]
                                 for size in curve.sizes}) for curve in curves for cost in curve.costs]


def shown(value):
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def cells(entry, sizes):
    fitted = f"{entry['exponent']:.2f}" if "exponent" in entry else ""
    allowed = f"{entry['exponent_most']:.2f}" if "exponent" in entry else ""
    allowed += f"{'; ' if allowed else ''}{entry['most']:,} {entry['unit']}" if "most" in entry else ""
    values = [shown(entry["values"][str(size)]) if str(size) in entry["values"] else "" for size in sizes]
    return [entry["label"], entry["unit"], *values, f"{100 * entry['spread']:.0f} %", fitted, allowed,
            entry["verdict"] or "not judged"]


def fitted_from(curve):
    first = curve.judged[0]
    return "exponents over all sizes" if first == curve.sizes[0] else f"exponents from {first:,} on"


def as_markdown(run, curves):
    machine_, build = run["machine"], run["build"]
    lines = [f"{report.measured_what(run)}. {machine_['cpu']}, {machine_['cpus']} CPUs, Linux "
             f"{machine_['kernel']}, {machine_['libc']}; {build['compiler']}, {machine.build_words(build)}. "
             f"{run['server']}, {run['rounds']} rounds. Others used {100 * run['foreign']:.0f} % of the machine "
             "meanwhile.", ""]
    for curve in curves:
        lines += [f"**{curve.title}** ({fitted_from(curve)})", "",
                  "| of one | unit | " + " | ".join(f"{size:,}" for size in curve.sizes) +
                  " | spread | exponent | at most | |",
                  "| --- | --- |" + " ---: |" * (len(curve.sizes) + 3) + " --- |"]
        lines += ["| " + " | ".join(cells(entry, curve.sizes)) + " |" for entry in run["figures"]
                  if entry["curve"] == curve.id]
        lines.append("")
    return "\n".join(lines).rstrip()


def as_text(run, curves):
    lines = []
    for curve in curves:
        rows = [["", "unit", *(f"{size:,}" for size in curve.sizes), "spread", "exponent", "at most", ""]]
        rows += [cells(entry, curve.sizes) for entry in run["figures"] if entry["curve"] == curve.id]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines += [f"--- {curve.id}: {curve.title} ({fitted_from(curve)})"]
        lines += ["  ".join(text.ljust(width) if i < 2 else text.rjust(width)
                            for i, (text, width) in enumerate(zip(row, widths))).rstrip() for row in rows]
    return "\n".join(lines)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("curves", nargs="*", metavar="CURVE")
    parser.add_argument("--build", help="build directory (default: LIBLOCK_BUILD, or the newest build*)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"fresh processes per point (default {ROUNDS})")
    parser.add_argument("--require", action="store_true")
    parser.add_argument("--write-docs", action="store_true")
    parser.add_argument("--json", type=pathlib.Path, help="where the figures are kept as well")
    return parser.parse_args()


def main():
    given = arguments()
    build = given.build or os.environ.get("LIBLOCK_BUILD") or machine.find_build(str(HERE.parent))
    program = pathlib.Path(build or "", "bench", "bench-scale").absolute()
    if not program.exists():
        sys.exit("no bench-scale: meson setup build-bench -Dbench=enabled; ninja -C build-bench")
    curves = [curve for curve in CURVES if not given.curves or curve.id.startswith(tuple(given.curves))]
    if not curves or (given.write_docs and (len(curves) != len(CURVES) or given.rounds < ROUNDS)):
        sys.exit("no such curve" if not curves else f"--write-docs takes all curves, and {ROUNDS} rounds at least")
    commit = machine.describe_commit(str(ROOT))
    with machine.ForeignLoad() as load:
        entries = measure(str(program), curves, given.rounds)
    version = subprocess.run(["redis-server", "--version"], capture_output=True, text=True).stdout
    run = {"when": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
           "version": json.loads(subprocess.run([program, "version", "1", "local:"], capture_output=True, text=True,
                                                check=True).stdout)["liblock_version"],
           "commit": commit,
           "server": "Redis " + version.split("v=")[1].split()[0] if "v=" in version else "no server",
           "rounds": given.rounds, "seconds": round(load.seconds), "foreign": load.share,
           "machine": machine.describe_machine(), "build": machine.describe_build(build),
           "figures": entries}
    print(as_text(run, curves))
    for path in filter(None, [given.json, RESULTS if given.write_docs else None]):
        path.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    if given.write_docs:
        report.into_page(PAGE, MARKER, as_markdown(run, curves))
    missed = [entry for entry in entries if entry["verdict"] not in ("met", "")]
    for entry in missed:
        print(f"MISSED: {entry['curve']}: {entry['label']}: {entry['verdict'].lower()}")
    print(f"{given.rounds} rounds took {load.seconds / 60:.0f} min")
    return 1 if missed and given.require else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failure:
        sys.exit(f"benchmark failed: {failure}")
