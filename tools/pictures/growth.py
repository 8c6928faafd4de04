# SPDX-License-Identifier: MIT
"""Plot of what one of many costs, from bench/results/reference-growth.json: both axes by powers of ten, so that a cost
that does not grow is level, and one that is paid for all at each falls out of the picture."""
import json
import math

from svg import Picture

LEFT, TOP, WIDTH, HEIGHT = 62, 84, 690, 300
# curve, cost, name in the plot, class of its line
LINES = (
    ("held-redis", "client CPU to take one", "take a key on a server", "main-line"),
    ("waiters-redis", "client CPU per hand-over", "hand it to a waiter, server", "main-line dashed"),
    ("renewed", "client CPU per renewal", "renew a lease", "main-line"),
    ("waiters-local", "client CPU per hand-over", "hand it to a waiter, local", "spread"),
    ("held-local", "client CPU to take one", "take a key, local", "spread"),
    ("held-local", "client CPU of a pair on other keys", "a pair beside them, local", "spread dashed"),
)
SIZES, COSTS = (0, 6), (-2, 3)  # powers of ten: 1 to 1,000,000 of them, 0.01 to 1,000 us


def at(size, cost):
    x = LEFT + (math.log10(size) - SIZES[0]) / (SIZES[1] - SIZES[0]) * (WIDTH - LEFT - 200)
    y = TOP + HEIGHT - (math.log10(cost) - COSTS[0]) / (COSTS[1] - COSTS[0]) * HEIGHT
    return x, y


def axes(picture):
    for power in range(COSTS[0], COSTS[1] + 1):
        _, y = at(1, 10 ** power)
        picture.line(LEFT, y, at(10 ** SIZES[1], 1)[0], y, "thin")
        picture.text(LEFT - 8, y + 4, f"{10 ** power:g} us", "small muted", "end")
    for power in range(SIZES[0], SIZES[1] + 1):
        x, _ = at(10 ** power, 1)
        picture.line(x, TOP, x, TOP + HEIGHT, "thin")
        picture.text(x, TOP + HEIGHT + 18, f"{10 ** power:,}", "small muted", "middle")


def apart(labels):
    """The heights of labels, so moved that no two are written over each other."""
    placed = []
    for y, x, name in sorted(labels):
        placed.append((max([y] + [other + 15 for other, _, _ in placed[-1:]]), x, name))
    return placed


def draw(root):
    run = json.loads((root / "bench/results/reference-growth.json").read_text(encoding="utf-8"))
    known = {(one["curve"], one["label"]): one["values"] for one in run["figures"]}
    picture = Picture(760, 430, "What one of many costs", "Client CPU of one operation over how many there are.")
    picture.text(20, 32, "CPU of one operation, over how many keys, waiters or leases there are", "large")
    picture.text(20, 52, f"{run['when'][:10]}, {run['machine']['cpu']}, {run['server']}; level is better; method in "
                 "docs/scale.md", "small muted")
    axes(picture)
    labels = []
    for curve, cost, name, style in LINES:
        points = [at(int(size), value) for size, value in known[curve, cost].items()]
        for (x1, y1), (x2, y2) in zip(points, points[1:]):
            picture.line(x1, y1, x2, y2, style)
        labels.append((points[-1][1], points[-1][0], name))
    for y, x, name in apart(labels):
        picture.text(x + 8, y + 4, name, "small", room=190)
    return picture
