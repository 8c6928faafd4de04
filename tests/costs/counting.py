# SPDX-License-Identifier: MIT
"""What the rounds of a path cost, counted from outside the program that walks it and between its marks (main.c).

Instructions are callgrind's, of the thread that walks. System calls are those of all threads that valgrind saw, less
those that read a clock, which are none outside of it. Servers are real, and count the commands that reached them; what
they do themselves is no part of the process, and so of no figure. What goes out once a second by itself, a PING on the
connection for messages, is left out.

A round trip is a write to a server after something was read from one: however many commands, and nodes, it was for.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from harness import die_with_parent  # noqa: E402

CALL = re.compile(r"^SYSCALL\[\d+,(\d+)\]\( *\d+\) (?:sys_)?(\w+) ?\( ?(\w*)(?:, \w+, (\d+))?")
BYTES = re.compile(r"^SYSCALL\[\d+,(\d+)\].*--> Success\(0x[1-9a-f]")
COLLECTED = re.compile(r"Collected : (\d+)")
CLOCKS = {"clock_gettime", "gettimeofday", "time"}
WRITES = {"write", "writev", "sendto", "sendmsg"}
READS = {"read", "readv", "recvfrom", "recvmsg"}
# Of what servers count those that no script calls, and the tests' own connections neither.
SENT = ("eval", "hello", "auth", "select", "client", "subscribe", "unsubscribe", "script", "wait")
PING_SIZE = str(len("*1\r\n$4\r\nPING\r\n"))
SECONDS_MAX = 120


class Failed(Exception):
    """The program could not walk the path."""


def traffic_of(trace):
    """(system calls, writes to servers, round trips) between the marks of a trace."""
    calls, writes, trips = 0, 0, 0
    servers, reading, has_read, counts = set(), set(), True, False
    for line in trace.splitlines():
        came = BYTES.match(line)
        has_read = has_read or bool(came and came[1] in reading)
        found = CALL.match(line)
        if not found or found[2] in CLOCKS:
            continue
        thread, name, descriptor, size = found.groups()
        reading.discard(thread)
        if name == "getppid":
            counts = not counts
            continue
        calls += counts
        if name == "connect":
            servers.add(descriptor)
        elif name == "close":
            servers.discard(descriptor)
        elif descriptor in servers and name in WRITES and size != PING_SIZE:
            writes += counts
            trips += counts and has_read
            has_read = False
        elif descriptor in servers and name in READS:
            reading.add(thread)  # whether it brings anything is told behind it
    return calls, writes, trips


def sent_to(servers):
    return sum(calls for server in servers for name, calls in server.commands().items() if name.startswith(SENT))


def walked(command, servers):
    """(what the program printed at its end, commands that reached the servers between its marks)"""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          preexec_fn=die_with_parent) as process:
        watchdog = threading.Timer(SECONDS_MAX, process.kill)
        watchdog.start()
        sent, last = [], ""
        for line in process.stdout:
            last = line
            if line == "mark\n":
                sent.append(sent_to(servers))
                process.stdin.write("\n")
                process.stdin.flush()
        said = process.stderr.read().strip()
        process.wait()
        watchdog.cancel()
    if process.returncode != 0 or len(sent) != 2:
        raise Failed(f"{' '.join(command[-3:])}: status {process.returncode}: {said or 'nothing was said'}")
    return json.loads(last), sent[1] - sent[0]


def per_operation(program, path, rounds, url=None, servers=()):
    """{kind: cost of one operation}, and what compiled the program."""
    with tempfile.NamedTemporaryFile(mode="r", prefix="liblock-", errors="replace") as log:
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--trace-syscalls=yes",
                   "--toggle-collect=costs_counted_rounds", f"--log-file={log.name}"]
        found, commands = walked([*command, program, path, str(rounds), *([url] if url else [])], servers)
        trace = log.read()
    collected = COLLECTED.search(trace)
    if not collected:
        raise Failed(f"{path}: callgrind counted nothing: {trace[-300:]}")
    calls, writes, trips = traffic_of(trace)
    counts = {"instructions": int(collected[1]), "allocations": found["allocations"], "system_calls": calls,
              "commands": commands, "writes": writes, "round_trips": trips}
    return {kind: round(counted / found["operations"], 3) for kind, counted in counts.items()}, found["made_by"]
