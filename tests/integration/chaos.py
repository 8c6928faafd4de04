#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bends the server of chaos.c: kills it and starts it empty, stops it for a while, empties its scripts, ends its
connections, makes it a replica for a moment. LIBLOCK_SEED repeats the order. Usage: chaos.py CHAOS SECONDS"""
import os
import random
import subprocess
import sys
import time

from harness import Server, die_with_parent


def bend(server, dice):
    what = dice.randrange(6)
    if what == 0:
        server.kill()
        time.sleep(dice.random() * 0.9)
        server.start()
    elif what == 1:
        with server.paused():
            time.sleep(dice.random() * 1.8)
    elif what == 2:
        server.call("SCRIPT", "FLUSH")
    elif what == 3:
        server.call("CLIENT", "KILL", "TYPE", "normal")
    elif what == 4:
        server.call("CLIENT", "KILL", "TYPE", "pubsub")
    else:
        server.call("REPLICAOF", "127.0.0.1", "1")
        time.sleep(0.3)
        server.call("REPLICAOF", "NO", "ONE")


def main():
    program, seconds = sys.argv[1], int(sys.argv[2])
    if os.environ.get("LIBLOCK_TEST_SIZE", "quick") != "quick":
        seconds *= 3
    seed = int(os.environ.get("LIBLOCK_SEED", time.time()))
    print(f"# LIBLOCK_SEED={seed}", flush=True)
    dice = random.Random(seed)
    with Server() as server:
        process = subprocess.Popen([program, server.url, str(seconds)], preexec_fn=die_with_parent)
        until = time.monotonic() + seconds
        while process.poll() is None and time.monotonic() < until:
            time.sleep(0.1 + dice.random())
            try:
                bend(server, dice)
            except OSError as error:
                print(f"# {error}", flush=True)
        return process.wait()


if __name__ == "__main__":
    sys.exit(main())
