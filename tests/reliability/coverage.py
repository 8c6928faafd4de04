#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How much of the core runs in tests, by folder and by what matters most: engines, parsers of what comes from outside,
queues. From the summary that `llvm-cov export` makes.

  coverage.py SUMMARY.json [JSON]    prints TAP; leaves the figures in JSON
"""
import collections
import fnmatch
import json
import pathlib
import re
import sys

# What matters most, and the goal for its branches.
PARTS = {
    "engine": (["core/local/*", "core/remote/*", "core/redis/*", "core/quorum/*", "core/engine/*", "core/lease/*"], 90),
    "parser": (["core/redis/reply.*", "core/redis/address.*", "core/redis/server_error.*", "core/redis/queue_entry.*",
                "core/context/options.*", "core/remote/keyspace.*", "core/quorum/configuration.*",
                "core/quorum/node_list.*", "core/quorum/node_record.*"], 90),
    "queue": (["core/local/wait_queue.*", "core/local/waiting.*", "core/redis/waiting.*", "core/redis/places.*",
               "core/redis/queue_reader.*", "core/redis/queue_entry.*", "core/quorum/waiting.*", "core/remote/front.*",
               "core/context/completions.*", "core/engine/event_queue.*"], 90),
}

# Compilers name a file by the path that it was given to them with.
IN_CORE = re.compile(r"(?:^|/)(core/\w+/[\w.]+)$")


class Share:
    def __init__(self):
        self.counts = collections.Counter()

    def add(self, summary):
        for kind in ("lines", "branches"):
            self.counts[kind] += summary[kind]["count"]
            self.counts[f"{kind} covered"] += summary[kind]["covered"]

    def percents(self):
        def of(kind):
            return round(100 * self.counts[f"{kind} covered"] / max(1, self.counts[kind]), 1)
        return {"lines": of("lines"), "branches": of("branches")}


def main():
    files = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))["data"][0]["files"]
    folders, parts = collections.defaultdict(Share), {name: Share() for name in PARTS}
    for one in files:
        inside = IN_CORE.search(one["filename"])
        if inside is None:
            continue
        file = inside.group(1)
        folders[str(pathlib.PurePosixPath(file).parent)].add(one["summary"])
        for name, (patterns, _) in PARTS.items():
            if any(fnmatch.fnmatch(file, pattern) for pattern in patterns):
                parts[name].add(one["summary"])
    figures = {"parts": {name: share.percents() for name, share in parts.items()},
               "folders": {name: share.percents() for name, share in sorted(folders.items())}}
    for name, one in figures["folders"].items():
        print(f"# {name:14} {one['lines']:5.1f} % of its lines, {one['branches']:5.1f} % of its branches")
    failed = 0
    for number, (name, (_, least)) in enumerate(PARTS.items(), 1):
        reached = figures["parts"][name]["branches"]
        failed += reached < least
        holds = "ok" if reached >= least else "not ok"
        print(f"{holds} {number} - of the {name} {least} % of the branches run in tests # {reached} %")
    print(f"1..{len(PARTS)}")
    if len(sys.argv) > 2:
        pathlib.Path(sys.argv[2]).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
