# SPDX-License-Identifier: MIT
"""Figures out of metrics, and tables out of figures. A figure is the median of the rounds with its least and
greatest; what could not be measured is named with the reason, never left out."""

import re
from statistics import median

from .machine import build_words

HEADINGS = ("id", "measure", "median", "min - max", "unit", "reach", "aim", "verdict")


def number(value):
    if value != value or abs(value) >= 1e6:
        return f"{value:.3g}"
    if 0 < abs(value) < 0.01:
        return f"{value:.2g}"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 100 else f"{value:.2f}"


def figures(rows, rounds, missing):
    """One entry per part; `rounds` is a list of {metric: value}."""
    result = []
    for row in rows:
        for part in row.parts:
            entry = {"row": row.id, "label": part.label, "unit": part.unit, "required": row.required}
            if part.goal:
                entry.update(reach=part.goal.text(part.goal.reach), aim=part.goal.text(part.goal.aim))
            absent = [need for need in part.needs if need in missing]
            if absent:
                entry["missing"] = f"missing here: {', '.join(sorted({missing[need] for need in absent}))}"
            else:
                values = [part.compute(*(metrics[need] for need in part.needs)) for metrics in rounds]
                entry.update(median=median(values), min=min(values), max=max(values), values=values)
                entry["verdict"] = part.goal.verdict(entry["median"]) if part.goal else ""
            result.append(entry)
    return result


def _cells(entry):
    goals = (entry.get("reach", ""), entry.get("aim", ""))
    if "missing" in entry:
        return (entry["row"], entry["label"], "-", "-", entry["unit"], *goals, entry["missing"])
    spread = f"{number(entry['min'])} - {number(entry['max'])}"
    middle = number(entry["median"])
    return (entry["row"], entry["label"], middle, spread, entry["unit"], *goals, entry["verdict"])


def as_text(rows, entries):
    lines = []
    cells = [HEADINGS] + [_cells(entry) for entry in entries]
    widths = [max(len(line[i]) for line in cells) for i in range(len(HEADINGS))]

    def show(line):
        aligned = (text.rjust(width) if i in (2, 3) else text.ljust(width)
                   for i, (text, width) in enumerate(zip(line, widths)))
        lines.append("  ".join(aligned).rstrip())

    show(HEADINGS)
    for row in rows:
        lines.append(f"--- {row.id}: {row.title}{' (required)' if row.required else ''}")
        for line in cells[1:]:
            if line[0] == row.id:
                show(line)
    return "\n".join(lines)


def swing(probes, rounds):
    """Of the probe that swung most how many times as long it took in one round as in another, without its least and its
    greatest; that probe; and the same with these, of the one for which that is most. Of five rounds and more the median
    lies among those that are left; of fewer none is left out. None: no probe was measured."""
    taken = {probe: sorted(metrics[probe] for metrics in rounds if probe in metrics) for probe in probes}
    found = [(_times(values[1:-1] if len(values) >= 5 else values), probe, _times(values))
             for probe, values in taken.items() if values]
    return (*max(found)[:2], max(of_all for _, _, of_all in found)) if found else None


def _times(ascending):
    return ascending[-1] / ascending[0]


def measured_what(run):
    """When, which version, and of which commit where that is known: results of before 2026-11-27 do not say."""
    commit = f" (commit {run['commit']})" if run.get("commit") else ""
    return f"{run['when'][:10]}, liblock {run['version']}{commit}"


def as_markdown(table, entries, run):
    rows = table.rows
    lines = [f"| {' | '.join(HEADINGS)} |", "| --- | --- | ---: | ---: | --- | --- | --- | --- |"]
    for row in rows:
        lines.append(f"| **{row.id}** | **{row.title}** | | | | | | {'required' if row.required else ''} |")
        for entry in entries:
            if entry["row"] == row.id:
                cells = [""] + [cell.replace("|", "\\|") for cell in _cells(entry)[1:]]
                lines.append(f"| {' | '.join(cells)} |")
    machine, build = run["machine"], run["build"]
    head = [
        f"{measured_what(run)}, {run['rounds']} rounds. "
        f"{machine['cpu']}, {machine['cpus']} CPUs, Linux {machine['kernel']}, {machine['libc']}; "
        f"{build['compiler']}, {build_words(build)}"
        f"{', ' + machine['go'] if machine.get('go') else ''}. "
        f"Others used at most {100 * run['foreign']:.1f} % of the machine during a program."]
    found = swing(table.probes, run["metrics"])
    if found is not None:
        names = [probe.split(":")[0] for probe in table.probes if any(probe in taken for taken in run["metrics"])]
        head[0] += (f" Of {len(names)} programs that are not liblock's and keep one CPU busy ({', '.join(names)}) "
                    f"the one that changed most took up to {found[0]:.2f} times as long in one round as in another, "
                    f"{found[2]:.2f} times where the least and the greatest of a program's rounds are not left out.")
    head.append("")
    return "\n".join(head + lines)


def parts_of_page(path, marker):
    """What stands before, between and behind `<!-- MARKER: begin … -->` and `<!-- MARKER: end -->`; the comments are in
    the outer parts."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    name = re.escape(marker)
    parts = re.fullmatch(rf"(.*<!-- {name}: begin[^>]*-->\n)(.*)(<!-- {name}: end -->.*)", text, re.DOTALL)
    if parts is None:
        raise ValueError(f"{path} has no place for {marker}")
    return parts.groups()


def into_page(path, marker, markdown):
    before, _, after = parts_of_page(path, marker)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}\n{markdown}\n\n{after}")
