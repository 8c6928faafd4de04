#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A page of docs/coming-from names only what exists, and promises nothing in loose words; and it has everything of the
original that the list beside it (NAME.list for NAME.md) names, if there is one.

A list has one item per line, "KIND: NAME" or "KIND: NAME = DETAIL" (a default, or what an event carries); `#` begins
a comment. In the page a table is about the kind that its first column is headed with: the names in backquotes in that
column are items, the column behind it has the details if the list has any, and the one headed "liblock" has what
stands for the item here. A table headed "behaviour" names no items. Where the column behind the first is headed with
another kind, the names in it are items of that kind.

What is not there yet stands as "planned: issue N", and only such a line may name what no header declares; "later" as
a promise ("*later*", or behind a comma at the end of a cell) is none. A column headed "test" names tests, so no
function of ours stands there.
Usage: check_coming_from.py ROOT [HEADER...], the headers being read besides those of ROOT. Prints TAP.
"""
import collections
import pathlib
import re
import sys

from tap import Tap

FOLDER = "docs/coming-from"
ITEM = re.compile(r"(?P<kind>[a-z][a-z ]*): (?P<name>\S.*?)(?: = (?P<detail>.+))?")
QUOTED = re.compile(r"`([^`]+)`")
PUBLIC = re.compile(r"(?<![\w/.-])(liblock_[a-z][a-z_]*|LIBLOCK_[A-Z][A-Z_]*)(?![\w*…-]|\.(?:h|so|pc)\b)")
STATUS = re.compile(r"\b[A-Z][A-Z_]{2,}\b")
PLANNED = re.compile(r"planned: issue \d")
LATER = re.compile(r"(?:^|[,;:(] ?)later[.)]?$")
OTHER_WORDS = {"URL"}

Row = collections.namedtuple("Row", "line kind names detail answer detail_kind")


def items_of(text):
    """{(kind, name): detail or None}, and what is wrong with the list."""
    items, problems = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = ITEM.fullmatch(line.rstrip())
        if match is None:
            problems.append(f"{number}: not 'kind: name' or 'kind: name = detail'")
            continue
        key = match["kind"], match["name"]
        if key in items:
            problems.append(f"{number}: {key[0]} {key[1]} stands there twice")
        items[key] = match["detail"]
    return items, problems


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def rows_of(page):
    """Each row of each table, with what the head of its table says of the columns."""
    head = []
    for number, line in enumerate(page.splitlines(), 1):
        if not line.startswith("|"):
            head = []
            continue
        cells = cells_of(line)
        if not head:
            head = cells
        elif not set("".join(cells)) <= set("-: "):
            answer = head.index("liblock") if "liblock" in head else 1
            yield Row(number, head[0].replace("`", ""), QUOTED.findall(cells[0]), cells[1] if answer > 1 else None,
                      cells[answer] if answer < len(cells) else "", head[1] if answer > 1 else None)


def missing_items(items, rows):
    count = collections.Counter((row.kind, name) for row in rows for name in row.names)
    for kind, name in items:
        if count[kind, name] != 1:
            yield f"{kind} {name}: in {count[kind, name]} rows"


def unknown_items(items, rows):
    kinds = {kind for kind, _ in items}
    for row in rows:
        if row.kind == "behaviour":
            continue
        if row.kind not in kinds:
            yield f"{row.line}: a table headed '{row.kind}', which is no kind of the list"
        elif not row.names:
            yield f"{row.line}: names no {row.kind}"
        for name in row.names:
            if row.kind in kinds and (row.kind, name) not in items:
                yield f"{row.line}: the list has no {row.kind} {name}"


def wrong_details(items, rows):
    kinds = {kind for kind, _ in items}
    for row in rows:
        shown = (row.detail or "").replace("`", "")
        for name in row.names:
            if (row.kind, name) in items and shown != (items[row.kind, name] or ""):
                yield f"{row.line}: {name}: '{shown}', and '{items[row.kind, name] or ''}' in the list"
        if row.detail_kind in kinds:
            for name in QUOTED.findall(row.detail):
                if (row.detail_kind, name) not in items:
                    yield f"{row.line}: the list has no {row.detail_kind} {name}"


def missing_answers(rows):
    return (f"{row.line}: nothing stands for {', '.join(row.names) or 'this'}" for row in rows if not row.answer)


def unknown_names(page, rows, words):
    """Public names anywhere; in the answers also names of fields, and constants without their prefix."""
    lines = page.splitlines()
    endings = {word[index + 1:] for word in words if word.startswith("LIBLOCK_")
               for index in range(7, len(word)) if word[index] == "_"}
    found = [(number, name) for number, line in enumerate(lines, 1) for name in PUBLIC.findall(line)]
    for row in rows:
        quoted = " ".join(text for text in QUOTED.findall(row.answer) if "://" not in text)
        found += [(row.line, word) for word in re.findall(r"[a-z]\w*(?![\w*…])", quoted)]
        found += [(row.line, word) for word in STATUS.findall(row.answer) if word not in endings]
    for number, name in sorted(set(found)):
        if name not in words and name not in OTHER_WORDS and not PLANNED.search(lines[number - 1]):
            yield f"{number}: {name} is not in the header"


def loose_plans(page):
    for number, line in enumerate(page.splitlines(), 1):
        if len(re.findall(r"\b[Pp]lanned\b", line)) != len(PLANNED.findall(line)):
            yield f"{number}: not 'planned: issue N'"
        cells = cells_of(line) if line.startswith("|") else []
        if "*later*" in line or any(LATER.search(cell) for cell in cells):
            yield f"{number}: 'later' is no plan; not 'planned: issue N'"


def functions_as_tests(page):
    """The rows below a head whose last column is "test", where that column has a function."""
    is_about_tests = False
    for number, line in enumerate(page.splitlines(), 1):
        if not line.startswith("|"):
            is_about_tests = False
            continue
        last = cells_of(line)[-1]
        is_about_tests = is_about_tests or last == "test"
        for name in PUBLIC.findall(last) if is_about_tests else ():
            yield f"{number}: {name} is no test"


def words_of(root, headers):
    """All words of the headers (a status is written there without its prefix), and the fields of log entries."""
    paths = [*(root / "capi/include/liblock").glob("*.h"), *headers, root / "docs/events.md"]
    words = {word for path in paths if path.exists() for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    statuses = re.findall(r"^  X\((\w+),", "".join(path.read_text(encoding="utf-8") for path in paths[:-1]),
                          re.MULTILINE)
    return words | {f"LIBLOCK_{name}" for name in statuses}


def problems_of_list(path, rows):
    """(rule, what breaks it) of a page with a list."""
    items, wrong = items_of(path.read_text(encoding="utf-8"))
    yield "a_list_has_one_item_per_line_and_none_twice", wrong or ([] if items else ["the list is empty"])
    yield "every_item_of_the_list_has_one_row", missing_items(items, rows)
    yield "every_row_is_about_items_of_the_list", unknown_items(items, rows)
    yield "defaults_and_contents_are_those_of_the_list", wrong_details(items, rows)
    yield "something_stands_for_every_item", missing_answers(rows)


def problems_of_page(page, rows, words):
    yield "every_name_of_ours_exists", unknown_names(page, rows, words)
    yield "what_is_planned_names_its_issue", loose_plans(page)
    yield "a_column_of_tests_names_no_function", functions_as_tests(page)


def main():
    root = pathlib.Path(sys.argv[1])
    words = words_of(root, map(pathlib.Path, sys.argv[2:]))
    folder = root / FOLDER
    lists = sorted(folder.glob("*.list"))
    problems = collections.defaultdict(list)
    for name in sorted({path.stem for path in [*lists, *folder.glob("*.md")]}):
        path = folder / f"{name}.md"
        page = path.read_text(encoding="utf-8") if path.exists() else ""
        rows = list(rows_of(page))
        found = list(problems_of_page(page, rows, words))
        if (listed := folder / f"{name}.list") in lists:
            found += problems_of_list(listed, rows)
        for rule, broken in found:
            problems[rule] += [f"{name}{'.list' if rule.startswith('a_list') else '.md'}:{one}" for one in broken]
    tap = Tap()
    tap.rule("there_are_lists_to_check", [] if lists else [f"none in {FOLDER}"])
    for rule, found in problems.items():
        tap.rule(rule, found)
    tap.finish()


if __name__ == "__main__":
    main()
