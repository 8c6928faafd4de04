#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The first programs of the README, in C, C++ and Python, by the very commands that stand there, against a library that
is installed: pkg-config and the loader must find it in the environment that this program is given.

Usage: readme_programs.py README. Prints TAP.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

FILES = {"c": "first.c", "cpp": "first.cpp", "python": "first.py"}
SECTION = re.compile(r"^## A first program\n(.*?)^## ", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(readme):
    section = SECTION.search(pathlib.Path(readme).read_text(encoding="utf-8"))
    # Of each language the first: what follows are fragments.
    return dict(reversed(FENCE.findall(section.group(1)))) if section else {}


def main():
    found = blocks(sys.argv[1])
    missing = [language for language in (*FILES, "sh") if language not in found]
    print("not ok 1 - the README has its programs # " + " ".join(missing) if missing else
          "ok 1 - the README has its programs")
    failed, count = bool(missing), 1
    with tempfile.TemporaryDirectory() as directory:
        for language, name in FILES.items():
            pathlib.Path(directory, name).write_text(found.get(language, ""), encoding="utf-8")
        for command in found.get("sh", "").splitlines():
            count += 1
            done = subprocess.run(command, shell=True, cwd=directory, capture_output=True, text=True, timeout=600)
            good = done.returncode == 0 and "alice is mine, fencing token" in done.stdout
            failed = failed or not good
            print(f"{'ok' if good else 'not ok'} {count} - {command}")
            for line in [] if good else (done.stdout + done.stderr).splitlines():
                print(f"# {line}")
    failed = failed or count != len(FILES) + 1
    print(f"1..{len(FILES) + 1}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
