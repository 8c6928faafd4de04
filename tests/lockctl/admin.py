#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lockctl release, clear and dead: what is taken away, from whom, and never without a yes. Usage: admin.py LOCKCTL
[PART OF A NAME]. TAP."""
import signal

from tool import Server, Terminal, eventually, held, is_held, lockctl, main, queue_of, same, test, waiting


@test
def nothing_is_taken_away_without_a_yes_where_nobody_can_be_asked():
    with Server() as server, held(server.url, "k") as holder:
        for words in (["release", "--force", "k"], ["clear"], ["clear", "--owner", "x"], ["clear", "--instance", "x"]):
            done = lockctl(*words, url=server.url, code=64)
            same("say --yes" in done.err, True)
        same("say --force" in lockctl("release", "--yes", "k", url=server.url, code=64).err, True)
        same((is_held(server, "k"), holder.is_running()), (True, True))


@test
def a_person_is_asked_on_a_terminal_and_may_say_no():
    with Server() as server, held(server.url, "k") as holder:
        for answer, code in (("n", 1), ("", 1), ("y", 0)):
            with Terminal("lockctl", "release", "--force", "k", url=server.url) as terminal:
                terminal.shows(f"k is held by {holder.process.pid}-")
                terminal.shows("[y/N]")
                same(is_held(server, "k"), True)
                terminal.type(answer)
                same((terminal.end(), is_held(server, "k")), (code, code == 1))
        with Terminal("lockctl", "clear", url=server.url) as terminal:
            terminal.shows("0 locks and 0 queues go")
            terminal.type("no")
            same(terminal.end(), 1)


@test
def a_key_that_nobody_holds_is_1_to_release():
    with Server() as server:
        shown = lockctl("release", "--force", "--yes", "--json", "k", url=server.url, code=1).json
        same((shown["had_lock"], shown["had_queue"]), (False, False))


@test
def a_release_hands_the_key_to_the_next_in_line():
    with Server() as server, held(server.url, "k") as holder, waiting(server.url, "k") as waiter:
        shown = lockctl("release", "--force", "--yes", "--json", "k", url=server.url).json
        same((shown["had_lock"], shown["waiters"], shown["queue_dropped"]), (True, 1, False))
        same((holder.done().code, waiter.done().code), (79, 0))


@test
def a_release_with_its_queue_sends_all_away():
    with Server() as server, held(server.url, "k") as holder, waiting(server.url, "k") as waiter:
        done = lockctl("release", "--force", "--drop-queue", "--yes", "k", url=server.url)
        same(done.out, "k: taken away, 1 sent away\n")
        same((holder.done().code, waiter.done().code), (79, 75))
        same((is_held(server, "k"), queue_of(server.url, "k")), (False, []))


@test
def a_queue_that_is_sent_away_is_something_done_where_nobody_holds():
    with Server() as server, held(server.url, "k") as holder, waiting(server.url, "k") as waiter:
        for stopped in (holder, waiter):
            stopped.signal(signal.SIGSTOP)
        server.call("DEL", "liblock:k")
        same(lockctl("release", "--force", "--drop-queue", "--yes", "k", url=server.url).out,
             "k: nobody held it, 1 sent away\n")
        for stopped in (holder, waiter):
            stopped.signal(signal.SIGCONT)
        same((holder.done().code, waiter.done().code), (79, 75))


@test
def clear_takes_all_of_the_prefix_and_nothing_else():
    with Server() as server, held(server.url, "a") as a, held(server.url, "b") as b, \
            waiting(server.url, "b") as waiter, held(server.url, "c", "--prefix", "other:") as other:
        shown = lockctl("clear", "--yes", "--json", url=server.url).json
        same((shown["locks"], shown["waiters"]), (2, 1))
        same([one.done().code for one in (a, b, waiter)], [79, 79, 75])
        same(other.is_running(), True)
        lockctl("clear", "--yes", url=server.url, code=1)


@test
def clear_takes_what_one_owner_or_instance_has():
    with Server() as server, held(server.url, "a") as a, held(server.url, "b") as b, held(server.url, "c") as c:
        owner = lockctl("info", "--json", "a", url=server.url).json["owner"]
        instance = lockctl("info", "--json", "b", url=server.url).json["instance"]
        lockctl("clear", "--yes", "--owner", owner, url=server.url)
        lockctl("clear", "--yes", "--instance", instance, url=server.url)
        same([one.done().code for one in (a, b)], [79, 79])
        same((c.is_running(), is_held(server, "c")), (True, True))


@test
def an_id_that_is_empty_clears_nothing():
    with Server() as server, held(server.url, "k"):
        for option in ("--owner", "--instance"):
            lockctl("clear", "--yes", option, "", url=server.url, code=64)
        same(is_held(server, "k"), True)


@test
def where_nobody_has_left_anything_nobody_is_asked():
    with Server() as server, held(server.url, "k"):
        done = lockctl("dead", "--clear", url=server.url, code=1)
        same((done.out, done.err), ("nobody who is gone has left anything\n", ""))
        shown = lockctl("dead", "--clear", "--json", url=server.url, code=1).json
        same((shown["locks"], shown["waiters"], shown["instances"]), (0, 0, 0))
        with waiting(server.url, "k"):  # who may have waited for too long
            same("wait for longer than 1d00h?" in lockctl("dead", "--clear", url=server.url, code=64).err, True)


@test
def what_a_killed_process_left_is_shown_and_taken_away():
    with Server() as server:
        same(lockctl("dead", url=server.url).out, "nobody who is gone has left anything\n")
        with held(server.url, "alive") as alive, held(server.url, "k", "--ttl", "1h") as gone:
            # From the first renewal on nothing but dead would free it soon.
            assert eventually(lambda: lockctl("info", "--json", "k", url=server.url).json["remaining_ms"] > 60000, 20)
            gone.signal(signal.SIGKILL)
            gone.done()
            assert eventually(lambda: lockctl("ls", "--zombies", "--json", url=server.url).out, 20)
            same([one["key"] for one in lockctl("dead", "--json", url=server.url).objects if "key" in one], ["k"])
            same("key k, held by" in lockctl("dead", url=server.url).out, True)
            same("say --yes" in lockctl("dead", "--clear", url=server.url, code=64).err, True)
            shown = lockctl("dead", "--clear", "--yes", "--json", url=server.url).json
            same((shown["locks"], is_held(server, "k"), alive.is_running()), (1, False, True))
            lockctl("dead", "--clear", "--yes", url=server.url, code=1)


if __name__ == "__main__":
    main()
