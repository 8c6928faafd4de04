#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of the pages are those of the results in results/: each figure follows from its rounds, every row and
every peer is there, and each table was measured five times or more on a machine that was left alone, all of them
within half an hour. Of what misses its mark the page says why, with a profile that shows it. TAP."""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))

import profiles  # noqa: E402  (the path had to be set first)
import scale  # noqa: E402
from harness import groups, machine, others, report  # noqa: E402
from harness.scale_rows import CURVES  # noqa: E402
from tap import Tap  # noqa: E402

ROOT = HERE.parent
WHOLE_S, LOCAL_S = 1800, 120  # `./dev bench` and `./dev bench local` on two CPUs


def result_of(name):
    return json.loads((HERE / "results" / name).read_text(encoding="utf-8"))


def changed_its_speed(table):
    found = report.swing(table.probes, result_of(table.reference)["metrics"])
    if found is not None and found[0] > machine.UNSTEADY:
        yield f"{found[1]} took {found[0]:.2f} times as long in one round as in another: the machine changed its speed"


def not_measured_well(run):
    if run["rounds"] < scale.ROUNDS:
        yield f"{run['rounds']} rounds, of {scale.ROUNDS}"
    if run["foreign"] > machine.TOO_BUSY:
        yield f"others used {100 * run['foreign']:.0f} % of the machine"
    yield from run["build"]["warnings"]


def not_on_page(path, marker, markdown):
    there, wanted = report.parts_of_page(path, marker)[1].split("\n"), f"\n{markdown}\n\n".split("\n")
    for line in there:
        if line not in wanted:
            yield f"{path.name} has what the results have not: {line}"
    for line in wanted:
        if line not in there:
            yield f"{path.name} has not what the results have: {line}"
    if there != wanted and set(there) == set(wanted):
        yield f"{path.name} has the lines of the results in another order"


def table_differs(table):
    run = result_of(table.reference)
    absent = {need for row in table.rows for need in row.needs if any(need not in taken for taken in run["metrics"])}
    if absent or len(run["metrics"]) != run["rounds"]:
        yield f"{table.reference} has {len(run['metrics'])} rounds, not in all of them {', '.join(sorted(absent))}"
        return
    kept, anew = (report.as_markdown(table, figures, run)
                  for figures in (run["figures"], report.figures(table.rows, run["metrics"], {})))
    if kept != anew:
        yield f"the figures of {table.reference} do not follow from its rounds"
    yield from not_on_page(ROOT / table.page, table.marker, anew)


def misses_unexplained(table):
    """The first words of a bullet name each row that misses its mark, and the bullet points to its profile."""
    page = (ROOT / table.page).read_text(encoding="utf-8")
    for entry in result_of(table.reference)["figures"]:
        if entry.get("verdict") != "MISSED":
            continue
        row = entry["row"]
        bullet = re.search(rf"^- \*\*[^:\n]*\b{row}\b.*(?:\n  .*)*", page, re.MULTILINE)
        if bullet is None:
            yield f"{table.page} does not say why {row} misses its mark: {entry['label']}"
        elif f"profiles.md#{row.lower()})" not in bullet.group():
            yield f"{table.page} does not show the profile of {row} where it says why that misses its mark"


def profiles_differ():
    run = result_of(profiles.RESULTS.name)
    there = {(profile["row"], label) for profile in run["profiles"] for label in profile["labels"]}
    wanted = {(row, label) for row, label, _ in profiles.missed()}
    for row, label in sorted(wanted - there):
        yield f"{row} misses its mark and has no profile: {label}; make one with ./dev bench profiles"
    for row, label in sorted(there - wanted):
        yield f"{row} has a profile and misses no mark: {label}"
    for profile in run["profiles"]:
        if profile.get("foreign", 0) > machine.TOO_BUSY:
            yield f"{profile['row']}: others used {100 * profile['foreign']:.0f} % of the machine"
    yield from run["build"]["warnings"]
    yield from not_on_page(profiles.PAGE, profiles.MARKER, profiles.as_markdown(run))


def measured_for_too_long():
    times = result_of("times.json")
    whole_s = times.get("seconds_with_the_build")
    if whole_s is None or whole_s > WHOLE_S:
        yield f"./dev bench took {whole_s} s, of {WHOLE_S}" if whole_s else "nobody timed ./dev bench as a whole"
    of_local = times["seconds_of_tables"]["L"]
    if of_local > LOCAL_S:
        yield f"the local rows took {of_local} s, of {LOCAL_S}"
    if times["rounds"] < scale.ROUNDS:
        yield f"{times['rounds']} rounds, of {scale.ROUNDS}"


def growth_anew(run):
    """Its figures from what each round has found."""
    taken = {(entry["curve"], entry["label"]): entry["rounds"] for entry in run["figures"]}
    return [scale.judged(curve, cost, {size: taken[curve.id, cost.label][str(size)] for size in curve.sizes})
            for curve in CURVES for cost in curve.costs]


def is_whole(run):
    """Has it each cost of each curve at each size in all its rounds?"""
    there = {(entry["curve"], entry["label"]): {(int(size), len(each)) for size, each in entry["rounds"].items()}
             for entry in run["figures"]}
    wanted = {(curve.id, cost.label): {(size, run["rounds"]) for size in curve.sizes}
              for curve in CURVES for cost in curve.costs}
    return there == wanted


def growth_differs():
    run = result_of(scale.RESULTS.name)
    if not is_whole(run):
        yield f"{scale.RESULTS.name} has not each cost of each curve at each size in {run['rounds']} rounds"
        return
    kept, anew = (scale.as_markdown({**run, "figures": figures}, CURVES)
                  for figures in (run["figures"], growth_anew(run)))
    if kept != anew:
        yield f"the figures of {scale.RESULTS.name} do not follow from its rounds"
    yield from not_on_page(scale.PAGE, scale.MARKER, anew)


def grows_worse_than_it_may():
    """Judged anew: what an exponent may be at most is of CURVES, not of the day of the run."""
    run = result_of(scale.RESULTS.name)
    for entry in growth_anew(run) if is_whole(run) else ():
        if entry["verdict"] not in ("met", ""):
            yield f"{entry['curve']}: {entry['label']}: {entry['verdict'].lower()}"


def not_of_a_table():
    of_tables = {table.reference for table in groups.TABLES.values()}
    of_tables |= {scale.RESULTS.name, profiles.RESULTS.name, "times.json"}
    of_tables |= {path.name for path in others.RESULTS.glob(others.PATTERN)}
    for path in sorted(others.RESULTS.glob("*.json")):
        if path.name not in of_tables and not path.name.startswith("run-"):
            yield f"{path.name} is of no table"


def others_differ():
    for name, run in others.kept().items():
        yield from others.problems(name, run)
    for place in others.PLACES:
        yield from not_on_page(ROOT / place.page, place.marker, others.as_markdown(place))


def main():
    tap = Tap()
    for table in groups.TABLES.values():
        tap.rule(f"{table.page}: {table.marker} is what {table.reference} says", table_differs(table))
        tap.rule(f"{table.reference} was measured well", not_measured_well(result_of(table.reference)))
        tap.rule(f"{table.reference} was measured on a machine of one speed", changed_its_speed(table))
        tap.rule(f"{table.page} says why its marks are missed", misses_unexplained(table))
    tap.rule(f"docs/{scale.PAGE.name}: {scale.MARKER} is what {scale.RESULTS.name} says", growth_differs())
    tap.rule("no cost grows faster than it may, and none is above its bound", grows_worse_than_it_may())
    tap.rule(f"{scale.RESULTS.name} was measured well", not_measured_well(result_of(scale.RESULTS.name)))
    tap.rule("what misses its mark has a profile, and docs/profiles.md shows it", profiles_differ())
    tap.rule("every result is of a table", not_of_a_table())
    tap.rule("what other hosts said of the rows with a mark is what their results say", others_differ())
    tap.rule("all of it was measured within half an hour, the local rows within two minutes", measured_for_too_long())
    tap.finish()


if __name__ == "__main__":
    main()
