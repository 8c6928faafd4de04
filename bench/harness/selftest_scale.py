#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Growth is fitted and judged as it should be: a curve that flatters is worse than none."""
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent.parent / "tools")]

import scale  # noqa: E402
from harness import growth, scale_rows  # noqa: E402
from tap import Tap  # noqa: E402

SIZES = (100, 1_000, 10_000)
LOG = scale_rows.Cost("one", "us", lambda figures, size: figures["a"], scale_rows.LOG)
FLAT = scale_rows.Cost("one", "us", lambda figures, size: figures["a"], scale_rows.FLAT)
CURVE = scale_rows.Curve("x", "local", "held", "a title", (1,) + SIZES, (LOG,), judged_from=100)


def is_near(found, wanted):
    return [] if abs(found - wanted) < 1e-9 else [f"{found}, not {wanted}"]


def fitted():
    yield from is_near(growth.exponent([(size, 7.0) for size in SIZES]), 0)
    yield from is_near(growth.exponent([(size, 3.0 * size ** 1.5) for size in SIZES]), 1.5)
    # Least squares: one point off by a factor of e in the middle of three moves all of them, and not the slope.
    off = [(100, 1.0), (1_000, math.e), (10_000, 1.0)]
    yield from is_near(growth.exponent(off), 0)


def refused():
    for points in ([], [(10, 1.0)], [(10, 1.0), (10, 2.0)], [(10, 1.0), (100, 0.0)]):
        try:
            yield f"{points}: {growth.exponent(points)}"
        except ValueError:
            pass


def verdicts():
    cases = (("quadratic in all", LOG, lambda size: size * 1e-3, "GROWS TOO FAST"),
             ("n log n in all", LOG, lambda size: math.log(size), "met"),
             ("n log n in all is not flat", FLAT, lambda size: math.log(size), "GROWS TOO FAST"),
             ("flat", FLAT, lambda size: 5.0, "met"),
             ("falling", FLAT, lambda size: 5.0 / size, "met"),
             ("not judged", scale_rows.Cost("one", "us", None), lambda size: size, ""))
    for name, cost, value, verdict in cases:
        values = {size: [0.9 * value(size), value(size), 2 * value(size)] for size in SIZES}
        found = scale.judged(CURVE, cost, {1: [1e9], **values})["verdict"]
        if found != verdict:
            yield f"{name}: {found!r}"


def bounds():
    for value, verdict in ((10.0, "met"), (10.1, "TOO MUCH")):
        cost = scale_rows.figure("cpu", "%", "a", most=10)
        found = scale.judged(CURVE, cost, {1: [99.0], 100: [99.0], 1_000: [99.0], 10_000: [value]})["verdict"]
        if found != verdict:
            yield f"{value}: {found!r}"


def losses():
    """One lost lease in five rounds is one too many."""
    cost = next(cost for curve in scale_rows.CURVES if curve.id == "renewed" for cost in curve.costs
                if cost.label == "leases lost")
    found = scale.judged(CURVE, cost, {size: [0, 0, 1, 0, 0] for size in CURVE.sizes})
    return [] if found["verdict"] == "TOO MUCH" else [str(found)]


def tables():
    entry = scale.judged(CURVE, LOG, {1: [2.0], 100: [2.9, 3.5, 3.0], 1_000: [4.0, 4.0, 5.0], 10_000: [12_345.6]})
    found = scale.cells(entry, CURVE.sizes)
    wanted = ["one", "us", "2", "3", "4", "12,346", "25 %", f"{entry['exponent']:.2f}", f"{entry['exponent_most']:.2f}",
              "GROWS TOO FAST"]
    if found != wanted:
        yield str(found)
    if scale.cells({**entry, "verdict": ""}, CURVE.sizes)[-1] != "not judged":
        yield "nobody sees what is not judged"
    if scale.fitted_from(CURVE) != "exponents from 100 on":
        yield scale.fitted_from(CURVE)


def curves_of_the_mission():
    known = {curve.id: curve for curve in scale_rows.CURVES}
    yield from (f"{name} is missing" for name in
                ("waiters-local", "waiters-redis", "waiters-quorum", "standing-redis", "held-local", "held-redis",
                 "held-quorum", "renewed", "owners-local", "owners-redis", "nodes") if name not in known)
    yield from (f"{curve.id} judges no cost" for curve in known.values() if not any(c.grows for c in curve.costs))
    yield from (f"{curve.id} is fitted over {curve.judged}" for curve in known.values() if len(curve.judged) < 3)
    # A server that knows one of all waiters says nothing of many.
    served = {"server CPU to queue one", "server memory per waiter", "commands per hand-over",
              "server CPU per hand-over"}
    for name, wanted in (("waiters-redis", set()), ("waiters-quorum", set()), ("standing-redis", served)):
        judged = served & {cost.label for cost in known[name].costs if cost.grows}
        if judged != wanted:
            yield f"{name} judges {sorted(judged)}"
    if {cost.label: cost.most for cost in known["renewed"].costs if cost.most is not None} != {
            "client CPU": 10, "commands": 2000, "leases lost": 0}:
        yield "S1 is judged by other bounds"


def main():
    tap = Tap()
    tap.rule("an_exponent_is_that_of_the_power_that_fits_best", fitted())
    tap.rule("what_cannot_be_fitted_is_an_error", refused())
    tap.rule("a_cost_that_grows_too_fast_is_said_to", verdicts())
    tap.rule("a_bound_holds_at_the_greatest_size", bounds())
    tap.rule("what_happened_in_one_round_is_not_averaged_away", losses())
    tap.rule("a_line_of_the_table_says_what_was_found", tables())
    tap.rule("every_curve_is_there_and_is_judged", curves_of_the_mission())
    tap.finish()


if __name__ == "__main__":
    main()
