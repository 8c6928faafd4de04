# SPDX-License-Identifier: MIT
"""The table of the baseline in bench/README.md."""

KINDS = {"instructions": "instructions", "allocations": "allocations", "system_calls": "system calls",
         "commands": "commands", "writes": "writes", "round_trips": "round trips"}
BEGIN, END = "<!-- counts: begin (written by tests/costs/run.py --update) -->", "<!-- counts: end -->"


def shown(figure):
    if figure >= 100:
        return f"{figure:,.0f}"
    return f"{figure:.1f}" if figure >= 10 and figure % 1 else f"{figure:.3f}".rstrip("0").rstrip(".")


def table_of(baseline):
    lines = ["| per operation | " + " | ".join(KINDS.values()) + " |", "| --- |" + " ---: |" * len(KINDS)]
    for name, figures in baseline["paths"].items():
        lines.append(f"| {name} | " + " | ".join(shown(figures[kind]) if kind in figures else ""
                                                 for kind in KINDS) + " |")
    return "\n".join([BEGIN, "", f"Made by {baseline['made_by']}, optimization 3.", "", *lines, "", END])


def split(root):
    """What stands before the table in the document, the table, and what stands behind it."""
    text = (root / "bench" / "README.md").read_text()
    before, _, rest = text.partition(BEGIN)
    table, _, after = rest.partition(END)
    return before, BEGIN + table + END, after


def is_current(root, baseline):
    return split(root)[1] == table_of(baseline)


def write_table(root, baseline):
    before, _, after = split(root)
    (root / "bench" / "README.md").write_text(before + table_of(baseline) + after)
