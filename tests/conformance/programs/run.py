#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gives random programs to a runner: run.py --context KIND COMMAND…, where the command ends with the runner and its
options; a script of ours among its words is run by Python. How many: 100 in the quick size, 1,000 else; over a quorum
a fifth of that. LIBLOCK_PROGRAMS_SEED is the first one's seed, LIBLOCK_PROGRAMS how many."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def how_many(kind):
    many = 100 if os.environ.get("LIBLOCK_TEST_SIZE", "quick") == "quick" else 1000
    return int(os.environ.get("LIBLOCK_PROGRAMS") or (many // 5 if kind == "quorum" else many))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--context", required=True)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([sys.executable, HERE / "generate.py", "--context", arguments.context, "--programs",
                        str(how_many(arguments.context)), "--seed", os.environ.get("LIBLOCK_PROGRAMS_SEED", "1"),
                        directory], check=True)
        files = sorted(str(path) for path in pathlib.Path(directory).iterdir())
        command = arguments.command
        if command[0].endswith(".py"):
            command = [sys.executable, *command]
        return subprocess.run([*command, *files], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
