#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lockctl ls, info, queue, watch, ping and bench: what they show, and how they end when there is nothing to show.
Usage: look.py LOCKCTL [PART OF A NAME]. TAP."""
import json
import os
import signal

from tool import Running, Server, eventually, held, is_held, lockctl, main, queue_of, same, test, waiting

UNREACHABLE = "redis://127.0.0.1:1"


@test
def every_command_of_a_server_that_is_not_there_is_69_and_names_it():
    for words in (["ls"], ["ls", "--count"], ["info", "k"], ["queue", "k"], ["top"], ["ping"], ["bench"], ["dead"],
                  ["clear", "--yes"], ["release", "--force", "--yes", "k"]):
        done = lockctl(*words, url=UNREACHABLE, code=69)
        same((done.out, "127.0.0.1:1" in done.err), ("", True))
        said = json.loads(lockctl("--json", *words, url=UNREACHABLE, code=69).err)
        same((said["error"], said["exit"]), ("CONNECT", 69))


@test
def a_watch_that_was_never_answered_is_69():
    for words in ([], ["k"]):
        done = lockctl("watch", "--for", "300ms", *words, url=UNREACHABLE, code=69)
        same((len(done.out.splitlines()), "127.0.0.1:1" in done.out), (1, True))


@test
def a_local_context_is_refused_where_there_could_be_nothing_to_see():
    for words in (["ls"], ["run", "k", "--", "true"], ["info", "k"], ["clear", "--yes"]):
        done = lockctl(*words, url="local:", code=78)
        same("--url redis://HOST" in done.err, True)


@test
def a_key_that_nobody_holds_is_1_in_both_languages():
    with Server() as server:
        same(lockctl("info", "k", url=server.url, code=1).out, "k: nobody holds it\n")
        same(lockctl("info", "--json", "k", url=server.url, code=1).json, {"key": "k", "held": False})
        same(lockctl("queue", "k", url=server.url, code=1).out, "k: nobody holds it or waits for it\n")
        same(lockctl("queue", "--json", "k", url=server.url, code=1).json, {"key": "k", "held": False, "queue": []})
        same(lockctl("ls", url=server.url).out, "")


@test
def info_tells_of_the_holder_what_the_server_has():
    with Server() as server, held(server.url, "k", "--value", "why") as holder:
        record = server.call("GET", "liblock:k").decode().split("|")
        shown = lockctl("info", "--json", "k", url=server.url).json
        same((str(shown["token"]), shown["owner"], shown["instance"], shown["value"]),
             (record[3], f"{record[5]}/1/lockctl:sleep", record[5], "why"))
        same(shown["instance"].startswith(f"{holder.process.pid}-"), True)
        text = lockctl("info", "k", url=server.url).out
        for part in (f"token: {record[3]}\n", "value: why\n", "waiting: 0\n", f"owner: {shown['owner']}\n"):
            same(part in text, True)


@test
def a_lock_of_another_library_is_shown_as_such():
    with Server() as server:
        server.call("SET", "liblock:k", "6a1c", "PX", 60000)
        same(lockctl("info", "--json", "k", url=server.url).json["foreign"], True)
        same("holder: a client of another library" in lockctl("info", "k", url=server.url).out, True)
        same("(another library)" in lockctl("queue", "k", url=server.url).out, True)


@test
def queue_shows_waiters_in_the_order_of_service():
    with Server() as server, held(server.url, "k"), waiting(server.url, "k") as first, \
            waiting(server.url, "k", "--order", "priority", "--priority", "-5") as last, \
            waiting(server.url, "k", "--order", "lifo") as newest:
        shown = queue_of(server.url, "k")
        pids = [int(one["instance"].split("-")[0]) for one in shown]
        same(sorted(pids), sorted(one.process.pid for one in (first, last, newest)))
        same([one["position"] for one in shown], [0, 1, 2])
        text = lockctl("queue", "k", url=server.url).out.splitlines()
        same([line.split()[0] for line in text], ["PLACE", "holder", "1", "2", "3"])
        same([str(pid) in line for pid, line in zip(pids, text[2:])], [True] * 3)


@test
def ls_shows_what_is_held_or_waited_for_and_only_that_which_was_asked_for():
    with Server() as server, held(server.url, "a/1"), held(server.url, "a/2"), held(server.url, "b"), \
            waiting(server.url, "b"):
        def keys(*words):
            return sorted(one["key"] for one in lockctl("ls", "--json", *words, url=server.url).objects)
        same(keys(), ["a/1", "a/2", "b"])
        same(keys("a/"), ["a/1", "a/2"])
        same(keys("--queues"), ["b"])
        same(keys("--locks", "--zombies"), [])
        same(lockctl("ls", "--count", url=server.url).out, "3 locks, 1 queues\n")
        same(lockctl("ls", "--count", "--json", url=server.url).json, {"locks": 3, "queues": 1})
        lines = lockctl("ls", url=server.url).out.splitlines()
        same(lines[0].split(), ["TOKEN", "SINCE", "LEFT", "WAITING", "HOLDER", "KEY"])
        same(sorted(line.split()[-1] for line in lines[1:]), ["a/1", "a/2", "b"])


@test
def a_pattern_that_finds_nothing_is_said_to_be_none():
    with Server() as server, held(server.url, "x1"):
        for words in (["ls"], ["ls", "--count"], ["ls", "--json"]):
            same(lockctl(*words, "x*", url=server.url).err,
                 "lockctl: no key begins with 'x*': that is no pattern; say lockctl ls 'x'\n")
            for prefix in ("x", "y"):
                same(lockctl(*words, prefix, url=server.url).err, "")
        with held(server.url, "x*"):
            same(lockctl("ls", "x*", url=server.url).err, "")


def many_locks(server, count):
    """Copies of one lock: the records of locks that somebody could have taken."""
    names = [f"n{n:05}" for n in range(count)]
    with held(server.url, "k"):
        script = "for n = 2, #ARGV do redis.call('COPY', KEYS[1], ARGV[1] .. ARGV[n]) end"
        server.call("EVAL", script, 1, "liblock:k", "liblock:", *names)
    return names


@test
def ls_streams_more_keys_than_a_page_and_shows_each_once():
    with Server() as server:
        names = many_locks(server, 3000)
        assert sorted(one["key"] for one in lockctl("ls", "--json", "n", url=server.url).objects) == names
        lines = lockctl("ls", "n", url=server.url).out.splitlines()[1:]
        assert sorted(line.split()[-1] for line in lines) == names


@test
def a_reader_that_leaves_early_ends_the_list_without_a_word():
    with Server() as server:
        many_locks(server, 3000)
        with Running("ls", url=server.url) as running:
            running.line()
            running.process.stdout.close()
            same(running.process.wait(60), -signal.SIGPIPE)
            same(running.process.stderr.read(), b"")


@test
def keys_that_are_no_text_neither_move_the_cursor_nor_break_json():
    evil = b"\x1b[2J\xff\\\n"
    with Server() as server, held(server.url, os.fsdecode(evil)):
        out = lockctl("ls", url=server.url).out
        same((r"\x1b[2J\xff\\\x0a" in out, "\x1b" in out), (True, False))
        shown = lockctl("ls", "--json", url=server.url).json
        same((bytes.fromhex(shown["key_hex"]), shown["key"]), (evil, r"\x1b[2J\xff\\\x0a"))
        same(lockctl("info", "--json", os.fsdecode(evil), url=server.url).json["held"], True)


@test
def keys_of_another_prefix_are_not_seen():
    with Server() as server, held(server.url, "k", "--prefix", "other:"):
        same(lockctl("ls", url=server.url).out, "")
        lockctl("info", "k", "--prefix", "other:", url=server.url)
        same(server.call("EXISTS", "other:k"), 1)


def lines_from(running, count):
    return [json.loads(running.line()) for _ in range(count)]


@test
def watch_tells_of_each_change_of_one_key_and_ends_in_time():
    with Server() as server, Running("watch", "--json", "--for", "60s", "k", url=server.url) as watch:
        same(lines_from(watch, 1)[0]["event"], "free")  # as it is when the watch begins
        with held(server.url, "k") as holder:
            told = lines_from(watch, 1)[0]
            same((told["event"], told["holder"].split("-")[0]), ("held", str(holder.process.pid)))
            lockctl("release", "--force", "--yes", "k", url=server.url)
            told = lines_from(watch, 1)[0]
            same((told["event"], told["key"]), ("free", "k"))
        watch.signal(signal.SIGINT)
        same(watch.done().code, -signal.SIGINT)
        lockctl("watch", "--for", "50ms", "k", url=server.url)


@test
def a_line_of_watch_ends_with_its_last_word():
    with Server() as server, Running("watch", "k", url=server.url) as watch:
        same(watch.line().endswith(" free k\n"), True)
        with held(server.url, "k"):
            line = watch.line()
            same((" held k  by " in line, line.rstrip() + "\n"), (True, line))
            server.kill()
            same(" unreachable  redis://" in watch.line(), True)


@test
def watch_tells_of_all_keys():
    with Server() as server, held(server.url, "a"), \
            Running("watch", "--json", "--interval", "20ms", url=server.url) as watch:
        same([(one["event"], one["key"]) for one in lines_from(watch, 1)], [("held", "a")])
        with held(server.url, "b"):
            same([(one["event"], one["key"]) for one in lines_from(watch, 1)], [("held", "b")])
            lockctl("release", "--force", "--yes", "b", url=server.url)
            same([(one["event"], one["key"]) for one in lines_from(watch, 1)], [("free", "b")])


@test
def watch_outlives_the_server():
    with Server() as server:
        for words in (["k"], ["--interval", "20ms"]):
            with held(server.url, "k") as holder:
                with Running("watch", "--json", *words, url=server.url) as watch:
                    same(lines_from(watch, 1)[0]["event"], "held")
                    server.kill()
                    same(lines_from(watch, 1)[0]["event"], "unreachable")
                    holder.signal(signal.SIGKILL)
                    server.start()
                    same([one["event"] for one in lines_from(watch, 2)], ["answers", "free"])


@test
def ping_tells_how_far_the_server_is():
    with Server() as server:
        same(lockctl("ping", "--json", url=server.url).json["round_trip_us"] > 0, True)
        same(lockctl("ping", url=server.unix_url).out.startswith("unix://"), True)
        same(len(lockctl("ping", "--json", "--count", "2", url=server.url).objects), 2)


@test
def that_the_server_may_evict_locks_is_said_once_by_ping_and_run():
    def evicting(policy):
        return Server("--maxmemory", "100mb", "--maxmemory-policy", policy)
    why = "maxmemory-policy is allkeys-lru: the server may evict locks that are held; set noeviction"
    with evicting("allkeys-lru") as server:
        for words in (["ping"], ["ping", "--count", "2"], ["run", "k", "--", "true"]):
            same(lockctl(*words, url=server.url).err, f"lockctl: warning: {why}\n")
        done = lockctl("ping", "--json", url=server.url)
        same((done.json["warning"], done.err), (why, ""))
        lines = lockctl("run", "--json", "k", "--", "true", url=server.url).err.splitlines()
        told = [json.loads(line) for line in lines]
        same(([one["event"] for one in told], told[0]["message"]), (["may_evict", "acquired", "ended"], why))
        same(lockctl("run", "--quiet", "k", "--", "true", url=server.url).err, "")
    for server in (evicting("noeviction"), Server("--maxmemory-policy", "allkeys-lru")):  # the latter has no bound
        with server:
            for words in (["ping"], ["ping", "--json"], ["run", "k", "--", "true"]):
                done = lockctl(*words, url=server.url)
                same((done.err, "warning" in done.out), ("", False))


@test
def bench_measures_three_parts_and_leaves_no_lock():
    with Server() as server:
        for url in (server.url, "local:"):
            parts = lockctl("bench", "--json", "--for", "100ms", "--threads", "3", url=url).objects
            same([(one["part"], one["threads"]) for one in parts], [("alone", 1), ("spread", 3), ("contended", 3)])
            for one in parts:
                assert 0 < one["p50_us"] <= one["p99_us"] <= one["max_us"] and one["pairs"] > 0, one
        same(server.locks(), [])
        lines = lockctl("bench", "--for", "50ms", url="local:").out.splitlines()
        same([line.split()[0] for line in lines][0], "PAIRS/S")


if __name__ == "__main__":
    main()
