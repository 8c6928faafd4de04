# SPDX-License-Identifier: MIT
"""How a cost grows with what there is many of: the exponent b of the a * n^b that fits it best, by least squares on
the logarithms of both. Pure arithmetic."""
import math


def exponent(points):
    """Of [(size, cost)]. A cost of nothing has no logarithm: such a point is an error, not a figure."""
    if len({size for size, _ in points}) < 2:
        raise ValueError("a growth takes two sizes at least")
    xs = [math.log(size) for size, _ in points]
    ys = [math.log(cost) for _, cost in points]
    middle_x, middle_y = sum(xs) / len(xs), sum(ys) / len(ys)
    return (sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys)) /
            sum((x - middle_x) ** 2 for x in xs))


def of_log(sizes):
    """The exponent that log n has between these sizes: what one of n costs where all cost n log n."""
    return exponent([(size, math.log(size)) for size in sizes])
