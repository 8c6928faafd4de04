#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command beside five redis-servers that were made a quorum, as with_redis.py does beside one. The word {quorum}
in the command becomes the quorum's URL; {new} that of servers that nobody has made one yet. Usage: with_quorum.py AGENT
COMMAND ARGUMENT…, AGENT being who founds it."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from harness import Agent, die_with_parent  # noqa: E402
from quorums import Quorum  # noqa: E402


def main():
    Agent.program = sys.argv[1]
    is_new = "{new}" in sys.argv
    with Quorum(founded=not is_new, max_ttl_ms=86400000) as quorum:
        words = [quorum.url if word in ("{quorum}", "{new}") else word for word in sys.argv[2:]]
        return subprocess.run(words, preexec_fn=die_with_parent).returncode


if __name__ == "__main__":
    sys.exit(main())
