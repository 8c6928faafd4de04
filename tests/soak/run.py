#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Soak: one process locks in all three scopes for as long as it is told, while its servers are bent now and then. Its
memory, descriptors and threads, the keys on the servers and the time that a waiter needs to wake up are sampled every
second; nothing of it may grow.

  run.py CLIENT AGENT [--minutes M] [--folder DIR] [--json FILE] [--seed N]

Leaves samples.csv and soak.svg in DIR, the figures with a thinned form of the samples in FILE. Prints TAP.
"""
import argparse
import csv
import datetime
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "tools/pictures"), str(HERE.parent / "integration"), str(HERE)]
import soak as picture  # noqa: E402  (the path had to be set first)
import judging  # noqa: E402
from harness import Agent, Server, ServerError, die_with_parent  # noqa: E402
from quorums import Quorum  # noqa: E402

KEEPS_DATA = ("--appendonly", "yes", "--appendfsync", "everysec")
NODES, QUORUM_MAX_TTL_MS = 3, 10000  # as client.c has it
KEYS_EVERY_S = 10
SAMPLES_KEPT = 240


class Bender:
    """One fault at a time, of a kind by which nobody may lose a lock that was promised: begun at random, over in a
    second or two."""

    def __init__(self, dice, server, nodes):
        self.dice, self.server, self.nodes = dice, server, nodes
        self.counts = {}
        self.end_at, self.end = None, None
        self.next_at = time.monotonic() + 20
        self.quiet_until = 0.0
        self.kinds = [self.disconnect, self.forget_scripts, self.stop, self.restart, self.lose_a_node]

    def step(self):
        now = time.monotonic()
        if self.end and now >= self.end_at:
            self.end()
            self.end = None
        if not self.end and now >= self.next_at:
            self.next_at = now + 15 + self.dice.random() * 30
            self.dice.choice(self.kinds)()

    def finish(self):
        if self.end:
            self.end()
            self.end = None

    def anybody(self):
        return self.dice.choice([self.server, self.dice.choice(self.nodes)])

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def until(self, seconds, end):
        self.end_at, self.end = time.monotonic() + seconds, end

    def disconnect(self):
        self.count("clients disconnected")
        self.anybody().call("CLIENT", "KILL", "TYPE", self.dice.choice(["normal", "pubsub"]))

    def forget_scripts(self):
        self.count("scripts forgotten")
        self.anybody().call("SCRIPT", "FLUSH")

    def stop(self):
        self.count("server stopped")
        server = self.anybody()
        server.signal(signal.SIGSTOP)
        self.until(0.3 + self.dice.random(), lambda: server.signal(signal.SIGCONT))

    def restart(self):
        self.count("server killed, its data kept")
        server = self.anybody()
        server.kill()
        self.until(0.2 + self.dice.random(), server.start)

    # Silent afterwards for max_ttl_ms; while it is, no other node may lose its data too.
    def lose_a_node(self):
        if time.monotonic() < self.quiet_until:
            return
        self.count("node emptied")
        self.quiet_until = time.monotonic() + 2 * QUORUM_MAX_TTL_MS / 1000
        self.dice.choice(self.nodes).call("FLUSHALL")


def process_figures(pid):
    figures = {}
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(":")
        if name in ("VmRSS", "Threads"):
            figures[name] = int(value.split()[0])
    return figures["VmRSS"], len(os.listdir(f"/proc/{pid}/fd")), figures["Threads"]


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


COUNT_KEYS = """local cursor, count, lasting = '0', 0, {}
repeat
  local page = redis.call('SCAN', cursor, 'COUNT', 500)
  cursor = page[1]
  for _, key in ipairs(page[2]) do
    count = count + 1
    if redis.call('PTTL', key) == -1 and key ~= 'll1:node' then lasting[#lasting + 1] = key end
  end
until cursor == '0'
return {count, lasting}"""


def keys_on(servers):
    """How many, and those that never expire, but for the mark of a node. None: one does not answer just now."""
    count, lasting = 0, []
    try:
        for server in servers:
            on_it, without = server.call("EVAL", COUNT_KEYS, 0)
            count += on_it
            lasting += [key.decode(errors="replace") for key in without]
    except (OSError, ServerError):
        return None
    return count, lasting


class Soak:
    def __init__(self, given, server, quorum):
        self.given, self.seconds = given, given.minutes * 60
        self.servers = [server, *quorum.servers]
        self.bender = Bender(random.Random(given.seed), server, quorum.servers)
        urls = ["local=local:soak", f"redis={server.url}", f"quorum={quorum.url}"]
        self.client = subprocess.Popen([given.client, *urls], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       preexec_fn=die_with_parent)
        self.samples, self.lasting, self.keys = [], set(), 0
        self.last = {}

    def look_at_keys(self):
        found = None if self.bender.end else keys_on(self.servers)
        if found:
            self.keys = found[0]
            self.lasting.update(found[1])

    def run(self):
        began, keys_at = time.monotonic(), 0.0
        for line in self.client.stdout:
            now = time.monotonic() - began
            if now >= keys_at:
                self.look_at_keys()
                keys_at = now + KEYS_EVERY_S
            self.last = json.loads(line)
            rss_kib, descriptors, threads = process_figures(self.client.pid)
            sample = {"s": round(now, 1), "rss_kib": rss_kib, "descriptors": descriptors, "threads": threads,
                      "keys": self.keys, "bent": int(self.bender.end is not None)}
            for scope, told in self.last.items():
                sample |= {f"{scope}_{name}": told[name] for name in ("wakes", "p50_us", "p99_us", "hand_overs")}
            self.samples.append(sample)
            self.bender.step()
            if now >= self.seconds:
                break
        self.bender.finish()
        self.cpu_percent = 100 * cpu_seconds(self.client.pid) / (time.monotonic() - began) \
            if self.client.poll() is None else 0
        self.client.stdin.close()
        for _ in self.client.stdout:
            pass
        return self.client.wait(60)


def write_csv(path, samples):
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.DictWriter(file, samples[0])
        rows.writeheader()
        rows.writerows(samples)


def read_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("client")
    parser.add_argument("agent")
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    return parser.parse_args()


def main():
    given = read_arguments()
    Agent.program = given.agent
    given.folder.mkdir(parents=True, exist_ok=True)
    print(f"# {given.minutes:g} minutes, seed {given.seed}", flush=True)
    with Server(*KEEPS_DATA) as server, Quorum(NODES, *KEEPS_DATA, max_ttl_ms=QUORUM_MAX_TTL_MS) as quorum:
        soak = Soak(given, server, quorum)
        status = soak.run()
    run = judging.summary(soak.samples, soak.last, sorted(soak.lasting), status, given.minutes)
    run |= {"when": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "seed": given.seed, "faults": soak.bender.counts,
            "cpu_percent": round(soak.cpu_percent, 1), "command": f"./dev soak {given.minutes:g}",
            "samples": soak.samples[::max(1, -(-len(soak.samples) // SAMPLES_KEPT))]}
    write_csv(given.folder / "samples.csv", soak.samples)
    (given.folder / "soak.svg").write_text(picture.draw_run(run).render(), encoding="utf-8")
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    sys.exit(judging.tell(run))


if __name__ == "__main__":
    main()
