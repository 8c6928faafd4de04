#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What administrators see and do on a server, and what becomes of holders and waiters of other processes."""
import time

from harness import SLOW, Agent, Server, eventually, main, same, status, test

SERVER = None


def opened(agent, name="c", **options):
    status(agent("open", name, SERVER.url, **options), "OK")
    return agent


def emptied():
    SERVER.call("FLUSHALL")


def listens(agent, admin):
    """Its messages come. Until they do, who waits asks once more, and may be granted what is being cleared."""
    lock = status(agent("acquire", "c", "heard", ttl_ms=60000), "OK")
    status(admin("force", "c", "heard"), "OK")
    assert eventually(lambda: agent("is_held", "c", lock.lock).status == "LOST")


@test
def an_info_says_who_holds_since_when_and_where():
    emptied()
    with opened(Agent()) as agent, opened(Agent()) as other:
        before = time.time()
        status(agent("acquire", "c", "k", ttl_ms=60000), "OK")
        after = time.time()
        seen = status(other("inspect", "c", "k"), "OK")
        same(seen.owner, status(agent("instance", "c"), "OK").id)
        assert "@" in seen.owner, seen
        assert before - 1 < seen.since_us / 1e6 < after + 1, seen
        same(seen.zombie, 0)
        # Who was granted the lock knows its first lease, whatever the record says.
        same(status(agent("inspect", "c", "k"), "OK").initial_ttl_ms, 60000)


@test
def force_release_from_another_process_says_what_there_was():
    emptied()
    with opened(Agent()) as agent, opened(Agent()) as other:
        lock = status(agent("acquire", "c", "k", ttl_ms=60000), "OK")
        same(status(other("force", "c", "free"), "NOT_HELD").flags, 0)
        same(status(other("force", "c", "k"), "OK").flags, 16)
        assert eventually(lambda: agent("is_held", "c", lock.lock).status == "LOST")
        status(agent("acquire", "c", "k", ttl_ms=60000), "OK")
        waiting = agent.ask("acquire", "c", "k")
        assert eventually(lambda: other("inspect", "c", "k").waiters == 1)
        forced = status(other("force", "c", "k", drop=1), "OK")
        same(forced.flags, 16 + 32)
        same(forced.queue_length, 1)
        status(waiting.result(), "DEQUEUED")


@test
def who_knows_the_value_releases_prolongs_and_updates_without_a_handle():
    emptied()
    with opened(Agent()) as agent, opened(Agent()) as other:
        lock = status(agent("acquire", "c", "k", ttl_ms=60000, value="a|b"), "OK")
        for verb, more in (("release_key", {}), ("extend_key", {"ttl_ms": 90000}), ("update_key", {"value": "x"})):
            status(other(verb, "c", "free", expected="a|b", **more), "NOT_HELD")
            status(other(verb, "c", "k", expected="a|", **more), "NOT_OWNER")
            status(other(verb, "c", "k", **more), "NOT_OWNER")
        assert 80000 < status(other("extend_key", "c", "k", expected="a|b", ttl_ms=90000), "OK").remaining_ms <= 90000
        assert status(other("extend_key", "c", "k", expected="a|b", ttl_ms=1000), "OK").remaining_ms > 80000
        status(other("extend_key", "c", "k", expected="a|b", ttl_ms=60000, add=1), "OK")
        assert 140000 < SERVER.call("PTTL", "liblock:k") <= 150000
        status(other("update_key", "c", "k", expected="a|b", value="c|d"), "OK")
        status(other("update_key", "c", "k", expected="a|b", value="e"), "NOT_OWNER")
        assert SERVER.call("GET", "liblock:k").endswith(b"|c|d")
        status(agent("verify", "c", lock.lock), "OK")
        waiting = other.ask("acquire", "c", "k")
        assert eventually(lambda: agent("inspect", "c", "k").waiters == 1)
        status(agent("release_key", "c", "k", expected="c|d"), "OK")
        status(agent("is_held", "c", lock.lock), "LOST")
        status(waiting.result(), "OK")
        SERVER.call("SET", "liblock:foreign", "a|b")
        status(agent("release_key", "c", "foreign", expected="a|b"), "NOT_OWNER")


@test
def clear_tells_holders_and_waiters_of_other_processes():
    emptied()
    with opened(Agent()) as agent, opened(Agent()) as other, opened(Agent()) as admin:
        listens(other, admin)
        lock = status(agent("acquire", "c", "k", ttl_ms=60000), "OK")
        waiting = other.ask("acquire", "c", "k")
        assert eventually(lambda: admin("inspect", "c", "k").waiters == 1)
        report = status(admin("clear", "c"), "OK")
        same((report.locks, report.queues, report.keys, report.waiters), (1, 1, 2, 1))
        status(waiting.result(), "DEQUEUED")
        assert eventually(lambda: agent("is_held", "c", lock.lock).status == "LOST")
        same(status(admin("clear", "c"), "OK").keys, 0)


@test
def clear_of_many_locks_takes_a_script_call_for_a_batch():
    emptied()
    # No sign of life among the calls.
    with opened(Agent(), zombie_interval_ms=-1) as agent, opened(Agent(), zombie_interval_ms=-1) as admin:
        held = [agent.ask("acquire", "c", f"k{i}", ttl_ms=60000) for i in range(500)]
        locks = [status(reply.result(), "OK").lock for reply in held]
        status(admin("list", "c"), "OK")
        for batch, most in ((50, 10 + 12), (500, 1 + 4)):
            before = SERVER.script_calls()
            report = status(admin("clear", "c", batch=batch, scan=1000), "OK")
            same(report.locks, len(locks))
            # The holders are told, and verify each lock by a call of theirs.
            calls = SERVER.script_calls() - before - len(locks)
            assert calls <= most, (batch, calls)
            assert eventually(lambda: agent("is_held", "c", locks[-1]).status == "LOST")
            held = [agent.ask("acquire", "c", f"k{i}", ttl_ms=60000) for i in range(500)]
            locks = [status(reply.result(), "OK").lock for reply in held]


@test
def clear_of_an_instance_or_an_owner_leaves_all_others_their_places():
    emptied()
    with opened(Agent()) as one, opened(Agent()) as two, opened(Agent()) as admin:
        for agent in (one, two):
            listens(agent, admin)
        status(one("acquire", "c", "a", ttl_ms=60000), "OK")
        kept = status(two("acquire", "c", "b", ttl_ms=60000), "OK")
        next_one = two.ask("acquire", "c", "a", ttl_ms=60000)
        dropped = one.ask("acquire", "c", "b")
        assert eventually(lambda: admin("inspect", "c", "a").waiters == 1 == admin("inspect", "c", "b").waiters)
        report = status(admin("clear", "c", instance_id=one("instance", "c").id), "OK")
        same((report.locks, report.waiters), (1, 1))
        status(next_one.result(), "OK")
        assert next_one.seconds < 5 * SLOW
        status(dropped.result(), "DEQUEUED")
        status(two("is_held", "c", kept.lock), "OK")
        # A lock without an owner belongs to its instance, by the same text.
        report = status(admin("clear", "c", owner_id=two("instance", "c").id), "OK")
        same(report.locks, 2)


@test
def locks_of_a_killed_process_are_zombies_and_are_cleared():
    emptied()
    with opened(Agent(), alive_ms=300) as agent, opened(Agent(), alive_ms=300) as alive:
        victim = opened(Agent(), alive_ms=300)
        status(victim("acquire", "c", "left", ttl_ms="NONE"), "OK")
        mine = status(alive("acquire", "c", "mine", ttl_ms="NONE"), "OK")
        time.sleep(0.5)
        same(status(agent("inspect", "c", "left"), "OK").zombie, 0)
        same(status(agent("clear", "c", dead=1), "OK").keys, 0)
        victim.kill()
        assert eventually(lambda: agent("inspect", "c", "left").zombie == 1)
        same(status(agent("inspect", "c", "mine"), "OK").zombie, 0)
        began = time.monotonic()
        report = status(agent("clear", "c", dead=1), "OK")
        same((report.locks, report.keys), (1, 1))
        assert time.monotonic() - began >= 0.3, "nobody was given the time to come back"
        status(agent("inspect", "c", "left"), "NOT_HELD")
        status(alive("verify", "c", mine.lock), "OK")


@test
def lists_count_locks_queues_and_keys_in_steps_of_any_size():
    emptied()
    with opened(Agent()) as agent, opened(Agent()) as other:
        held = [agent.ask("acquire", "c", f"l{i}", ttl_ms=60000) for i in range(300)]
        for reply in held:
            status(reply.result(), "OK")
        waiting = other.ask("acquire", "c", "l7", ttl_ms=60000)
        assert eventually(lambda: agent("inspect", "c", "l7").waiters == 1)
        SERVER.call("SET", "liblock:foreign", "somebody")
        SERVER.call("SET", "other:l1", "somebody")
        for batch in (1, 50, 65536):
            for what, counts in ((0, (300, 0, 300)), (1, (0, 1, 1)), (2, (300, 1, 301))):
                report = status(agent("list", "c", what=what, batch=batch), "OK")
                same((report.locks, report.queues, report.keys), counts)
        status(agent("list", "c", batch=0), "INVALID_ARGUMENT")
        status(agent("list", "c", batch=65537), "INVALID_ARGUMENT")
        assert "keys" not in SERVER.commands()
        status(agent("clear", "c"), "OK")
        status(waiting.result(), "DEQUEUED")
        same(SERVER.call("EXISTS", "liblock:foreign", "other:l1"), 2)


if __name__ == "__main__":
    with Server() as SERVER:
        main()
