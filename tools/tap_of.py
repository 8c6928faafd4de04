#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs another language's test command and says in TAP what each of its tests said.

    tap_of.py [--in FOLDER] KIND COMMAND…

KIND: go (go test -v), cargo (cargo test), minitest (-v). A command that fails though none of its tests did is a failure
of its own. What cargo ignores is not counted: it is run apart, beside servers."""
import argparse
import re
import subprocess
import sys

RESULTS = {
    "go": re.compile(r"^(?P<deep> *)--- (?P<how>PASS|FAIL|SKIP): (?P<name>\S+)"),
    "minitest": re.compile(r"^(?P<deep>)(?P<name>\S+#test_\S+) = \S+ s = (?P<how>[.SEF])"),
    "cargo": re.compile(r"^(?P<deep>)test (?P<name>.+?)(?: - should panic)? \.\.\. (?P<how>ok|FAILED)\b"),
}
PASSED, SKIPPED = ("PASS", "ok", "."), ("SKIP", "S")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--in", dest="folder", default=".")
    parser.add_argument("kind", choices=sorted(RESULTS))
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    done = subprocess.run(arguments.command, cwd=arguments.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", check=False)
    number, failed = 0, 0
    for line in done.stdout.splitlines():
        match = RESULTS[arguments.kind].match(line)
        if not match or match["deep"]:
            continue
        number += 1
        failed += match["how"] not in (*PASSED, *SKIPPED)
        skip = f" # SKIP {match['name']}" if match["how"] in SKIPPED else ""
        print(f"{'not ok' if match['how'] not in (*PASSED, *SKIPPED) else 'ok'} {number} - {match['name']}{skip}")
    if (done.returncode != 0) != (failed > 0) or number == 0:
        number, failed = number + 1, failed + 1
        print(f"not ok {number} - {' '.join(arguments.command)} ended with {done.returncode}")
    print(f"1..{number}")
    if failed:
        print(done.stdout, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
