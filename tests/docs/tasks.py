#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The programs of docs/guide/tasks keep what their pages say, with several processes beside a real server. Those of the
fences are in fencing.py. Usage: tasks.py LIBRARY_FOLDER [PART OF A NAME]. TAP."""
import pathlib
import re
import signal
import tempfile

from pages import Process, program

from harness import Server, eventually, main, same, test  # after pages, which knows where it is

NOWHERE = "redis://127.0.0.1:1/0"
CONTENDED = 200  # so often that without the lock updates are lost, every time


def task(page, name, *words, **more):
    return Process(program(f"guide/tasks/{page}.md", name), *words, **more)


def said_by(processes):
    """All lines of processes that end with status 0."""
    for process in processes:
        same(process.end(), 0)
    return [line for process in processes for line in process.said]


@test
def a_server_that_is_not_there_is_said_and_nothing_is_done():
    with tempfile.TemporaryDirectory() as folder:
        number = pathlib.Path(folder, "number")
        number.write_text("7\n", encoding="utf-8")
        mutex = task("mutex", "mutex.c", NOWHERE, number, 1)
        same(mutex.end(), 1)
        assert "CONNECT" in mutex.said[0], mutex.said
        same(number.read_text(encoding="utf-8"), "7\n")
        once = task("cron-once", "once.c", NOWHERE, "job", "slot", "touch", number.with_name("run"))
        same(once.end(), 1)
        assert "not run" in once.said[0], once.said
        assert not number.with_name("run").exists()


@test
def processes_that_add_to_one_number_under_the_lock_lose_nothing():
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        number = pathlib.Path(folder, "number")  # which the first of them makes
        said_by([task("mutex", "mutex.c", server.url, number, CONTENDED) for _ in range(4)])
        same(int(number.read_text(encoding="utf-8")), 4 * CONTENDED)


@test
def what_a_program_cannot_do_it_says_and_does_not_call_done():
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        nowhere = pathlib.Path(folder, "missing", "number")
        for page, name, words, expected in (
                ("mutex", "mutex.c", (nowhere, 1), 1), ("mutex", "mutex.c", (nowhere, "many"), 2),
                ("cron-once", "once.c", ("job", "slot", nowhere), 127),
                ("idempotent-worker", "worker.c", (nowhere.parent, "job", "echo"), 127),
                ("idempotent-worker", "worker.c", (folder, "job", nowhere), 127)):
            process = task(page, name, server.url, *words)
            same(process.end(), expected)
            assert "No such file" in process.said[0] or "usage" in process.said[0], process.said


def leader(server, name):
    return task("leader-election", "leader.c", server.url, name)


def reign(process):
    return int(process.line(r"^\w+ leads, token (\d+)").group(1))


@test
def a_leader_that_is_killed_is_followed_by_the_next_with_a_larger_token():
    with Server() as server, leader(server, "one") as one:
        first = reign(one)
        assert server.call("GET", "liblock:leader/import").endswith(b"|one")
        with leader(server, "two") as two:
            assert eventually(lambda: server.call("ZCARD", "ll1:q:{liblock:leader/import}") == 1)
            one.kill()
            assert reign(two) > first


@test
def a_leader_that_lives_keeps_its_lease_alive():
    with Server() as server, leader(server, "one") as one:
        token = reign(one)
        left = [server.call("PTTL", "liblock:leader/import")]

        def is_prolonged():
            left.append(server.call("PTTL", "liblock:leader/import"))
            return left[-1] > left[-2]

        assert eventually(is_prolonged), left[-5:]
        same(int(server.call("GET", "liblock:leader/import").split(b"|")[3]), token)  # no new reign


@test
def a_leader_that_ends_hands_over_without_waiting_for_its_lease():
    with Server() as server, leader(server, "one") as one:
        reign(one)
        with leader(server, "two") as two:
            assert eventually(lambda: server.call("ZCARD", "ll1:q:{liblock:leader/import}") == 1)
            same(one.end(signal.SIGTERM), 0)
            assert server.call("GET", "liblock:leader/import").endswith(b"|two")  # the release itself gave it away
            assert "one leads no more: CLOSED" in one.said, one.said
            reign(two)


@test
def a_leader_that_stood_still_hears_that_it_is_none_and_stands_again():
    with Server() as server, leader(server, "one") as one:
        first = reign(one)
        with leader(server, "two") as two:
            assert eventually(lambda: server.call("ZCARD", "ll1:q:{liblock:leader/import}") == 1)
            one.stop()
            second = reign(two)
            one.go_on()
            one.line(r"^one leads no more: LOST")
            same(two.end(signal.SIGTERM), 0)
            assert first < second < reign(one)


def once(server, folder, slot, *command):
    return task("cron-once", "once.c", server.url, "report", slot, *command, cwd=folder)


@test
def of_all_hosts_one_runs_the_job_of_a_slot_also_when_the_others_come_late():
    job = ("sh", "-c", "echo run >>log")
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "log")
        same(said_by([once(server, folder, "monday", *job) for _ in range(5)]), ["this slot is another host's"] * 4)
        same(said_by([once(server, folder, "monday", *job)]), ["this slot is another host's"])
        same(log.read_text(encoding="utf-8"), "run\n")
        same(said_by([once(server, folder, "tuesday", *job)]), [])
        same(log.read_text(encoding="utf-8"), "run\nrun\n")


@test
def a_job_that_failed_gives_its_slot_to_a_later_host():
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        same(once(server, folder, "monday", "sh", "-c", "exit 9").end(), 9)
        same(said_by([once(server, folder, "monday", "true")]), [])
        same(said_by([once(server, folder, "monday", "true")]), ["this slot is another host's"])


@test
def no_two_turns_are_closer_than_the_interval_by_the_servers_clock():
    interval = 150
    grant = re.compile(rb'lua\] "SET" "liblock:rate/mail" "ll1\|\w+\|\d+\|(\d+)\|[^|]*\|[^|]*\|@(\d+),')
    with Server() as server, server.send("MONITOR") as monitor:
        words = (server.url, "rate/mail", interval, 3)
        lines = said_by([task("rate-limited-job", "rate.c", *words) for _ in range(3)])
        server.call("PING", "the end")
        granted_at = {}
        for line in monitor.makefile("rb"):
            granted_at.update((int(token), int(at)) for token, at in grant.findall(line))
            if b"the end" in line:
                break
        turns = sorted(int(line.removeprefix("my turn, ")) for line in lines)
        same(len(turns), 9)
        gaps = [(granted_at[later] - granted_at[earlier]) / 1000 for earlier, later in zip(turns, turns[1:])]
        assert min(gaps) >= interval, gaps


@test
def the_interval_and_the_slot_of_a_process_that_is_killed_are_on_no_list_of_what_may_be_taken_away():
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        def holds(key):
            return eventually(lambda: server.call("EXISTS", f"liblock:{key}") == 1)
        with task("rate-limited-job", "rate.c", server.url, "rate/mail", 60000, 2), \
                once(server, folder, "monday", "sleep", "1000"):
            assert holds("rate/mail") and holds("cron/report/monday")
            with leader(server, "one") as one:  # who says that he lives, later than they would
                his = f"{one.process.pid}-".encode()

                def listed():
                    return [name.startswith(his) for name in server.call("ZRANGE", "ll1:n:{liblock:}", 0, -1)]
                assert eventually(lambda: True in listed())
                same(listed(), [True])


def worker(server, folder, *command):
    return task("idempotent-worker", "worker.c", server.url, folder, "invoice", *command, cwd=folder)


@test
def a_job_that_is_delivered_to_many_at_once_is_worked_on_once():
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        lines = said_by([worker(server, folder, "sh", "-c", "echo begun >>log; echo result") for _ in range(4)])
        same(sorted(lines), ["done", *["done before"] * 3])
        same(pathlib.Path(folder, "log").read_text(encoding="utf-8"), "begun\n")
        same(pathlib.Path(folder, "invoice").read_text(encoding="utf-8"), "result\n")


@test
def a_job_whose_worker_died_or_failed_is_done_by_the_next_delivery():
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "log")
        same(worker(server, folder, "sh", "-c", "echo half; exit 5").end(), 5)
        with worker(server, folder, "sh", "-c", "echo begun >>log; echo half; exec sleep 1000") as dies:
            assert eventually(log.exists)
            dies.kill()
        same(said_by([worker(server, folder, "echo", "whole")]), ["done"])
        same(pathlib.Path(folder, "invoice").read_text(encoding="utf-8"), "whole\n")


def shards(server, count, share):
    return task("sharded-workers", "shards.c", server.url, count, share)


def shards_of(process, count):
    """{shard: token} of the next so many that it takes."""
    found = (process.line(r"^shard (\d+) is mine, token (\d+)") for _ in range(count))
    return {int(match.group(1)): int(match.group(2)) for match in found}


def in_line(server, shard):
    return server.call("ZCARD", f"ll1:q:{{liblock:shard/{shard}}}")


@test
def a_worker_stands_in_line_while_it_has_room_and_not_for_longer():
    with Server() as server, shards(server, 4, 3) as one:
        first = sorted(shards_of(one, 3))
        with shards(server, 4, 2) as two:
            shards_of(two, 1)
            assert eventually(lambda: [in_line(server, shard) for shard in first] == [1, 1, 1])
            server.call("DEL", f"liblock:shard/{first[0]}")  # an administrator's hand
            same(list(shards_of(two, 1)), [first[0]])
            assert eventually(lambda: [in_line(server, shard) for shard in first[1:]] == [0, 0])
            one.line(rf"^shard {first[0]} is lost$")


@test
def the_shards_of_a_worker_that_dies_go_to_those_that_have_room():
    with Server() as server, shards(server, 6, 4) as one:
        first = shards_of(one, 4)
        with shards(server, 6, 3) as two:
            shared = shards_of(two, 2)
            assert not set(first) & set(shared), "one shard, two workers"
            with shards(server, 6, 4) as three:
                assert eventually(lambda: in_line(server, min(first)) == 2), "they do not stand in line"
                one.kill()
                taken = {}

                def take():
                    for process in (two, three):
                        while not process.lines.empty():
                            taken.update(shards_of(process, 1))
                    return len(taken) == 4

                assert eventually(take, 20), taken
                same(set(taken), set(first))
                assert all(taken[shard] > first[shard] for shard in taken), (first, taken)



if __name__ == "__main__":
    main()
