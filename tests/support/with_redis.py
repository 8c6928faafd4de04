#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command beside a redis-server of its own: in a temporary directory, without persistence, gone with this
process however that ends. The word {redis} in the command becomes the server's URL, {unix} that of its unix socket,
{pid} its process; status and output are the command's. Usage: with_redis.py COMMAND ARGUMENT…"""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from harness import Server, die_with_parent  # noqa: E402


def main():
    with Server() as server:
        places = {"{redis}": server.url, "{unix}": f"unix://{server.path}", "{pid}": str(server.process.pid)}
        words = [places.get(word, word) for word in sys.argv[1:]]
        return subprocess.run(words, preexec_fn=die_with_parent).returncode


if __name__ == "__main__":
    sys.exit(main())
