# SPDX-License-Identifier: MIT
"""What other hosts said of the rows that have a mark. A page's table is of one run on one host; other runs are kept as
results/other-*.json: their figures with the value of each round, and of the metrics those that tell the speed of the
machine. A figure that was then measured in another way says so ("differs"). Each page shows them beside its own."""
import json
import pathlib
from statistics import median
from typing import NamedTuple

from . import groups, report

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
PATTERN = "other-*.json"


class Place(NamedTuple):
    page: str
    marker: str
    tables: tuple  # of groups.TABLES


PLACES = (Place("bench/README.md", "others L", ("L",)), Place("docs/performance.md", "others R", ("R", "S", "P")))


def kept():
    """{what a run is called: run}, the oldest first."""
    names = {path: path.stem.removeprefix("other-") for path in sorted(RESULTS.glob(PATTERN))}
    return {f"{name[:10]} {name[11:]}": json.loads(path.read_text(encoding="utf-8")) for path, name in names.items()}


def stripped(run):
    """A run of run.py as it is kept."""
    probes = {probe for table in groups.TABLES.values() for probe in table.probes}
    metrics = [{name: value for name, value in one.items() if name in probes} for one in run["metrics"]]
    return {**run, "metrics": [one for one in metrics if one]}


def marked(place):
    """(row, part) of each mark of the page, in the order of its tables."""
    return [(row, part) for name in place.tables for row in groups.TABLES[name].rows for part in row.parts if part.goal]


def by_part(run):
    return {(entry["row"], entry["label"]): entry for entry in run["figures"]}


def problems(name, run):
    """Each figure follows from its rounds, and is of a row that there is."""
    known = {(row.id, part.label) for place in PLACES for row, part in marked(place)}
    for (row, label), entry in by_part(run).items():
        if "missing" in entry:
            continue
        values = entry["values"]
        if (median(values), min(values), max(values)) != (entry["median"], entry["min"], entry["max"]):
            yield f"{name}: {row} {label} does not follow from its rounds"
        if "reach" in entry and (row, label) not in known:
            yield f"{name}: {row} {label} is no row with a mark any more"
    if run["build"]["warnings"]:
        yield f"{name}: {', '.join(run['build']['warnings'])}"


def about(name, run, tables):
    """What one has to know of another run: when, where, and what may have disturbed it."""
    machine = run["machine"]
    commit = f", commit {run['commit']}" if run.get("commit") else ""
    swings = list(filter(None, (report.swing(groups.TABLES[table].probes, run["metrics"]) for table in tables)))
    speed = f"; its speed changed by {max(swings)[0]:.2f} between rounds ({max(swings)[1]})" if swings else ""
    return (f"- *{name}*: {run['when'][:10]}{commit}; {machine['cpu']}, {machine['cpus']} CPUs, Linux "
            f"{machine['kernel']}; {run['rounds']} rounds; others used at most {100 * run['foreign']:.1f} % of the "
            f"machine{speed}")


def cell(part, entry):
    if entry is None or "missing" in entry:
        return "not measured"
    differs = f", {entry['differs']}" if "differs" in entry else ""
    return (f"{report.number(entry['median'])} ({report.number(entry['min'])} - {report.number(entry['max'])}) "
            f"{part.goal.verdict(entry['median'])}{differs}")


def as_markdown(place):
    there = {name: run for name, run in kept().items()
             if any((row.id, part.label) in by_part(run) for row, part in marked(place))}
    own, lines = {}, []
    for name in place.tables:
        table = groups.TABLES[name]
        run = json.loads((RESULTS / table.reference).read_text(encoding="utf-8"))
        own.update(by_part(run))
        rows = ", ".join(row.id for row in table.rows if any(part.goal for part in row.parts))
        lines.append(f"- *the table*, {rows}: {run['when'][:10]}; {run['machine']['cpu']}")
    lines += [about(name, run, place.tables) for name, run in there.items()]
    lines += ["", f"| row | what | mark | the table | {' | '.join(there)} |",
              "| --- | --- | --- | --- |" + " --- |" * len(there)]
    for row, part in marked(place):
        entry = own[row.id, part.label]
        cells = [row.id, part.label, part.goal.text(part.goal.reach),
                 f"{report.number(entry['median'])} {part.goal.verdict(entry['median'])}",
                 *(cell(part, by_part(run).get((row.id, part.label))) for run in there.values())]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def into_pages():
    for place in PLACES:
        report.into_page(ROOT / place.page, place.marker, as_markdown(place))
