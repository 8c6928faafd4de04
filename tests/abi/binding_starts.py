#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The start of each binding's README, pasted into a shell as it stands there, in an empty folder and against a library
that is installed: pkg-config and the loader must find it in the environment that this program is given. What the
languages' tools install goes into that folder as well.

Usage: binding_starts.py ROOT LANGUAGE=TEXT… where TEXT is what the program there prints. Prints TAP.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))
from tap import Tap  # noqa: E402  (the path had to be set first)

SECTION = re.compile(r"^## Start\n(.*?)^## ", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"(?:^    .*\n|^\n)+", re.MULTILINE)


def commands_of(readme):
    """The first indented block of the section, without its indentation."""
    section = SECTION.search(readme.read_text(encoding="utf-8"))
    blocks = [block for block in COMMANDS.findall(section.group(1)) if block.strip()] if section else []
    return re.sub(r"^    ", "", blocks[0], flags=re.MULTILINE) if blocks else ""


def problems(root, language, text):
    commands = commands_of(root / "bindings" / language / "README.md")
    if not commands:
        return ["its section Start has no commands"]
    with tempfile.TemporaryDirectory() as directory:
        own = {"LIBLOCK": str(root), "GEM_HOME": f"{directory}/gems", "CARGO_NET_OFFLINE": "true",
               "GOFLAGS": "-mod=mod", "GOPROXY": "off"}
        done = subprocess.run(["sh", "-eu"], input=commands, cwd=directory, env={**os.environ, **own},
                              capture_output=True, text=True, timeout=600, check=False)
    return [] if done.returncode == 0 and text in done.stdout else [
        f"status {done.returncode}, and '{text}' was looked for in:", *(done.stdout + done.stderr).splitlines()]


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    tap = Tap()
    for wanted in sys.argv[2:]:
        language, text = wanted.split("=", 1)
        tap.rule(f"the_start_of_{language}_runs_as_it_is_printed", problems(root, language, text))
    tap.finish()


if __name__ == "__main__":
    main()
