# SPDX-License-Identifier: MIT
"""Checks the table of README.md: each test that it names is there and is run; no promise loses its test."""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent


def run_tests(folder):
    """Names that a program registers, and rows of the bad-input table."""
    names = set()
    for path in folder.glob("*.c"):
        names.update(re.findall(r"(?:cmocka_unit_test\w*|fresh|looped)\(\s*(\w+)", path.read_text()))
    for path in folder.glob("*_rows.h"):
        names.update(re.findall(r"^ROW\((\w+)", path.read_text(), re.M))
    return names


def main():
    rows = re.findall(r"^\| ([^|]+) \| (`[^|]+`) \|$", (HERE / "README.md").read_text(), re.M)
    known = run_tests(HERE)
    named = [(promise, name) for promise, names in rows for name in re.findall(r"`(\w+)`", names)]
    lost = [(promise, name) for promise, name in named if name not in known]
    for promise, name in lost:
        print(f"# {promise}: no test is called {name}")
    print("%s 1 - each of %d promises has the tests that README.md names" %
          ("not ok" if lost else "ok", len(rows)))
    print("%s 2 - the table is there" % ("ok" if len(rows) >= 60 else "not ok"))
    print("1..2")
    return 1 if lost or len(rows) < 60 else 0


if __name__ == "__main__":
    sys.exit(main())
