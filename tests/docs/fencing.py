#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The fences of docs/guide/tasks refuse writers of the past: a real PostgreSQL, an object store with conditions, the
HTTP service of the page itself. A writer gets the lock, is stopped, is followed by another who writes, and wakes up.
Usage: fencing.py LIBRARY_FOLDER [PART OF A NAME]. TAP."""
import http.client
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

from pages import Process, blocks, program
from stores import ObjectStore, Postgres

from harness import Server, eventually, free_port, main, same, test

LEDGER = blocks("guide/tasks/fencing-postgresql.md")
REFUSED = 3


def holder(page, name, *words):
    """A program that has the lock, and its token; it writes what it is told by a line."""
    process = Process(program(f"guide/tasks/fencing-{page}.md", name), *words, stdin=subprocess.PIPE)
    return process, int(process.line(r"is mine, token (\d+)").group(1))


def late_write(start):
    """What becomes of the write of a holder that stood still while another one wrote: (its status, both tokens)."""
    old, first = start()
    with old:
        old.stop()
        new, second = start()
        with new:
            new.write("70\n")
            same(new.end(), 0)
        old.go_on()
        old.write("100\n")
        return old.end(), first, second


def statement(name):
    """For SQLite, which knows the parameters by numbers too."""
    return re.sub(r"\$(\d)", r"?\1", LEDGER[name])


@test
def the_statements_refuse_smaller_tokens_in_sqlite_too():
    with sqlite3.connect(":memory:") as database:
        database.execute(LEDGER["accounts.sql"])
        database.execute(LEDGER["fence.sql"])
        database.execute("INSERT INTO accounts VALUES ('alice', 0, 0)")

        def write(balance, token):
            return database.execute(statement("write.sql"), ("alice", balance, token)).rowcount

        def passes(token):
            return database.execute(statement("pass.sql"), ("nightly", token)).rowcount

        same([write(70, 34), write(100, 33), write(80, 34)], [1, 0, 1])
        same(database.execute("SELECT balance, token FROM accounts").fetchall(), [(80, 34)])
        same([passes(34), passes(33), passes(34), passes(2**62)], [1, 0, 1, 1])


@test
def a_ledger_that_woke_up_too_late_writes_nothing_to_postgresql():
    with Server() as server, Postgres() as database:
        database.psql(LEDGER["accounts.sql"], "INSERT INTO accounts VALUES ('alice', 0)")
        status, first, second = late_write(
            lambda: holder("postgresql", "ledger.c", server.url, database.url, "alice"))
        same(status, REFUSED)
        assert first < second
        same(database.psql("SELECT balance, token FROM accounts").stdout, f"70|{second}\n")


@test
def an_update_that_had_to_wait_for_a_newer_one_finds_no_row():
    with Postgres() as database:
        database.psql(LEDGER["accounts.sql"], LEDGER["fence.sql"], "INSERT INTO accounts VALUES ('alice', 0)")
        prepared = (f"PREPARE w(text, bigint, bigint) AS {LEDGER['write.sql']}",
                    f"PREPARE p(text, bigint) AS {LEDGER['pass.sql']}")
        with Process("psql", "-XAt", database.url, stdin=subprocess.PIPE) as new:
            new.write("\n".join([*prepared, "BEGIN;", "EXECUTE w('alice', 70, 34);", "EXECUTE p('k', 34);", ""]))
            new.line("^UPDATE 1$")
            new.line("^INSERT 0 1$")
            with Process("psql", "-XAt", database.url, stdin=subprocess.PIPE) as old:
                old.write("\n".join([*prepared, "EXECUTE w('alice', 100, 33);", "EXECUTE p('k', 33);", ""]))
                waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                assert eventually(lambda: database.psql(waits).stdout == "1\n"), "the old one does not wait"
                new.write("COMMIT;\n")
                old.line("^UPDATE 0$")
                old.line("^INSERT 0 0$")
        same(database.psql("SELECT balance FROM accounts").stdout, "70\n")


@test
def a_writer_that_woke_up_too_late_finds_a_newer_object():
    with Server() as server, ObjectStore() as store:
        status, first, second = late_write(lambda: holder("object-storage", "put.c", server.url, "k", store.url("o")))
        same(status, REFUSED)
        assert first < second
        same((store.objects["/o"]["body"], store.objects["/o"]["token"]), ("70\n", str(second)))


@test
def a_put_that_arrives_after_a_newer_one_is_refused_by_its_condition():
    with Server() as server, ObjectStore() as store:
        def start():
            return holder("object-storage", "put.c", server.url, "k", store.url("o"))

        old, first = start()
        with old:
            store.hold_put_of(first)
            old.write("100\n")
            assert store.is_held.wait(20), "its put did not come"
            old.stop()
            new, second = start()
            with new:
                new.write("70\n")
                same(new.end(), 0)
            store.may_go.set()
            old.go_on()
            same(old.end(), REFUSED)
        same((store.objects["/o"]["body"], store.objects["/o"]["token"]), ("70\n", str(second)))


def service(folder, port):
    path = pathlib.Path(folder, "api.py")
    path.write_text(blocks("guide/tasks/fencing-http-api.md")["api.py"], encoding="utf-8")
    process = Process(sys.executable, path, port, pathlib.Path(folder, "things.db"))
    assert eventually(lambda: put(port, "/ping", {"X-Fencing-Token": "1"}) == 204), "the service does not answer"
    return process


def put(port, path, headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("PUT", path, "late", headers)
        return connection.getresponse().status
    except OSError:
        return None
    finally:
        connection.close()


@test
def the_service_of_the_page_refuses_requests_of_the_past_and_those_without_a_token():
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        port = free_port()
        with service(folder, port):
            url = f"http://127.0.0.1:{port}/stock"
            status, first, second = late_write(lambda: holder("http-api", "send.c", server.url, "stock", url))
            same(status, REFUSED)
            assert first < second
            same([put(port, "/stock", headers) for headers in ({}, {"X-Fencing-Token": "x"})], [428, 428])
            with sqlite3.connect(pathlib.Path(folder, "things.db")) as database:
                same(database.execute("SELECT body, token FROM things WHERE path = '/stock'").fetchall(),
                     [(b"70\n", second)])


if __name__ == "__main__":
    main()
