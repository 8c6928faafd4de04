# SPDX-License-Identifier: MIT
"""Plot of a soak: memory, descriptors and threads, keys, and how long a waiter needs to wake up, over the minutes that
one process locked in all scopes while its servers were bent. From what tests/soak/run.py left."""
import json

from svg import Picture

KEPT = "tests/reliability/results.json"
LEFT, WIDTH, PANEL, BETWEEN = 62, 560, 82, 40
# heading, unit, [(field, name in the plot, class of its line, divided by)]
PANELS = (
    ("Resident memory", "MiB", (("rss_kib", "RSS", "main-line", 1024),)),
    ("Descriptors and threads of the process", "", (("descriptors", "descriptors", "main-line", 1),
                                                    ("threads", "threads", "spread", 1))),
    ("Keys on its four servers", "", (("keys", "keys", "main-line", 1),)),
    ("From a release to the next holder, median of each second", "ms", (
        ("local_p50_us", "local", "spread", 1000), ("redis_p50_us", "one server", "main-line", 1000),
        ("quorum_p50_us", "three nodes", "main-line dashed", 1000))),
)


def ceiling(value):
    """The next round number."""
    step = 1
    while step * 10 < value:
        step *= 10
    return next(step * times for times in (1, 2, 3, 4, 5, 6, 8, 10, 20) if step * times >= value)


def panel(picture, top, heading, unit, lines, samples):
    until = samples[-1]["s"]
    greatest = 0
    for field, _, _, divisor in lines:
        # A fault lasts for a second; what it does to one sample would flatten all the others.
        seen = sorted(one[field] / divisor for one in samples if one[field] >= 0)
        greatest = max(greatest, seen[len(seen) * 99 // 100] if seen else 0)
    most = ceiling(greatest * 1.05 or 1)
    picture.text(LEFT, top - 8, heading, "strong")
    for part in (0, 0.5, 1):
        y = top + PANEL * (1 - part)
        picture.line(LEFT, y, LEFT + WIDTH, y, "thin")
        picture.text(LEFT - 8, y + 4, f"{most * part:g} {unit}".strip(), "small muted", "end")
    for row, (field, name, style, divisor) in enumerate(lines):
        points = [(LEFT + WIDTH * one["s"] / until, top + PANEL * (1 - min(1, one[field] / divisor / most)))
                  for one in samples if one[field] >= 0]
        picture.add("polyline", style, points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points))
        y = top + 14 + row * 18
        picture.line(LEFT + WIDTH + 12, y - 4, LEFT + WIDTH + 34, y - 4, style)
        picture.text(LEFT + WIDTH + 40, y, name, "small", room=95)


def draw_run(run):
    samples = run["samples"]
    top = 92
    height = top + len(PANELS) * (PANEL + BETWEEN) + 8
    picture = Picture(760, height, "A soak", "Memory, descriptors, threads, keys and wake-up latency over time.")
    picture.text(20, 32, f"{run['minutes']:g} minutes of locks in all scopes, servers bent now and then", "large")
    picture.text(20, 52, f"{run['when'][:10]}, {sum(run['faults'].values())} faults, memory "
                 f"{run['rss_mib']['per_hour']:+.2f} MiB/h after the warm-up; level is good", "small muted")
    for heading, unit, lines in PANELS:
        panel(picture, top, heading, unit, lines, samples)
        top += PANEL + BETWEEN
    picture.text(LEFT, height - 14, "begin", "small muted")
    picture.text(LEFT + WIDTH, height - 14, f"{samples[-1]['s'] / 60:.0f} min", "small muted", "end")
    return picture


def draw(root):
    return draw_run(json.loads((root / KEPT).read_text(encoding="utf-8"))["soak"])
