#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the network and the server's operator do to locks: requests that arrive late, replies that never do, servers
that are replaced, certificates that are wrong, users that may do little. And what is told of it."""
import socket
import time

from certificates import Certificates
from harness import SLOW, Agent, Server, eventually, main, recipe, same, status, test
from networks import Proxy

SECRET = "s3cr3t-%-word"
FORKS_TAKE_MS = 240000  # where all of those that may hang do (forking.h)
# Who waits like this looks for himself every ten seconds only.
DEAF = {"alive_ms": 120000}
PATIENT = {"ttl_ms": 60000, "min_remaining_ms": 30000, "retry_interval_ms": 60000}


def opened(agent, url, name="c", **options):
    status(agent("open", name, url, **options), "OK")
    return agent


def warm(server):
    """The server knows the scripts: a request of one word carries them out."""
    with Agent() as agent:
        opened(agent, server.url)
        status(agent("release", "c", status(agent("try", "c", "warm"), "OK").lock), "OK")


@test
def a_request_that_arrives_after_it_was_given_up_leaves_no_lock_behind():
    with Server() as server, Proxy(server.port) as proxy, Agent() as agent:
        warm(server)
        opened(agent, proxy.url, command_timeout_ms=300, connect_timeout_ms=300)
        status(agent("ping", "c"), "OK")
        proxy.hold = True
        status(agent("try", "c", "late", ttl_ms=60000), "IN_DOUBT")
        proxy.drop_clients()
        assert eventually(lambda: agent("told", "c").disconnected >= 1)
        proxy.let_go()  # the server carries the request out now, on a connection that nobody has any more
        assert eventually(lambda: server.call("EXISTS", "ll1:f:{liblock:late}") == 1), "the request did not arrive"
        assert eventually(lambda: server.call("EXISTS", "liblock:late") == 0, 3), "it left a lock behind"
        status(agent("release", "c", status(agent("try", "c", "late"), "OK").lock), "OK")


@test
def a_request_that_arrives_after_its_undoing_was_answered_leaves_no_lock_behind():
    with Server() as server, Proxy(server.port) as proxy, Agent() as agent:
        warm(server)
        opened(agent, proxy.url, command_timeout_ms=1000)
        status(agent("ping", "c"), "OK")
        proxy.hold_open()
        calls = server.script_calls()
        status(agent("try", "c", "late", ttl_ms=60000), "IN_DOUBT")
        assert eventually(lambda: server.script_calls() > calls), "it was not undone over another connection"
        same(server.call("EXISTS", "liblock:late"), 0)
        proxy.let_go()
        assert eventually(lambda: server.call("EXISTS", "ll1:f:{liblock:late}") == 1), "the request did not arrive"
        assert eventually(lambda: server.call("EXISTS", "liblock:late") == 0, 3), "it left a lock behind"


@test
def a_request_that_arrives_later_than_its_time_is_refused():
    with Server() as server, Proxy(server.port) as proxy, Agent() as agent:
        warm(server)
        timeout_ms = int(200 * SLOW)
        opened(agent, proxy.url, command_timeout_ms=timeout_ms, connect_timeout_ms=timeout_ms)
        status(agent("ping", "c"), "OK")
        proxy.hold = True
        status(agent("try", "c", "stale", ttl_ms=60000), "IN_DOUBT")
        proxy.drop_clients()
        time.sleep(3.5 * timeout_ms / 1000)  # past twice the command time-out
        calls = server.script_calls()
        proxy.let_go()
        assert eventually(lambda: server.script_calls() > calls)
        same(server.call("EXISTS", "liblock:stale"), 0)
        same(server.call("EXISTS", "ll1:f:{liblock:stale}"), 0)  # not even for a moment


@test
def a_lost_reply_is_undone_before_the_next_attempt():
    with Server() as server, Proxy(server.port) as proxy, Agent() as agent:
        opened(agent, proxy.url)
        status(agent("release", "c", status(agent("try", "c", "warm"), "OK").lock), "OK")
        proxy.cut_after["down"] = 1
        lock = status(agent("acquire", "c", "lost", ttl_ms=60000), "OK")
        assert lock.seconds < SLOW, lock  # its own first attempt did not stand in the way
        status(agent("release", "c", lock.lock), "OK")
        same(server.call("EXISTS", "liblock:lost"), 0)


def seconds_it_stands(server, key):
    """From when the server has granted it until it is free."""
    assert eventually(lambda: server.call("EXISTS", key) == 1), "it was not granted"
    began = time.monotonic()
    assert eventually(lambda: server.call("EXISTS", key) == 0), "it was left behind"
    return time.monotonic() - began


@test
def a_grant_that_nobody_heard_of_is_free_within_two_time_outs_and_a_round_trip():
    timeout_ms, round_trip_ms, slowest_ms = 400, 50, 0
    with Server() as server, Proxy(server.port) as proxy, Agent() as agent:
        warm(server)
        opened(agent, proxy.url, command_timeout_ms=timeout_ms, connect_timeout_ms=timeout_ms)
        for number in range(10):
            status(agent("ping", "c"), "OK")
            proxy.lose_answers_of_open()
            unheard = agent.ask("try", "c", f"unheard{number}", ttl_ms=60000)
            slowest_ms = max(slowest_ms, 1000 * seconds_it_stands(server, f"liblock:unheard{number}"))
            status(unheard.result(), "IN_DOUBT")
    assert slowest_ms <= (2 * timeout_ms + round_trip_ms) * SLOW, slowest_ms
    return f"10 grants, the slowest free after {slowest_ms:.0f} ms, with a time-out of {timeout_ms} ms"


@test
def a_grant_that_nobody_heard_of_ends_with_its_first_lease_where_the_server_cannot_be_reached():
    first_lease_ms = 3000
    with Server() as server, Proxy(server.port) as proxy, Agent() as agent:
        warm(server)
        opened(agent, proxy.url, command_timeout_ms=200, connect_timeout_ms=200)
        status(agent("ping", "c"), "OK")
        proxy.lose_answers_of_open()
        proxy.refuse = True  # no other connection either
        unheard = agent.ask("try", "c", "unheard", ttl_ms=60000, renew=1)
        stood_ms = 1000 * seconds_it_stands(server, "liblock:unheard")
        status(unheard.result(), "IN_DOUBT")
    assert first_lease_ms / 2 < stood_ms <= (first_lease_ms + 500) * SLOW, stood_ms


@test
def a_release_in_doubt_goes_on_and_its_end_is_told():
    with Server() as server, Proxy(server.port) as proxy, Agent() as agent:
        opened(agent, proxy.url, command_timeout_ms=300, connect_timeout_ms=300)
        lock = status(agent("acquire", "c", "doubt", ttl_ms=60000), "OK")
        proxy.swallow["up"] = True
        status(agent("release", "c", lock.lock), "IN_DOUBT")
        status(agent("release", "c", lock.lock), "NOT_HELD")
        same(server.call("EXISTS", "liblock:doubt"), 1)
        same(agent("told", "c").doubt_ended, 0)
        proxy.heal()
        assert eventually(lambda: server.call("EXISTS", "liblock:doubt") == 0)
        assert eventually(lambda: agent("told", "c").doubt_ended == 1)


@test
def a_canceled_acquire_whose_answer_comes_late_is_undone():
    with Server() as server, Proxy(server.port) as proxy, Agent() as agent:
        warm(server)
        opened(agent, proxy.url)
        status(agent("ping", "c"), "OK")
        proxy.delay["down"] = 0.3
        canceled = agent.ask("async", "c", "cancel", ttl_ms=60000, cancel_after_ms=200)
        assert eventually(lambda: server.call("EXISTS", "liblock:cancel") == 1)  # granted, and nobody knows
        status(canceled.result(), "CANCELED")
        assert eventually(lambda: server.call("EXISTS", "liblock:cancel") == 0)


@test
def leases_are_kept_over_a_broken_connection():
    with Server() as server, Proxy(server.port) as proxy, Agent() as agent:
        opened(agent, proxy.url)
        lock = status(agent("acquire", "c", "kept", ttl_ms=1500, renew=1), "OK")
        for _ in range(4):
            proxy.reset_all()
            time.sleep(0.5)
        status(agent("is_held", "c", lock.lock), "OK")
        status(agent("release", "c", lock.lock), "OK")


@test
def a_holder_that_cannot_renew_knows_in_time_that_it_lost():
    with Server() as server, Proxy(server.port) as proxy, Agent() as agent, Agent() as other:
        opened(agent, proxy.url, command_timeout_ms=int(200 * SLOW))
        opened(other, server.url)
        lock = status(agent("acquire", "c", "cutoff", ttl_ms=int(800 * SLOW), renew=1), "OK")
        proxy.refuse = True
        proxy.reset_all()
        waiting = other.ask("acquire", "c", "cutoff")
        status(agent("wait_lost", "c", lock.lock, wait_ms=int(5000 * SLOW)), "LOST")
        lost_at = time.monotonic()
        status(waiting.result(), "OK")
        assert waiting.began + waiting.seconds > lost_at - 0.05 * SLOW  # nobody else had it while we believed in it
        assert eventually(lambda: agent("told", "c").lost == 1)
        proxy.heal()
        status(agent("release", "c", lock.lock), "LOST")
        status(other("verify", "c", waiting.lock), "OK")


@test
def a_waiter_survives_a_restart_of_the_server():
    with Server() as server, Agent() as agent, Agent() as holder:
        opened(agent, server.url)
        opened(holder, server.url)
        status(holder("acquire", "c", "restart"), "OK")
        waiting = agent.ask("acquire", "c", "restart")
        assert eventually(lambda: server.call("ZCARD", "ll1:q:{liblock:restart}") == 1)
        server.restart()  # empty: the holder's lock is gone
        status(waiting.result(), "OK")
        assert waiting.seconds < 5


@test
def a_release_is_noticed_though_the_connection_for_messages_broke():
    with Server() as server, Agent() as agent, Agent() as holder:
        opened(agent, server.url, **DEAF)
        opened(holder, server.url)
        lock = status(holder("acquire", "c", "silent", ttl_ms=60000), "OK")
        waiting = agent.ask("acquire", "c", "silent", **PATIENT)
        assert eventually(lambda: server.call("ZCARD", "ll1:q:{liblock:silent}") == 1)
        server.call("CLIENT", "KILL", "TYPE", "pubsub")
        status(holder("release", "c", lock.lock), "OK")
        status(waiting.result(), "OK")
        assert waiting.seconds < 5 * SLOW, waiting


@test
def replicas_are_waited_for_and_counted():
    with Server() as server, Server() as replica, Agent() as agent:
        opened(agent, server.url)
        none = status(agent("acquire", "c", "alone", replicas=1, replicas_timeout_ms=100), "OK")
        same((none.replicas, none.flags & 8), (0, 8))
        replica.call("REPLICAOF", "127.0.0.1", server.port)
        assert eventually(lambda: b"master_link_status:up" in replica.call("INFO", "replication"), 20)
        one = status(agent("acquire", "c", "durable", replicas=1, replicas_timeout_ms=2000), "OK")
        same((one.replicas, one.flags & 8), (1, 0))
        same(replica.call("EXISTS", "liblock:durable"), 1)
        slow = agent.ask("acquire", "c", "two", replicas=2, replicas_timeout_ms=2000)
        assert eventually(lambda: server.call("EXISTS", "liblock:two") == 1)
        quick = status(agent("acquire", "c", "beside"), "OK")
        assert quick.seconds < 1.5 and not slow.is_settled, quick  # what waits for replicas holds nobody up
        same((status(slow.result(), "OK").replicas, slow.flags & 8), (1, 8))


@test
def a_server_that_may_evict_is_told_once():
    with Server("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru") as server, Agent() as agent:
        opened(agent, server.url)
        status(agent("ping", "c"), "OK")
        assert eventually(lambda: agent("told", "c").may_evict == 1)
        server.call("CLIENT", "KILL", "TYPE", "normal")
        status(agent("release", "c", status(agent("acquire", "c", "k"), "OK").lock), "OK")
        same(agent("told", "c").may_evict, 1)


@test
def a_child_of_a_fork_is_told_so_and_the_parent_goes_on():
    with Server() as server, Agent() as agent:
        opened(agent, server.url)
        lock = status(agent("acquire", "c", "forked"), "OK")
        waiting = agent.ask("acquire", "c", "forked", wait_ms=FORKS_TAKE_MS)
        time.sleep(0.1)
        same(agent("fork", "c", lock.lock).child, 0)
        status(agent("verify", "c", lock.lock), "OK")
        status(agent("release", "c", lock.lock), "OK")
        status(waiting.result(), "OK")


def over_tls(server, agent):
    own = {"url": f"rediss://localhost:{server.tls_port}/0", "tls_ca_file": str(CERTIFICATES.path / "ca.crt")}
    opened(agent, **own)
    return own


@test
def a_child_of_a_fork_has_no_part_in_the_tls_of_its_parent_who_goes_on_with_it():
    with Server(tls=CERTIFICATES.signed("forking", "localhost")) as server, Agent() as agent:
        own = over_tls(server, agent)
        lock = status(agent("acquire", "c", "forked"), "OK")
        waiting = agent.ask("acquire", "c", "forked", wait_ms=FORKS_TAKE_MS)
        time.sleep(0.1)
        connected = agent("told", "c").connected
        for with_own in ({}, own):
            same(agent("fork", "c", lock.lock, **with_own).child, 0)
            status(agent("verify", "c", lock.lock), "OK")
        status(agent("release", "c", lock.lock), "OK")
        status(waiting.result(), "OK")
        told = agent("told", "c")
        same((told.connected, told.disconnected), (connected, 0))  # over the same connections


def identities(server, who):
    """By which attempts its locks are held, in their order, and by which instance."""
    records = [server.call("GET", f"liblock:{who}{number}").split(b"|") for number in range(20)]
    return b"".join(record[1] for record in records), records[0][5]


@test
def no_identity_of_the_child_of_a_fork_has_random_numbers_of_its_parent():
    with Server(tls=CERTIFICATES.signed("alike", "localhost")) as server, Agent() as agent:
        own = over_tls(server, agent)
        lock = status(agent("acquire", "c", "parent0", ttl_ms=60000), "OK")  # has got some for the next ones
        same(agent("fork", "c", lock.lock, **own).child, 0)
        for number in range(1, 20):
            status(agent("acquire", "c", f"parent{number}", ttl_ms=60000), "OK")
        (ours, parent), (theirs, child) = (identities(server, who) for who in ("parent", "child"))
        assert parent != child
        same([at for at in range(len(ours) - 15) if ours[at:at + 16] in theirs], [])  # eight bytes, wherever


@test
def every_kind_of_address_leads_to_the_server():
    with Server() as server, Agent() as agent:
        opened(agent, server.unix_url, name="unix")
        opened(agent, f"redis://localhost:{server.port}", name="name")
        opened(agent, f"redis://127.0.0.1:{server.port}/3", name="db")
        lock = status(agent("acquire", "unix", "k"), "OK")
        status(agent("try", "name", "k"), "BUSY")
        status(agent("try", "db", "k"), "OK")
        status(agent("release", "unix", lock.lock), "OK")
    if socket.has_ipv6:
        with Server("--bind", "::1", "127.0.0.1") as server, Agent() as agent:
            opened(agent, f"redis://[::1]:{server.port}/0")
            status(agent("ping", "c"), "OK")


@test
def a_connection_has_the_name_that_was_asked_for():
    with Server() as server, Agent() as agent:
        for name, options in (("mine", {"client_name": "mine"}), ("liblock", {})):
            opened(agent, server.url, name=name, **options)
            status(agent("ping", name), "OK")
            assert f" name={name} ".encode() in server.call("CLIENT", "LIST"), name


@test
def credentials_open_the_door_and_are_never_told():
    with Server() as server, Agent() as agent:
        server.call("ACL", "SETUSER", "locker", "on", ">" + SECRET, "~*", "&*", "+@all")
        server.call("ACL", "SETUSER", "default", "off")
        server.user = ("locker", SECRET)
        escaped = SECRET.replace("%", "%25")
        host = f"127.0.0.1:{server.port}"
        opened(agent, f"redis://locker:{escaped}@{host}", name="url")
        opened(agent, f"redis://{host}", name="options", username="locker", password=SECRET)
        opened(agent, f"redis://locker:wrong{escaped}@{host}", name="wrong")
        opened(agent, f"redis://{host}", name="nobody")
        told = [agent("ping", name) for name in ("url", "options", "wrong", "nobody")]
        same([t.status for t in told], ["OK", "OK", "AUTH", "AUTH"])
        told.append(status(agent("open", "x", f"redis://locker:{SECRET}@{host}"), "INVALID_ARGUMENT"))
        told.append(status(agent("open", "x", f"redis://locker:{escaped}@"), "INVALID_ARGUMENT"))
        for answer in told:
            assert "s3cr3t" not in answer.message, answer


LOCKING = recipe()


def user_with(server, *rules, name="lk"):
    server.call("ACL", "SETUSER", name, "reset", "on", ">pw", *rules)
    return f"redis://{name}:pw@127.0.0.1:{server.port}/1"


def listed(server):
    return server.call("EVAL", "redis.call('SELECT', 1) return redis.call('ZCARD', KEYS[1])", 1, "ll1:n:{liblock:}")


@test
def the_recipe_for_locking_allows_every_call_but_scanning():
    with Server() as server, Agent() as agent:
        opened(agent, user_with(server, *LOCKING), name="c", zombie_interval_ms=100)
        opened(agent, user_with(server, *LOCKING), name="d", zombie_interval_ms=100, **DEAF)
        lock = status(agent("acquire", "c", "acl", value="v", ttl_ms=60000, replicas=1, replicas_timeout_ms=10), "OK")
        waiting = agent.ask("acquire", "d", "acl", **PATIENT)
        for verb, options in (("extend", {"ttl_ms": 60000}), ("update", {"value": "w"}), ("verify", {})):
            status(agent(verb, "c", lock.lock, **options), "OK")
        status(agent("inspect", "d", "acl"), "OK")
        time.sleep(0.1)
        status(agent("release", "c", lock.lock), "OK")
        status(waiting.result(), "OK")
        assert waiting.seconds < 5 * SLOW, waiting  # a message came, not the poll
        status(agent("force", "c", "acl", drop=1), "OK")
        status(agent("many", "c", "a1,a2"), "OK")
        assert eventually(lambda: listed(server) == 2), "there was no sign of life"
        status(agent("close", "d"), "OK")
        same(listed(server), 1)
        refused = server.call("ACL", "LOG")
        same(refused, [])


@test
def the_recipe_for_administration_lists_and_clears_page_after_page():
    with Server() as server, Agent() as agent:
        opened(agent, user_with(server, *LOCKING), name="c")
        opened(agent, user_with(server, *LOCKING, "+scan", name="boss"), name="admin")
        held = [agent.ask("acquire", "c", f"page-{i}", ttl_ms=60000) for i in range(700)]
        locks = [status(reply.result(), "OK").lock for reply in held]
        status(agent("list", "c"), "AUTH")
        same(status(agent("list", "admin"), "OK").count, 700)
        same(agent("list", "admin", key_prefix="page-69").count, 11)
        server.call("EVAL", "redis.call('SELECT', 1) redis.call('ZADD', KEYS[1], 1, 'id') "
                    "redis.call('HSET', KEYS[2], 'id', '1|1|3000|0|0|gone|gone/1/o|')", 2, "ll1:q:{liblock:page-1}",
                    "ll1:e:{liblock:page-1}")
        same(agent("list", "admin", what=2).keys, 701)
        same(status(agent("clear", "admin"), "OK").count, 700)
        same(agent("list", "admin").count, 0)
        status(agent("verify", "c", locks[0]), "LOST")
        status(agent("clear", "admin", dead=1), "OK")
        same(server.call("ACL", "LOG", "RESET"), b"OK")


@test
def who_may_not_search_leaves_the_dead_to_one_who_may():
    quick = {"zombie_interval_ms": 100, "alive_ms": 100, "name": "c"}
    with Server() as server, Agent() as locker, Agent() as boss:
        victim = Agent()
        opened(locker, user_with(server, *LOCKING), **quick)
        opened(victim, user_with(server, *LOCKING), **quick)
        status(locker("acquire", "c", "own", ttl_ms=600000), "OK")
        status(victim("acquire", "c", "left", ttl_ms=600000), "OK")
        assert eventually(lambda: listed(server) == 2)
        victim.kill()
        assert eventually(lambda: server.call("ACL", "LOG") != []), "the locker did not try"
        status(locker("inspect", "c", "left"), "OK")
        opened(boss, user_with(server, *LOCKING, "+scan", name="boss"), **quick)
        status(boss("ping", "c"), "OK")
        assert eventually(lambda: locker("inspect", "c", "left").status == "NOT_HELD", 10 * SLOW), "nobody did it"


@test
def a_user_without_a_right_is_refused_and_told_which():
    with Server() as server, Agent() as agent:
        opened(agent, user_with(server, *LOCKING, "-evalsha", "-eval"))
        answer = status(agent("try", "c", "k"), "AUTH")
        assert "'eval'" in answer.message and "operations.md" in answer.message, answer
        opened(agent, user_with(server, *LOCKING, "resetkeys", "~other:*"), name="d")
        status(agent("try", "d", "k"), "AUTH")


CERTIFICATES = None


def refused(tls, wanted, **options):
    with Server(tls=tls) as server, Agent() as agent:
        opened(agent, f"rediss://localhost:{server.tls_port}/0", tls_ca_file=tls["ca"], **options)
        answer = status(agent("ping", "c"), "CONNECT")
        assert wanted in answer.message, answer
        status(agent("try", "c", "k"), "CONNECT")


@test
def tls_carries_locks_when_the_certificate_is_right():
    tls = CERTIFICATES.signed("good", "localhost")
    with Server(tls=tls) as server, Agent() as agent:
        url = f"rediss://localhost:{server.tls_port}/0"
        opened(agent, url, tls_ca_file=tls["ca"])
        opened(agent, url, name="insecure", tls_insecure=1)
        opened(agent, f"rediss://127.0.0.1:{server.tls_port}/0", name="named", tls_ca_file=tls["ca"],
               tls_server_name="localhost")
        lock = status(agent("acquire", "c", "tls"), "OK")
        status(agent("try", "insecure", "tls"), "BUSY")
        waiting = agent.ask("acquire", "named", "tls")
        time.sleep(0.1)
        status(agent("release", "c", lock.lock), "OK")
        status(waiting.result(), "OK")


@test
def tls_refuses_a_wrong_name_an_expired_and_an_unknown_certificate():
    refused(CERTIFICATES.signed("wrong", "example.org"), "name")
    refused(CERTIFICATES.signed("old", "localhost", days=0), "expired")
    refused(CERTIFICATES.signed("strange", "localhost", by="stranger"), "")
    alone = {"certificate": str(CERTIFICATES.path / "stranger.crt"), "key": str(CERTIFICATES.path / "stranger.key"),
             "ca": str(CERTIFICATES.path / "ca.crt")}
    refused(alone, "self-signed")


@test
def tls_shows_a_client_certificate_where_one_is_wanted():
    tls = dict(CERTIFICATES.signed("strict", "localhost"), clients="yes")
    ours = CERTIFICATES.signed("client", "client")
    with Server(tls=tls) as server, Agent() as agent:
        url = f"rediss://localhost:{server.tls_port}/0"
        opened(agent, url, tls_ca_file=tls["ca"], tls_certificate_file=ours["certificate"], tls_key_file=ours["key"])
        status(agent("release", "c", status(agent("acquire", "c", "k"), "OK").lock), "OK")
        opened(agent, url, name="bare", tls_ca_file=tls["ca"])
        status(agent("try", "bare", "k"), "CONNECT", "IN_DOUBT")
        missing = agent("open", "x", url, tls_ca_file=tls["ca"] + ".not")
        status(missing, "INVALID_ARGUMENT")
        assert missing.message


@test
def tls_never_falls_back_to_plain():
    with Server() as server, Agent() as agent:
        opened(agent, f"rediss://:{SECRET.replace('%', '%25')}@localhost:{server.port}/0", connect_timeout_ms=300)
        status(agent("try", "c", "k"), "CONNECT")
        same(server.call("EXISTS", "liblock:k"), 0)
        assert "s3cr3t" not in (server.directory / "log").read_text(errors="replace")


if __name__ == "__main__":
    CERTIFICATES = Certificates()
    main()
