#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a lock over five servers is: what it costs, what it survives, how its end is told; and which servers are refused
as nodes, which are waited for. What is left where nodes lose their data is in quorum_data.py and
quorum_loss.py, random faults in quorum_chaos.py."""
import contextlib
import statistics
import time

from harness import SLOW, Agent, Server, eventually, main, same, status, take_turns, test
from networks import Proxy, Rubbish
from quorums import LONG, MAX_TTL_MS, Quorum, answered, found, locked, opened, released


def latencies_ms(agent, contexts, count=60):
    """Of an acquire and its release together, the median in each context. They take turns: what else the machine does
    is the same for all of them."""
    times = {context: [] for context in contexts}
    for _ in range(count):
        for context in contexts:
            lock = locked(agent, "measured", context, **LONG)
            times[context].append(1000 * (lock.seconds + released(agent, lock, context=context).seconds))
    return [statistics.median(times[context]) for context in contexts]


@test
def a_free_key_costs_one_round_trip_and_one_call_to_each_node_and_so_does_its_release():
    with Quorum() as quorum, Agent() as first, Agent() as second:
        for agent in (first, second):
            opened(agent, quorum)
            released(agent, locked(agent, **LONG))
        calls, single, count = quorum.script_calls(), 0, 200

        def settled(more):
            return eventually(lambda: all(a >= b + more for a, b in zip(quorum.script_calls(), calls)))

        for i in range(count):
            agent = (first, second)[i % 2]
            lock = locked(agent, **LONG)
            assert settled(1)
            single += [a - b for a, b in zip(quorum.script_calls(), calls)] == [1] * 5
            released(agent, lock)
            assert settled(2)
            calls = quorum.script_calls()
        print(f"# one round trip: {100 * single / count:.1f} % of {count}", flush=True)
        assert single >= 0.9 * count, single
        before = quorum.script_calls()
        for _ in range(100):
            released(first, locked(first, **LONG))
        assert eventually(lambda: [a - b for a, b in zip(quorum.script_calls(), before)] == [200] * 5), before


@test
def a_dead_node_and_a_stopped_one_cost_nothing_after_their_first_miss():
    with Quorum() as quorum, Quorum() as whole, Agent() as agent:
        opened(agent, quorum)
        opened(agent, whole, "whole")
        for context in ("c", "whole"):
            released(agent, locked(agent, context=context, **LONG), context=context)
        quorum[0].kill()
        with quorum[3].paused():
            released(agent, locked(agent, **LONG))
            healthy, without = latencies_ms(agent, ["whole", "c"])
            print(f"# healthy {healthy:.2f} ms, without two {without:.2f} ms: {without / healthy:.2f}", flush=True)
            assert without < 3 * healthy + 2, (healthy, without)


@test
def a_release_hands_over_to_who_waits_within_a_message_delay():
    with Quorum() as quorum, Agent() as first, Agent() as second:
        opened(first, quorum)
        opened(second, quorum)
        holder, other = first, second
        lock = locked(holder, "handed")
        times = []
        for _ in range(30):
            waiting = other.ask("acquire", "c", "handed")
            time.sleep(0.05)
            assert not waiting.is_settled
            began = time.monotonic()
            released(holder, lock)
            lock = status(waiting.result(), "OK")
            times.append(1000 * (waiting.began + lock.seconds - began))
            holder, other = other, holder
        print(f"# hand-over: median {statistics.median(times):.2f} ms, longest {max(times):.1f} ms", flush=True)
        assert statistics.median(times) < 20 * SLOW, times
        assert sorted(times)[-3] < 250 * SLOW, times  # a look by the timer comes after 1,000 ms


@test
def a_hundred_waiting_instances_cost_each_node_few_calls_per_hand_over():
    with Quorum(max_ttl_ms=60000) as quorum, Agent() as holder, Agent() as agent:
        opened(holder, quorum)
        lock = locked(holder)
        names = [f"c{number}" for number in range(100)]
        for name in names:
            opened(agent, quorum, name)
        waiting = [agent.ask("async", name, "k") for name in names]
        assert eventually(lambda: all(server.call("ZCARD", "ll1:k:{liblock:k}") == 100 for server in quorum), 20)
        time.sleep(0.3)
        before = quorum.script_calls()
        released(holder, lock)
        take_turns(agent, names, waiting)
        costs = [(a - b) / 100 for a, b in zip(quorum.script_calls(), before)]
        print(f"# calls of each node for a hand-over: {' '.join(f'{cost:.2f}' for cost in costs)}", flush=True)
        assert max(costs) <= 3, costs


@test
def a_release_is_whole_with_two_nodes_dead_partial_with_three_and_in_doubt_with_all_stopped():
    with Quorum() as quorum, Agent() as agent:
        opened(agent, quorum)
        whole, partial, doubtful = (locked(agent, key, ttl_ms=MAX_TTL_MS) for key in ("w", "p", "d"))
        quorum[0].kill()
        quorum[1].kill()
        released(agent, whole)
        with quorum[2].paused():
            answer = released(agent, partial, "PARTIAL")
            assert answer.seconds < 1 * SLOW, answer
            with quorum[3].paused(), quorum[4].paused():
                answer = released(agent, doubtful, "IN_DOUBT")
                assert answer.seconds < 1 * SLOW, answer
        assert eventually(lambda: not any(quorum[i].call("EXISTS", "liblock:p", "liblock:d") for i in (2, 3, 4)))


@test
def a_grant_of_all_nodes_that_nobody_heard_of_is_free_within_two_time_outs_and_a_round_trip():
    timeout_ms, round_trip_ms, slowest_ms = 400, 50, 0
    with contextlib.ExitStack() as stack:
        quorum = stack.enter_context(Quorum())
        proxies = [stack.enter_context(Proxy(server.port)) for server in quorum.servers]
        agent = stack.enter_context(Agent())
        url = "quorum:" + ",".join(proxy.url for proxy in proxies)
        status(agent("open", "c", url, max_ttl_ms=MAX_TTL_MS, command_timeout_ms=timeout_ms,
                     connect_timeout_ms=timeout_ms), "OK")
        for number in range(6):
            released(agent, locked(agent, **LONG))  # all nodes can be asked again
            for proxy in proxies:
                proxy.lose_answers_of_open()
            unheard = agent.ask("try", "c", f"unheard{number}", **LONG)
            assert eventually(lambda: quorum.held_on(f"unheard{number}") == 5)
            began = time.monotonic()
            assert eventually(lambda: quorum.held_on(f"unheard{number}") == 0), "it was left behind"
            slowest_ms = max(slowest_ms, 1000 * (time.monotonic() - began))
            status(unheard.result(), "IN_DOUBT", "NO_QUORUM")
    assert slowest_ms <= (2 * timeout_ms + round_trip_ms) * SLOW, slowest_ms
    return f"6 grants, the slowest free after {slowest_ms:.0f} ms, with a time-out of {timeout_ms} ms"


@test
def a_loss_is_told_before_anybody_else_can_hold_the_key():
    with Quorum(proxied=True) as quorum, Agent() as cut_off, Agent() as other:
        opened(cut_off, quorum, client_name="cut-off")
        opened(other, quorum, client_name="other")
        lock = locked(cut_off, "lost")
        told = cut_off.ask("wait_lost", "c", lock.lock, wait_ms=20000)
        assert eventually(lambda: quorum.held_on("lost") == 5)
        for number in range(5):
            quorum.board.cut("cut-off", number)
        status(other("acquire", "c", "lost", wait_ms=20000), "OK")
        status(cut_off("is_held", "c", lock.lock), "LOST")
        status(told.result(1), "LOST")
        assert eventually(lambda: cut_off("told", "c").lost == 1)
        status(cut_off("release", "c", lock.lock), "LOST")


@test
def an_open_succeeds_without_some_nodes_and_names_them():
    with Quorum() as quorum, Agent() as agent:
        quorum[3].kill()
        with quorum[0].paused():
            answer = status(agent("open", "c", quorum.url, max_ttl_ms=MAX_TTL_MS), "OK")
            for number in range(5):
                same(str(quorum[number].port) in answer.message, number in (0, 3))
            released(agent, locked(agent))


@test
def the_same_server_twice_is_refused_however_it_is_named():
    with Quorum(3) as quorum:
        answered(f"quorum:{quorum[0].url},{quorum[1].url},{quorum[0].url}", "INVALID_ARGUMENT", "are the same")
        again = quorum[0].url.replace("127.0.0.1", "localhost")
        answered(f"quorum:{quorum[0].url},{quorum[1].url},{again}", "INVALID_ARGUMENT", "the same server as")
        again = quorum[0].unix_url
        answered(f"quorum:{quorum[0].url},{quorum[1].url},{again}", "INVALID_ARGUMENT", "the same server as")


@test
def a_replica_an_evicting_server_and_a_node_of_another_quorum_are_refused():
    with Quorum(3) as quorum, Quorum(3) as other, Server() as spare:
        two = f"{quorum[0].url},{quorum[1].url}"
        answered(f"quorum:{two},{other[0].url}", "INVALID_ARGUMENT", "it belongs to another quorum")
        answered(f"quorum:{quorum[0].url},{spare.url},{other[0].url}", "INVALID_ARGUMENT", "it is no node of")
        answered(f"quorum:{two},{spare.url}", "OK", f"{spare.url}: it is no node of the quorum's configuration")
        for number in (1, 2):
            quorum[number].call("REPLICAOF", "127.0.0.1", 1)
        answered(quorum.url, "READ_ONLY", "replica")
        for number in (1, 2):
            quorum[number].call("REPLICAOF", "NO", "ONE")
            evict(quorum[number])
        answered(quorum.url, "INVALID_ARGUMENT", "noeviction")


def evict(server):
    server.call("CONFIG", "SET", "maxmemory", "100mb")
    server.call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")


def want_a_password(server):
    server.call("CONFIG", "SET", "requirepass", "another")


@test
def an_open_succeeds_without_a_node_that_answers_and_gives_no_vote_and_says_why():
    for bend, says in ((lambda server: server.call("REPLICAOF", "127.0.0.1", 1), "replica"), (evict, "noeviction"),
                       (want_a_password, "NOAUTH")):
        with Quorum(3) as quorum, Agent() as agent:
            bend(quorum[1])
            answer = status(agent("open", "c", quorum.url, max_ttl_ms=MAX_TTL_MS), "OK")
            assert says in answer.message and str(quorum[1].port) in answer.message, answer
            assert states(agent) == ["UP", "REFUSED", "UP"], states(agent)
            released(agent, locked(agent))
    with Quorum(3) as quorum, Rubbish(b"HTTP/1.1 400 Bad Request\r\n\r\n") as stranger, Agent() as agent:
        url = quorum.url.replace(str(quorum[1].port), str(stranger.port))
        answer = status(agent("open", "c", url, max_ttl_ms=MAX_TTL_MS), "OK")
        assert str(stranger.port) in answer.message, answer
        released(agent, locked(agent))


def states(agent):
    return agent("quorum_status", "c").states.split(",")


@test
def a_node_that_begins_to_evict_is_refused_from_its_next_connection_on_until_it_stops():
    with Quorum(3) as quorum, Agent() as agent:
        opened(agent, quorum)
        evict(quorum[1])
        released(agent, locked(agent))
        same(states(agent), ["UP", "UP", "UP"])
        quorum[1].call("CLIENT", "KILL", "TYPE", "normal")
        assert eventually(lambda: states(agent) == ["UP", "REFUSED", "UP"]), states(agent)
        released(agent, locked(agent))
        with quorum[0].paused():
            answer = status(agent("try", "c", "k"), "IN_DOUBT")
            assert "noeviction" in answer.message, answer
        quorum[1].call("CONFIG", "SET", "maxmemory-policy", "noeviction")
        assert eventually(lambda: states(agent) == ["UP", "UP", "UP"]), states(agent)
        calls = quorum[1].script_calls()
        released(agent, locked(agent))
        assert eventually(lambda: quorum[1].script_calls() > calls), "it is not asked"


@test
def a_node_without_memory_or_with_an_endless_script_is_done_without():
    with Quorum(3) as quorum, Agent() as agent:
        opened(agent, quorum)
        quorum[1].call("CONFIG", "SET", "maxmemory", 1000)
        lock = locked(agent, "one")
        same(quorum.held_on("one"), 2)
        quorum[1].call("CONFIG", "SET", "maxmemory", 0)
        assert eventually(lambda: quorum.held_on("one") == 3), "it was not written anew"
        released(agent, lock)
        with contextlib.ExitStack() as stack:
            stack.callback(quorum[2].keep_busy())
            assert eventually(quorum[2].is_busy)
            released(agent, locked(agent, "two"))
        assert eventually(lambda: states(agent) == ["UP", "UP", "UP"]), states(agent)


@test
def a_wrong_password_is_refused_without_being_shown():
    with Quorum(3, "--requirepass", "right", founded=False) as quorum:
        with_password = "quorum:" + ",".join(s.url.replace("//", "//:right@") for s in quorum.servers)
        found(with_password)
        answered(with_password.replace("right", "s3cr3t", 1), "OK", "it refused user or password")
        answered(with_password.replace("right", "s3cr3t"), "AUTH", "it refused user or password")
        with Agent() as agent:
            status(agent("open", "c", quorum.url, password="right", max_ttl_ms=MAX_TTL_MS), "OK")
            released(agent, locked(agent))


@test
def a_cluster_that_nobody_founded_says_for_how_long_it_is_silent_and_what_helps():
    with Quorum(founded=False) as quorum, Agent() as agent:
        answer = status(agent("open", "c", quorum.url, max_ttl_ms=MAX_TTL_MS), "OK")
        for word in ("5 of 5 nodes do not vote yet", " ms", "liblock_quorum_init"):
            assert word in answer.message, answer
        answer = status(agent("try", "c", "k"), "QUARANTINED")
        left = int(answer.message.split("that ends in ")[1].split(" ms")[0])
        assert 0 < left <= MAX_TTL_MS * 1.01, answer
        lock = locked(agent, wait_ms=10000)
        assert lock.seconds * 1000 >= left * 0.9 or left < 100, (lock, left)
        released(agent, lock)


@test
def a_quorum_is_founded_once_and_again_by_force_only():
    with Quorum(3) as quorum, Agent() as agent:
        opened(agent, quorum)
        released(agent, locked(agent))
        answer = status(agent("quorum_init", "c"), "NODES_MISMATCH")
        assert "FORCE" in answer.message, answer
        status(agent("quorum_init", "c", force=1), "OK")
        released(agent, locked(agent))
    with Quorum(3, founded=False) as quorum, Agent() as agent:
        quorum[2].kill()
        opened(agent, quorum)
        answer = status(agent("quorum_init", "c"), "NO_QUORUM")
        assert str(quorum[2].port) in answer.message, answer


if __name__ == "__main__":
    main()
