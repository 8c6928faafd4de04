#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The settings of docs/operations.md, on a server that is started with them: it takes them, cannot evict, and has its
locks again after it was killed; without them it has not. Usage: operations.py LIBRARY_FOLDER [PART OF A NAME]. TAP."""
from pages import Process, blocks, program

from harness import Server, main, same, test

TAKEN = ["this slot is another host's"]


def settings():
    """The lines of the page, as arguments of the server."""
    lines = [line for line in blocks("operations.md")["redis.conf"].splitlines() if line and not line.startswith("#")]
    return [word for line in lines for name, *values in [line.split()] for word in ("--" + name, *values)]


def run_once(server):
    """What a host says that wants to do the job of one slot; the first leaves a lock of an hour behind."""
    process = Process(program("guide/tasks/cron-once.md", "once.c"), server.url, "report", "monday", "true")
    same(process.end(), 0)
    return process.said


@test
def without_persistence_a_server_that_was_killed_gives_its_locks_to_others():
    with Server() as server:
        same([run_once(server), run_once(server)], [[], TAKEN])
        server.restart()
        same(run_once(server), [])


@test
def with_the_settings_of_the_page_a_server_that_was_killed_has_its_locks_again():
    with Server(*settings()) as server:
        same(server.call("CONFIG", "GET", "maxmemory-policy"), [b"maxmemory-policy", b"noeviction"])
        same(run_once(server), [])
        before = server.call("GET", "liblock:cron/report/monday")
        server.kill()
        server.start()
        same(run_once(server), TAKEN)
        same(server.call("GET", "liblock:cron/report/monday"), before)
        same(server.call("EXISTS", "ll1:f:{liblock:cron/report/monday}"), 1)


if __name__ == "__main__":
    main()
