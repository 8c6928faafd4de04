#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The catalogue of events and log entries, docs/events.md, is whole and true: it has every kind of the public header
once and nothing else, names only what liblock_event carries, and gives each entry the level and the fields that the
code writes. Usage: check_catalogue.py ROOT. Prints TAP.
"""
import pathlib
import re
import sys

from tap import Tap


def enumerators(header, prefix):
    """Names behind the prefix, in the order of their numbers, which begin at 1."""
    found = re.findall(rf"^  {prefix}(\w+) = (\d+)", header, re.MULTILINE)
    return [name for name, _ in sorted(found, key=lambda one: int(one[1]))]


def rows_of(page, heading):
    """Cells of each row of the first table under the heading."""
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    if section is None:
        return []
    lines = [line for line in section.group(1).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def name_of(row):
    return row[0].strip("`")


def names_in(cell):
    return re.findall(r"`(\w+)`", cell)


def compare_names(listed, known):
    for name in known:
        if listed.count(name) != 1:
            yield f"{name}: {listed.count(name)} rows"
    for name in listed:
        if name not in known:
            yield f"{name} is not in the header"


def fields_of_event(header):
    struct = re.search(r"typedef struct liblock_event \{(.*?)^\} liblock_event;", header, re.MULTILINE | re.DOTALL)
    return set(re.findall(r"(\w+);", struct.group(1))) if struct else set()


def entries_of_code(root):
    """(name, level, set of fields) of each entry, in the order of the numbers."""
    names = {}
    for constant, fields in re.findall(r"uint32_t (k\w+) = \d+; *// (.*)",
                                       (root / "core/engine/log_entries.hpp").read_text(encoding="utf-8")):
        names[constant] = set(re.findall(r"\w+", fields))
    code = (root / "core/engine/log_entries.cpp").read_text(encoding="utf-8")
    for constant, parts in re.findall(r"uint32_t (k\w+) = (k[\w |]+);", code):
        names[constant] = set().union(*(names[part] for part in re.findall(r"k\w+", parts)))
    table = code[code.index("kEntries[] = {"):]
    for name, level, fields in re.findall(r'\{"(\w+)",\s*k(\w+),\s*"[^"]*",\s*([^}]*)\}', table):
        parts = re.findall(r"k\w+", fields)
        yield name, level.lower(), set().union(*(names[part] for part in parts)) if parts else set()


def names_of_events(root):
    code = (root / "core/engine/log_entries.cpp").read_text(encoding="utf-8")
    return re.findall(r'"(\w+)"', code[code.index("kEvents[] = {"):code.index("};", code.index("kEvents[] = {"))])


def wrong_fields_of_events(rows, known):
    for row in rows:
        for name in names_in(row[2]):
            if name not in known:
                yield f"{name_of(row)}: liblock_event has no {name}"


def wrong_entries(rows, root):
    written = {name.upper(): (level, fields) for name, level, fields in entries_of_code(root)}
    for row in rows:
        name = name_of(row)
        if name not in written or name == "SERVER":  # that one is written by itself, at the level of its event
            continue
        level, fields = written[name]
        if row[1] != level:
            yield f"{name}: its level is {level}"
        listed = set(names_in(row[3]))
        for field in sorted(listed ^ fields):
            yield f"{name}: {field} is {'not written' if field in listed else 'not listed'}"


def main():
    root = pathlib.Path(sys.argv[1])
    header = (root / "capi/include/liblock/liblock.h").read_text(encoding="utf-8")
    page = (root / "docs/events.md").read_text(encoding="utf-8")
    kinds, ids = enumerators(header, "LIBLOCK_EVENT_"), enumerators(header, "LIBLOCK_ENTRY_")
    events, entries = rows_of(page, "Events"), rows_of(page, "Log")
    tap = Tap()
    tap.rule("there_are_kinds_and_entries", [] if kinds and ids else ["none in the header"])
    tap.rule("every_kind_of_event_has_one_row", compare_names([name_of(row) for row in events], kinds))
    tap.rule("every_entry_of_the_log_has_one_row", compare_names([name_of(row) for row in entries], ids))
    tap.rule("what_an_event_carries_is_a_field_of_it", wrong_fields_of_events(events, fields_of_event(header)))
    tap.rule("the_names_in_the_code_are_those_of_the_header",
             [f"{one} and {other}" for one, other in zip(kinds + ids, names_of_events(root) +
              [name.upper() for name, _, _ in entries_of_code(root)]) if one != other] +
             ([] if len(names_of_events(root)) == len(kinds) and len(list(entries_of_code(root))) == len(ids)
              else ["there are more of one than of the other"]))
    tap.rule("an_entry_has_the_level_and_the_fields_that_are_written", wrong_entries(entries, root))
    tap.finish()


if __name__ == "__main__":
    main()
