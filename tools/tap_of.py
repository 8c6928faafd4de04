#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs another language's test command and says in TAP what each of its tests said.

    tap_of.py [--in FOLDER] KIND COMMAND…

KIND: go (go test -v), cargo (cargo test), minitest (-v). A command that fails though none of its tests did is a failure
of its own. What cargo ignores is not counted: it is run apart, beside servers."""
import argparse
import itertools
import re
import subprocess
import sys

from tap import Tap

RESULTS = {
    "go": re.compile(r"^(?P<deep> *)--- (?P<how>PASS|FAIL|SKIP): (?P<name>\S+)"),
    "minitest": re.compile(r"^(?P<deep>)(?P<name>\S+#test_\S+) = \S+ s = (?P<how>[.SEF])"),
    "cargo": re.compile(r"^(?P<deep>)test (?P<name>.+?)(?: - should panic)? \.\.\. (?P<how>ok|FAILED)\b"),
}
PASSED, SKIPPED = ("PASS", "ok", "."), ("SKIP", "S")
# Where what a failed test says of itself begins, in front of its name or behind it, and where it ends.
SAYS = {
    "go": ("=== RUN   {}", "--- FAIL"),
    "minitest": ("{} [", ""),
    "cargo": ("---- {} stdout ----", "note: run with"),
}
SAID_MAX = 10


def is_end(text, end):
    return text.startswith(end) if end else text == ""


def what_it_says(kind, lines, name):
    """The last lines of what is printed about one test that failed."""
    begin, end = (word.format(name) for word in SAYS[kind])
    said = []
    for first, line in enumerate(lines):
        if line.startswith(begin):
            rest = iter(lines[first:])
            said += [next(rest)] + list(itertools.takewhile(lambda text: not is_end(text.strip(), end), rest))
    return [line for line in said if line.strip()][-SAID_MAX:] or ["see the output"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--in", dest="folder", default=".")
    parser.add_argument("kind", choices=sorted(RESULTS))
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    done = subprocess.run(arguments.command, cwd=arguments.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", check=False)
    tap = Tap()
    lines = done.stdout.splitlines()
    for line in lines:
        match = RESULTS[arguments.kind].match(line)
        if not match or match["deep"]:
            continue
        is_skipped = match["how"] in SKIPPED
        tap.rule(match["name"] + (" # SKIP " + match["name"] if is_skipped else ""),
                 [] if is_skipped or match["how"] in PASSED else what_it_says(arguments.kind, lines, match["name"]))
    if (done.returncode != 0) != (tap.failed > 0) or tap.count == 0:
        tap.rule(f"{' '.join(arguments.command)} ends as its tests do", [f"it ended with {done.returncode}"])
    if tap.failed:
        print(done.stdout, file=sys.stderr)
    tap.finish()


if __name__ == "__main__":
    main()
