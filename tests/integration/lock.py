#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a lock on a server is: its record, its lease, its tokens, its waiters, and how many calls all that takes."""
import time

from harness import SLOW, Agent, Server, eventually, free_port, main, same, status, take_turns, test

SERVER = None
COUNTED = {"zombie_interval_ms": -1}  # no sign of life among the calls


def opened(agent, url=None, name="c", **options):
    status(agent("open", name, url or SERVER.url, **options), "OK")
    return agent


def settled(agent):
    """What the first lock of a context brings with it is over: messages come, and the lock was verified once more."""
    before = SERVER.script_calls()
    lock = status(agent("acquire", "c", "first"), "OK")
    assert eventually(lambda: SERVER.script_calls() >= before + 2)
    status(agent("verify", "c", lock.lock), "OK")
    status(agent("release", "c", lock.lock), "OK")


def left_ms(key):
    return SERVER.call("PTTL", key)


@test
def a_lock_is_a_string_with_an_expiry_that_says_who_holds_it():
    with opened(Agent()) as agent:
        lock = status(agent("acquire", "c", "record", ttl_ms=5000, value="v|1"), "OK")
        same(SERVER.call("TYPE", "liblock:record"), b"string")
        fields = SERVER.call("GET", "liblock:record").split(b"|", 7)
        same(fields[0], b"ll1")
        same(len(fields[1]), 32)
        same(int(fields[3]), lock.token)
        same(fields[6].split(b",")[1], b"5000")  # since when, and with which lease
        same(fields[7], b"v|1")
        assert 4000 < left_ms("liblock:record") <= 5000
        assert 4950 - 150 * SLOW < lock.remaining_ms <= 4950 - 2, lock  # 1 % and 2 ms less than was asked for
        status(agent("release", "c", lock.lock), "OK")
        same(SERVER.call("EXISTS", "liblock:record"), 0)


@test
def a_wait_that_is_over_before_the_server_has_answered_names_the_server():
    with Server() as server, server.paused(), opened(Agent(), server.url) as agent:
        answer = status(agent("acquire", "c", "k", wait_ms=50), "CONNECT")
        assert answer.message.startswith(f"{server.url}: it has not answered yet; see "), answer
        status(agent("acquire", "c", "k", wait_ms=-1), "CONNECT")
        answer = status(agent("acquire", "c", "k", wait_ms=50), "CONNECT")
        assert server.url in answer.message and "not answered yet" not in answer.message, answer


@test
def a_wait_that_is_over_while_the_server_is_gone_says_so():
    with Server() as server, opened(Agent(), server.url) as holder, opened(Agent(), server.url) as waiter:
        status(holder("acquire", "c", "k"), "OK")
        waits = waiter.ask("acquire", "c", "k", wait_ms=3000)
        assert eventually(lambda: server.call("ZCARD", "ll1:q:{liblock:k}") == 1)
        server.kill()
        answer = waits.result()
        # In doubt where its sign of life was under way.
        assert answer.status in ("CONNECT", "IN_DOUBT") and answer.message.startswith(f"{server.url}: "), answer


@test
def uncontended_acquire_and_release_are_two_script_calls_and_nothing_else():
    with opened(Agent(), **COUNTED) as agent:
        settled(agent)
        before = SERVER.commands()
        for _ in range(10):
            lock = agent("acquire", "c", "count")
            status(agent("release", "c", lock.lock), "OK")
        after = SERVER.commands()
        calls = {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}
        for name in ("info", "ping"):  # this test's own; the sign of life of the connection for messages
            calls.pop(name, None)
        inside = {"time", "get", "set", "del", "exists"}  # of the scripts
        same(calls.pop("evalsha"), 20)
        same(set(calls) - inside, set())


@test
def a_key_is_left_free_for_foreign_clients_as_often_as_the_context_says():
    for gap_ms, leaves in ((-1, 0), (0, 1)):
        SERVER.call("FLUSHALL")
        with opened(Agent(), foreign_gap_ms=gap_ms) as agent, opened(Agent()) as other:
            for _ in range(2):  # the first gap of a key is due one gap_ms after its first hand-over
                lock = status(agent("acquire", "c", "gap"), "OK")
                waiting = other.ask("acquire", "c", "gap")
                assert eventually(lambda: agent("inspect", "c", "gap").waiters == 1)
                status(agent("release", "c", lock.lock), "OK")
                status(other("release", "c", status(waiting.result(), "OK").lock), "OK")
            same(SERVER.call("EXISTS", "ll1:g:{liblock:gap}"), leaves)


@test
def who_finds_a_key_busy_is_told_who_has_it_even_a_foreign_client():
    with opened(Agent()) as agent:
        SERVER.call("SET", "liblock:theirs", "a value of theirs", "PX", "5000")
        failed = status(agent("acquire", "c", "theirs", wait_ms=0, busy_info=1), "BUSY")
        assert failed.message.startswith("held by a client of another library for "), failed
        SERVER.call("DEL", "liblock:theirs")


@test
def the_first_who_queues_is_told_to_the_holders_instance_and_the_next_is_not():
    def messages():
        return SERVER.commands().get("publish", 0)

    with opened(Agent()) as holder, opened(Agent()) as first, opened(Agent()) as second:
        lock = status(holder("acquire", "c", "told", ttl_ms=60000), "OK")
        before, told = messages(), []
        for waiter in (first, second):
            waiter.ask("acquire", "c", "told", wait_ms=2000)
            assert eventually(lambda: holder("inspect", "c", "told").waiters == len(told) + 1)
            told.append(messages() - before)
        same(told, [1, 1])
        status(holder("release", "c", lock.lock), "OK")


@test
def every_key_of_several_has_the_ttl_that_was_asked_for():
    with opened(Agent()) as agent:
        lock = status(agent("many", "c", "s1,s2,s3", ttl_ms=5000), "OK")
        for key in ("s1", "s2", "s3"):
            assert 4000 < left_ms("liblock:" + key) <= 5000, key
        status(agent("release", "c", lock.lock), "OK")


@test
def tokens_rise_over_releases_expiries_and_deletions_by_hand():
    with opened(Agent()) as agent:
        last = 0
        for how in ("release", "delete", "expire", "release"):
            lock = status(agent("acquire", "c", "token", ttl_ms=50 if how == "expire" else 5000), "OK")
            assert lock.token > last, lock
            last = lock.token
            if how == "delete":
                SERVER.call("DEL", "liblock:token")
            if how == "release":
                agent("release", "c", lock.lock)
        SERVER.call("DEL", "liblock:token", "ll1:f:{liblock:token}")  # also when the fence was lost: by the clock
        assert agent("acquire", "c", "token").token > last


@test
def a_lease_without_renewal_ends_and_is_reported_once():
    with opened(Agent()) as agent:
        lock = status(agent("acquire", "c", "ends", ttl_ms=100), "OK")
        same(status(agent("wait_lost", "c", lock.lock, wait_ms=3000), "LOST").seconds < 1, True)
        status(agent("is_held", "c", lock.lock), "LOST")
        assert eventually(lambda: agent("told", "c").lost == 1)
        status(agent("release", "c", lock.lock), "LOST")
        status(agent("release", "c", lock.lock), "NOT_HELD")
        same(agent("told", "c").lost, 1)
        assert eventually(lambda: SERVER.call("EXISTS", "liblock:ends") == 0)


@test
def the_default_lease_is_short_at_first_and_then_kept_alive():
    with opened(Agent()) as agent:
        lock = status(agent("acquire", "c", "kept"), "OK")
        assert left_ms("liblock:kept") <= 3000
        assert eventually(lambda: left_ms("liblock:kept") > 20000, 3)
        assert agent("is_held", "c", lock.lock).remaining_ms > 20000
        status(agent("release", "c", lock.lock), "OK")


@test
def a_renewed_lease_outlives_its_ttl_and_max_hold_ends_it():
    with opened(Agent()) as agent:
        kept = status(agent("acquire", "c", "renewed", ttl_ms=1500, renew=1), "OK")
        capped = status(agent("acquire", "c", "capped", ttl_ms=1500, renew=1, max_hold_ms=1600), "OK")
        time.sleep(2)
        status(agent("is_held", "c", kept.lock), "OK")
        status(agent("is_held", "c", capped.lock), "LOST")
        status(agent("release", "c", kept.lock), "OK")


@test
def a_lock_without_expiry_is_made_only_when_asked_for():
    with opened(Agent()) as agent:
        lock = status(agent("acquire", "c", "eternal", ttl_ms="NONE"), "OK")
        same(left_ms("liblock:eternal"), -1)
        same(lock.remaining_ms, -1)
        status(agent("extend", "c", lock.lock, ttl_ms=1000), "OK")
        assert 0 < left_ms("liblock:eternal") <= 1000
        status(agent("release", "c", lock.lock), "OK")


@test
def extend_sets_adds_and_shortens():
    with opened(Agent()) as agent:
        lock = status(agent("acquire", "c", "extended", ttl_ms=1000), "OK")
        assert 9000 < status(agent("extend", "c", lock.lock, ttl_ms=10000), "OK").remaining_ms < 10000
        assert 14000 < status(agent("extend", "c", lock.lock, ttl_ms=5000, add=1), "OK").remaining_ms < 15000
        assert status(agent("extend", "c", lock.lock, ttl_ms=100), "OK").remaining_ms < 100
        assert left_ms("liblock:extended") <= 100
        time.sleep(0.15)
        status(agent("extend", "c", lock.lock, ttl_ms=10000), "LOST")
        same(SERVER.call("EXISTS", "liblock:extended"), 0)  # never made anew
        status(agent("release", "c", lock.lock), "LOST")


@test
def ttls_out_of_range_are_refused():
    with opened(Agent()) as agent:
        for ttl in (0, -5, 19, 86400001, 2**62):
            status(agent("acquire", "c", "ttl", ttl_ms=ttl), "INVALID_ARGUMENT")
        tried = []  # a busy machine may be too late for it more than once

        def is_granted():
            tried.append(status(agent("acquire", "c", f"ttl{len(tried)}", ttl_ms=20), "OK", "TOO_LATE"))
            return tried[-1].status == "OK"

        assert eventually(is_granted), "the shortest ttl was never granted in time"
        status(agent("release", "c", tried[-1].lock), "OK", "LOST")


@test
def keys_are_any_bytes_up_to_512_and_none_may_look_like_a_side_key():
    with opened(Agent()) as agent:
        for key in (b"a\0b", b"a\r\nb", b"{a}b", b"a}b{", b"\xff\xfe", b"k" * 512, b"*", b"%s%n"):
            lock = status(agent("acquire", "c", key), "OK")
            same(SERVER.call("EXISTS", b"liblock:" + key), 1)
            status(agent("try", "c", key), "BUSY")
            status(agent("release", "c", lock.lock), "OK")
        status(agent("acquire", "c", b"k" * 513), "INVALID_ARGUMENT")
        status(agent("open", "bare", SERVER.url, prefix=""), "OK")
        for verb in ("acquire", "locked", "force"):
            status(agent(verb, "bare", "ll1:x"), "INVALID_ARGUMENT")
        status(agent("release", "bare", status(agent("acquire", "bare", "plain"), "OK").lock), "OK")


@test
def a_large_foreign_string_is_looked_at_and_harms_nobody():
    with opened(Agent()) as agent:
        SERVER.call("SET", "liblock:large", "x" * 2_000_000)
        lock = status(agent("acquire", "c", "small"), "OK")
        same(status(agent("locked", "c", "large"), "OK").locked, 1)
        status(agent("try", "c", "large"), "BUSY")
        status(agent("release", "c", lock.lock), "OK")
        SERVER.call("DEL", "liblock:large")


@test
def several_keys_are_taken_all_or_none():
    with opened(Agent()) as agent:
        b = status(agent("acquire", "c", "m-b"), "OK")
        status(agent("many", "c", "m-a,m-b,m-c", wait_ms=0), "BUSY")
        same(SERVER.call("EXISTS", "liblock:m-a", "liblock:m-c"), 0)
        waiting = agent.ask("many", "c", "m-c,m-b,m-a,m-a")
        time.sleep(0.1)
        status(agent("release", "c", b.lock), "OK")
        lock = status(waiting.result(), "OK")
        assert lock.token > b.token
        same(SERVER.call("EXISTS", "liblock:m-a", "liblock:m-b", "liblock:m-c"), 3)
        status(agent("release", "c", lock.lock), "OK")
        same(SERVER.call("EXISTS", "liblock:m-a", "liblock:m-b", "liblock:m-c"), 0)


@test
def a_key_taken_from_a_lock_on_several_takes_the_whole_lock():
    with opened(Agent()) as agent, opened(Agent()) as other:
        lock = status(agent("many", "c", "w-a,w-b", ttl_ms=600, renew=1), "OK")
        status(other("force", "c", "w-a"), "OK")
        status(agent("wait_lost", "c", lock.lock, wait_ms=3000), "LOST")
        assert eventually(lambda: SERVER.call("EXISTS", "liblock:w-b") == 0, 2)
        assert eventually(lambda: agent("told", "c").lost == 1)
        status(agent("release", "c", lock.lock), "LOST")


@test
def an_owner_reenters_with_one_token_and_the_last_release_frees():
    with opened(Agent(), **COUNTED) as agent:
        settled(agent)
        one = status(agent("acquire", "c", "own", owner=1), "OK")
        calls = SERVER.script_calls()
        two = status(agent("acquire", "c", "own", owner=1), "OK")
        same(SERVER.script_calls(), calls)
        same((two.token, two.hold_count, two.flags & 1), (one.token, 2, 1))
        status(agent("acquire", "c", "own", owner=1, on_conflict=3), "ALREADY_HELD")
        status(agent("try", "c", "own"), "BUSY")
        status(agent("release", "c", one.lock), "OK")
        same(SERVER.call("EXISTS", "liblock:own"), 1)
        status(agent("release", "c", two.lock), "OK")
        same(SERVER.call("EXISTS", "liblock:own"), 0)


@test
def a_release_wakes_the_waiter_of_another_process_in_about_a_message():
    with opened(Agent()) as agent, opened(Agent()) as other:
        took = []
        for _ in range(10):
            lock = status(agent("acquire", "c", "wake"), "OK")
            waiting = other.ask("acquire", "c", "wake")
            assert eventually(lambda: SERVER.call("ZCARD", "ll1:q:{liblock:wake}") == 1)
            released = time.monotonic()
            agent("release", "c", lock.lock)
            mine = status(waiting.result(), "OK")
            took.append(time.monotonic() - released)
            assert mine.flags & 2
            status(other("release", "c", mine.lock), "OK")
        assert sorted(took)[5] < 0.05 * SLOW, took  # the poll alone would take up to 1.2 s


@test
def the_end_of_a_dead_holders_lease_is_awaited():
    with opened(Agent()) as other:
        dying = opened(Agent())
        status(dying("acquire", "c", "dead", ttl_ms=1500), "OK")
        waiting = other.ask("acquire", "c", "dead", retry_interval_ms=60000)
        time.sleep(0.2)
        began = time.monotonic()
        left = left_ms("liblock:dead") / 1000
        dying.kill()
        status(waiting.result(), "OK")
        assert left - 0.1 < time.monotonic() - began < left + 0.4 * SLOW


@test
def a_foreign_lock_is_respected_and_its_end_is_noticed_by_the_poll():
    with opened(Agent()) as agent:
        SERVER.call("SET", "liblock:foreign", "somebody else's token")
        status(agent("try", "c", "foreign"), "BUSY")
        waiting = agent.ask("acquire", "c", "foreign", retry_interval_ms=50, retry_jitter_ms=0)
        time.sleep(0.3)
        assert not waiting.is_settled
        SERVER.call("DEL", "liblock:foreign")
        status(waiting.result(), "OK")
        assert waiting.seconds < 1.5


@test
def a_lock_that_somebody_else_took_over_is_lost_and_left_alone():
    with opened(Agent()) as agent:
        lock = status(agent("acquire", "c", "stolen", ttl_ms=300, renew=1), "OK")
        SERVER.call("SET", "liblock:stolen", "thief")
        status(agent("verify", "c", lock.lock), "LOST")
        status(agent("release", "c", lock.lock), "LOST")
        same(SERVER.call("GET", "liblock:stolen"), b"thief")
        SERVER.call("DEL", "liblock:stolen")


@test
def waits_end_with_the_status_that_names_their_limit():
    with opened(Agent()) as agent:
        lock = status(agent("acquire", "c", "limits"), "OK")
        assert 0.19 < status(agent("acquire", "c", "limits", wait_ms=200), "TIMEOUT").seconds < 1
        status(agent("acquire", "c", "limits", wait_ms=0), "BUSY")
        status(agent("acquire", "c", "limits", retries=0), "BUSY")
        tried = status(agent("acquire", "c", "limits", retries=3, retry_interval_ms=20), "RETRIES_EXHAUSTED")
        same(tried.attempts, 4)
        status(agent("async", "c", "limits", cancel_after_ms=50), "CANCELED")
        status(agent("acquire", "c", "limits2", ttl_ms=20, min_remaining_ms=20), "TOO_LATE")
        assert eventually(lambda: SERVER.call("EXISTS", "liblock:limits2") == 0)
        status(agent("release", "c", lock.lock), "OK")
        assert eventually(lambda: SERVER.call("EXISTS", "ll1:q:{liblock:limits}", "ll1:e:{liblock:limits}") == 0)


@test
def a_lock_is_exported_to_and_adopted_by_another_process():
    with opened(Agent()) as agent, opened(Agent()) as other:
        lock = status(agent("acquire", "c", "handed", ttl_ms=2000), "OK")
        blob = status(agent("export", "c", lock.lock), "OK").blob
        raw = bytes(int(x, 16) for x in blob.split("%")[1:])
        status(agent("is_held", "c", lock.lock), "NOT_HELD")
        status(other("adopt", "c", raw[:-1]), "INVALID_ARGUMENT")
        mine = status(other("adopt", "c", raw, ttl_ms=5000), "OK")
        same(mine.token, lock.token)
        assert left_ms("liblock:handed") > 4000
        same(agent("inspect", "c", "handed").owner, other("instance", "c").id)
        status(other("release", "c", mine.lock), "OK")
        status(other("adopt", "c", raw), "LOST")


@test
def close_gives_everything_back_and_leave_lets_it_run_out():
    with Agent() as agent:
        opened(agent, name="gives")
        opened(agent, name="leaves", on_close=1)
        agent("acquire", "gives", "given", ttl_ms=60000)
        agent("acquire", "leaves", "left", ttl_ms=60000)
        status(agent("close", "gives"), "OK")
        status(agent("close", "leaves"), "OK")
        same(SERVER.call("EXISTS", "liblock:given"), 0)
        same(SERVER.call("EXISTS", "liblock:left"), 1)
        SERVER.call("DEL", "liblock:left")


@test
def a_context_whose_requests_were_refused_for_good_closes_at_once():
    SERVER.call("RPUSH", "liblock:list", "no lock")
    with Server("--requirepass", "right") as locked:
        refusing = (
            (f"redis://127.0.0.1:{free_port()}/0", "k", "CONNECT"),
            (locked.url, "k", "AUTH"),
            (SERVER.url, "list", "WRONG_TYPE"),
        )
        for wait_ms in (0, 20000):
            for url, key, refused in refusing:
                with opened(Agent(), url, command_timeout_ms=30000) as agent:
                    status(agent("acquire", "c", key, wait_ms=wait_ms), refused)
                    began = time.monotonic()
                    status(agent("close", "c"), "OK")
                    assert time.monotonic() - began < 5 * SLOW, (url, refused, wait_ms)
    SERVER.call("DEL", "liblock:list")


@test
def a_thousand_waiters_end_as_closed_when_their_context_closes():
    with opened(Agent()) as agent, opened(Agent()) as holder:
        lock = status(holder("acquire", "c", "crowd"), "OK")
        waiting = [agent.ask("async", "c", "crowd") for _ in range(1000)]
        assert eventually(lambda: agent("inspect", "c", "crowd").waiters == 1000, 20)
        began = time.monotonic()
        status(agent("close", "c"), "OK")
        assert time.monotonic() - began < 3 * SLOW
        for reply in waiting:
            status(reply.result(), "CLOSED")
        status(holder("release", "c", lock.lock), "OK")
        same(SERVER.call("EXISTS", "liblock:crowd"), 0)


def hand_overs(key, contexts):
    """A hundred waiters take turns; the script calls for each."""
    holder, = [opened(Agent(), **COUNTED)]
    lock = status(holder("acquire", "c", key), "OK")
    with Agent() as agent:
        names = [f"c{i}" for i in range(contexts)]
        for name in names:
            opened(agent, name=name, **COUNTED)
        waiting = [agent.ask("async", names[i % contexts], key) for i in range(100)]
        assert eventually(lambda: sum(agent("inspect", n, key).waiters for n in names[:1]) >= 100 // contexts, 20)
        time.sleep(0.3)
        calls = SERVER.script_calls()
        status(holder("release", "c", lock.lock), "OK")
        take_turns(agent, names, waiting)
        per_hand_over = (SERVER.script_calls() - calls) / 100
    holder.end()
    return per_hand_over


@test
def a_hundred_waiters_of_one_process_cost_few_calls_per_hand_over():
    per_hand_over = hand_overs("queue1", 1)
    assert per_hand_over <= 3, per_hand_over


@test
def a_hundred_waiting_instances_cost_few_calls_per_hand_over():
    per_hand_over = hand_overs("queue100", 100)
    assert per_hand_over <= 3, per_hand_over


@test
def no_key_stays_without_an_expiry():
    for key in SERVER.call("KEYS", "*"):
        assert SERVER.call("PTTL", key) != -1, key


if __name__ == "__main__":
    with Server() as SERVER:
        main()
