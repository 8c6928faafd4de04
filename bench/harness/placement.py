# SPDX-License-Identifier: MIT
"""Which CPUs a client and its servers may use. On a machine with few of them this decides more than the programs do:
waking a thread on another CPU that has gone to sleep costs many times what it costs on the same one.

  other   servers on the first CPU, clients on the last
  same    both on the last
  free    both where the scheduler has them"""
import os

CPUS = sorted(os.sched_getaffinity(0))


def of(placement):
    """CPUs of the clients, CPUs of the servers."""
    return {"other": ({CPUS[-1]}, {CPUS[0]}), "same": ({CPUS[-1]}, {CPUS[-1]}),
            "free": (set(CPUS), set(CPUS))}[placement]


def place_servers(placement, servers):
    for server in servers:
        for thread in os.listdir(f"/proc/{server.process.pid}/task"):
            os.sched_setaffinity(int(thread), of(placement)[1])


def preparation(placement):
    """For subprocess: what places a client before it begins."""
    cpus = of(placement)[0]
    return lambda: os.sched_setaffinity(0, cpus)
