# SPDX-License-Identifier: MIT
"""Plots of the figures of bench/README.md: the local ones from the run that its table comes from
(bench/results/reference.json), those over a server from its table. Bars are medians; the thin line over a bar goes from
the least to the greatest of the rounds. Misses are shown like hits."""
import json
import re

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


def draw_local(root):
    run = json.loads((root / "bench/results/reference.json").read_text(encoding="utf-8"))
    known = {(one["row"], one["label"]): one for one in run["figures"]}
    picture = Picture(760, 598, "Figures of the local context",
                      "Bars of the medians in bench/README.md, with their spread.")
    picture.text(20, 32, "The local context beside what one would use instead", "large")
    machine = run["machine"]
    count, _, kind = machine["cpus"].partition(" ")
    picture.text(20, 52, f"{run['when'][:10]}, {machine['cpu']}, {count} CPUs {kind}, {run['rounds']} rounds; "
                 "method in bench/README.md", "small muted")
    y = 84
    for heading, unit, better, rows in LOCAL:
        bars = [(label, known[row, name]["median"], known[row, name]["min"], known[row, name]["max"], is_ours)
                for row, name, label, is_ours in rows]
        y = panel(picture, y, heading, unit, better, bars)
    return picture


def draw_redis(root):
    page = (root / "bench/README.md").read_text(encoding="utf-8").split("## Hand-over over one Redis server")[1]
    rows = re.findall(r"^\| ([\w-]+) \| (\d+) \| (\d+) \|", page, re.MULTILINE)
    if not rows:
        raise ValueError("bench/README.md has no table of hand-overs")
    picture = Picture(760, 282, "Hand-over over one Redis server",
                      "Time from a release to the next holder in another process, as bars of p50 and p99.")
    heading = "From a release to the next holder, in another process, over one Redis server"
    picture.text(20, 32, heading, "large")
    others = "the others poll every millisecond here; by default 50 to 250 ms (redsync) and 100 ms (redis-py)"
    picture.text(20, 52, others, "small muted")
    y = 84
    for column, heading in ((1, "half of them sooner (p50)"), (2, "one of a hundred later (p99)")):
        bars = [(row[0], *[int(row[column])] * 3, row[0] == "liblock") for row in rows]
        y = panel(picture, y, heading, "us", "shorter is better", bars)
    return picture
