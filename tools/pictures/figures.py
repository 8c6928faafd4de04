# SPDX-License-Identifier: MIT
"""Plots of the figures of bench/README.md and docs/performance.md, from the runs that their tables come from
(bench/results/reference*.json). Bars are medians; the thin line over a bar goes from the least to the greatest of the
rounds. Misses are shown like hits."""
import json

from svg import Picture

# heading, unit, which is better, [(row, label of the figure, label in the plot, is it ours)]
LOCAL = (
    ("Acquire and release, nobody in the way", "ns", "shorter is better", (
        ("L1", "pair with a lease, 1,024 keys", "liblock, with a lease", True),
        ("L1", "pair with NULL options (no lease)", "liblock, without", True),
        ("L1", "std::mutex pair", "std::mutex, no key at all", False),
        ("L2", "64 x unordered_map + mutex", "64 x unordered_map + mutex", False),
        ("L2", "oneTBB accessor", "oneTBB accessor", False),
        ("L2", "Go keyed mutex", "Go keyed mutex", False),
        ("L2", "64 x flat_hash_map + absl::Mutex", "flat_hash_map + absl::Mutex", False))),
    ("Two threads, each on keys of its own", "M/s", "longer is better", (
        ("L4", "pairs with a lease", "liblock, with a lease", True),
        ("L4", "64 x unordered_map + mutex", "64 x unordered_map + mutex", False),
        ("L4", "oneTBB accessor", "oneTBB accessor", False),
        ("L4", "64 x flat_hash_map + absl::Mutex", "flat_hash_map + absl::Mutex", False))),
    ("64 threads on one key in strict order: hand-offs", "k/s", "longer is better", (
        ("L7", "hand-offs, 0 us sections", "liblock", True),
        ("L7", "futex ring of 64 (floor)", "a bare ring of futexes", False))),
    ("64 threads on one key in any order: pairs", "k/s", "longer is better; a miss", (
        ("L9", "pairs", "liblock, order ANY", True),
        ("L9", "std::mutex (floor)", "std::mutex", False))),
)
SERVERS = (
    ("Fenced pairs a second, 64 at once, one server", "k/s", "longer is better", (
        ("R1", "pairs, caller's loop", "liblock, caller's loop", True),
        ("R1", "pairs, completion queue", "liblock, completion queue", True),
        ("R1", "ceiling: 1 / (1/acquires + 1/releases)", "redis-benchmark, single releases", False))),
    ("CPU of the client per pair, 256 at once", "us", "shorter is better", (
        ("R3", "CPU per pair, one loop", "liblock, caller's loop", True),
        ("R3", "CPU per pair, completion queue", "liblock, completion queue", True),
        ("R3", "hiredis async on libuv", "hiredis, the commands alone", False),
        ("R3", "hand-written RESP (floor)", "hand-written RESP, single releases", False))),
    ("One pair after the other, server on another CPU: p50", "us", "shorter is better", (
        ("R5", "pair p50, server on another CPU", "liblock", True),
        ("R5", "hiredis sync pair p50 (floor), server on another CPU", "hiredis, the commands alone", False))),
    ("From a release to the next owner in another process: p50", "us", "shorter is better", (
        ("R7", "hand-over p50, caller's loop", "liblock, caller's loop", True),
        ("R7", "hand-over p50, callback", "liblock, callback", True),
        ("R7", "hand-over p50, blocking", "liblock, blocking waiter", True),
        ("R7", "PUBLISH wake p50 (floor)", "PUBLISH to read(), no lock", False))),
    ("Acquire over five servers, one after the other: p50", "us", "shorter is better", (
        ("R8", "acquire p50", "liblock", True),
        ("R8", "bare fan-out, majority p50", "bare SET to five, majority", False),
        ("R8", "SET NX PX p50, hiredis sync (floor)", "SET to one", False))),
    ("Pairs a second over five servers, 64 at once", "k/s", "longer is better", (
        ("R9", "pairs, caller's loop", "liblock, caller's loop", True),
        ("R9", "pairs, completion queue", "liblock, completion queue", True),
        ("R9", "bare fan-out, hiredis async on libuv", "bare SET and compare-delete", False))),
)
CLIENTS = ("liblock", "redsync", "redislock", "redis-py", "node-redlock", "rslock", "Redisson RLock")
# The same, with what makes the figure of its unit.
PEERS = (
    ("Acquire and release, nobody in the way (p50)", "us", 1, "shorter is better",
     [("P1", name, name) for name in CLIENTS]),
    ("From a release to the next holder in another process (p50)", "ms", 1e-3, "shorter is better",
     [("P2", name, name) for name in CLIENTS]),
    ("64 threads on one key, 1 ms between two turns of each", "pairs/s", 1, "longer is better",
     [("F1", f"{name}: pairs, 1 ms between two of a thread", name) for name in CLIENTS]),
    ("64 threads on one key without a pause: longest wait", "ms", 1, "shorter is better",
     [("F1", f"{name}: longest wait, no pause", name) for name in CLIENTS]),
)
BAR, GAP, LABELS, RIGHT = 17, 8, 232, 90


def shown(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def panel(picture, y, heading, unit, better, bars):
    """bars: (label, median, least, greatest, is it ours). Returns where the next panel begins."""
    picture.text(20, y, heading, "strong")
    picture.text(picture.width - 20, y, f"{unit}, {better}", "small muted", "end")
    scale = (picture.width - LABELS - RIGHT) / max(greatest for _, _, _, greatest, _ in bars)
    y += 12
    for label, median, least, greatest, is_ours in bars:
        picture.text(LABELS - 8, y + 13, label, "small strong" if is_ours else "small", "end", LABELS - 10)
        picture.box(LABELS, y, median * scale, BAR, "main" if is_ours else "other", 2)
        if greatest > least:
            picture.line(LABELS + least * scale, y + BAR / 2, LABELS + greatest * scale, y + BAR / 2, "spread")
        picture.text(LABELS + greatest * scale + 6, y + 13, shown(median), "small")
        y += BAR + GAP
    return y + 24


def draw_run(root, reference, panels, about, heading, page):
    """Panels of one kept run. about: title and description for those who do not see it."""
    run = json.loads((root / "bench/results" / reference).read_text(encoding="utf-8"))
    known = {(one["row"], one["label"]): one for one in run["figures"]}
    height = 79 + sum(36 + (BAR + GAP) * len(rows) for _, _, _, rows in panels)
    picture = Picture(760, height, *about)
    picture.text(20, 32, heading, "large")
    machine = run["machine"]
    count, _, kind = machine["cpus"].partition(" ")
    picture.text(20, 52, f"{run['when'][:10]}, {machine['cpu']}, {count} CPUs {kind}, {run['rounds']} rounds; "
                 f"method in {page}", "small muted")
    y = 84
    for title, unit, better, rows in panels:
        bars = [(label, known[row, name]["median"], known[row, name]["min"], known[row, name]["max"], is_ours)
                for row, name, label, is_ours in rows]
        y = panel(picture, y, title, unit, better, bars)
    return picture


def draw_local(root):
    return draw_run(root, "reference.json", LOCAL, (
        "Figures of the local context", "Bars of the medians in bench/README.md, with their spread."),
        "The local context beside what one would use instead", "bench/README.md")


def draw_servers(root):
    return draw_run(root, "reference-servers.json", SERVERS, (
        "Figures of locks on servers", "Bars of the medians in docs/performance.md, with their spread."),
        "Locks on servers beside what the servers and the network allow", "docs/performance.md")


def draw_redis(root):
    run = json.loads((root / "bench/results/reference-peers.json").read_text(encoding="utf-8"))
    known = {(one["row"], one["label"]): one for one in run["figures"] if "median" in one}
    panels = [(*head, [(row, name, label) for row, name, label in rows if (row, name) in known])
              for *head, rows in PEERS]
    height = 64 + sum(len(rows) for *_, rows in panels) * (BAR + GAP) + len(panels) * 36
    picture = Picture(760, height, "Beside other lock clients over one Redis server",
                      "Bars of the medians in docs/performance.md, with their spread.")
    picture.text(20, 32, "Over one Redis server, beside other lock clients", "large")
    cpus = run["machine"]["cpus"].partition(" ")[0]
    picture.text(20, 52, f"{run['when'][:10]}, {cpus} CPUs, {run['rounds']} rounds; method in docs/performance.md",
                 "small muted")
    y = 84
    for heading, unit, scale, better, rows in panels:
        found = [(label, *(known[row, name][one] * scale for one in ("median", "min", "max")), label == "liblock")
                 for row, name, label in rows]
        y = panel(picture, y, heading, unit, better, found)
    return picture
