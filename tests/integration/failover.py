#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Another server takes the place of a master: one that has the locks or has not, and one whose former master lives on
as its replica. Each is looked at through a proxy, which stands for a name that leads to whoever is the master."""
import time

from harness import Agent, Server, eventually, main, same, status, test
from networks import Proxy


def opened(agent, url, name="c", **options):
    status(agent("open", name, url, **options), "OK")
    return agent


def follows(replica, master):
    """Becomes a replica, and has what its master has."""
    replica.call("REPLICAOF", "127.0.0.1", master.port)
    assert eventually(lambda: b"master_link_status:up" in replica.call("INFO", "replication"), 20)


def fail_over(keeps_data):
    """The lock's status after a replica was promoted in the place of its server."""
    with Server() as server, Server() as replica, Proxy(server.port) as proxy, Agent() as agent:
        if keeps_data:
            follows(replica, server)
        opened(agent, proxy.url)
        lock = status(agent("acquire", "c", "promoted", ttl_ms=3000, renew=1), "OK")
        if keeps_data:
            assert eventually(lambda: replica.call("EXISTS", "liblock:promoted") == 1)
            replica.call("REPLICAOF", "NO", "ONE")
        server.kill()
        proxy.target_port = replica.port
        proxy.reset_all()
        assert eventually(lambda: agent("told", "c").server_changed == 1)
        time.sleep(0.2)
        held = agent("is_held", "c", lock.lock).status
        if keeps_data:
            time.sleep(3)  # and goes on being renewed there
            same(agent("is_held", "c", lock.lock).status, held)
        assert eventually(lambda: agent("told", "c").lost == (0 if keeps_data else 1))
        return held


@test
def a_promoted_replica_that_has_the_key_keeps_the_lock():
    same(fail_over(True), "OK")


@test
def a_promoted_replica_without_the_key_has_lost_the_lock():
    same(fail_over(False), "LOST")


def planned_failover(is_idle):
    """Who had the key when its holder went, of one who waited at the old master, which lives on as a replica and passes
    on what is published at the new one, and one who came behind."""
    queue, entries = "ll1:q:{liblock:k}", "ll1:e:{liblock:k}"
    with Server() as old, Server() as new, Proxy(old.port) as proxy, Agent() as waiter, Agent() as other:
        follows(new, old)
        opened(waiter, proxy.url, client_name="waiter")
        opened(other, old.url, name="holder")
        status(other("acquire", "holder", "k", ttl_ms=600000), "OK")
        waiting = waiter.ask("acquire", "c", "k", retry_interval_ms=60000)
        # That he hears messages is known there: before, a key is given to him whether he hears of it or not.
        assert eventually(lambda: any(heard.endswith(b"|1") for heard in new.call("HVALS", entries)))
        proxy.target_port = new.port
        new.call("REPLICAOF", "NO", "ONE")
        follows(old, new)
        if not is_idle:
            assert eventually(lambda: waiter("try", "c", "poke").status == "OK"), "it does not come to the new master"
            assert eventually(lambda: len(new.call("PUBSUB", "CHANNELS", "ll1:i:*")) == 1), "it listens to the old one"
        opened(other, new.url)
        behind = other.ask("acquire", "c", "k")
        assert eventually(lambda: new.call("ZCARD", queue) == 2)
        come = []  # on a slow machine it does so in the meantime

        def somebody_has_it():
            come.append(b"name=waiter" in new.call("CLIENT", "LIST"))
            return waiting.is_settled or behind.is_settled
        somebody_has_it()
        status(other("force", "c", "k"), "OK")
        assert eventually(somebody_has_it)
        has_come = any(come)
        time.sleep(0.5)
        first = (waiting.is_settled, behind.is_settled)
        asked = [(waiter, waiting), (other, behind)] if waiting.is_settled else [(other, behind), (waiter, waiting)]
        tokens = []
        for agent, reply in asked:
            tokens.append(status(reply.result(), "OK").token)
            status(agent("release", "c", reply.lock), "OK")
        assert tokens[0] < tokens[1], tokens
        return first, has_come


@test
def one_who_has_come_to_the_new_master_hears_of_his_grant_there_after_a_planned_failover():
    same(planned_failover(False)[0], (True, False))


@test
def one_who_still_stands_at_the_old_master_does_not_take_a_word_that_is_passed_on_there_for_a_grant():
    first, has_come = planned_failover(True)
    assert has_come or first == (False, True), first


@test
def a_holder_whose_messages_come_from_the_new_master_follows_there_also_where_he_asks_nothing():
    with Server() as old, Server() as new, Proxy(old.port) as proxy, Agent() as agent:
        follows(new, old)
        opened(agent, proxy.url, zombie_interval_ms=-1)
        lock = status(agent("acquire", "c", "k", ttl_ms=600000), "OK").lock
        assert eventually(lambda: len(old.call("PUBSUB", "CHANNELS", "ll1:i:*")) == 1)
        assert eventually(lambda: new.call("EXISTS", "liblock:k") == 1)
        proxy.target_port = new.port
        new.call("REPLICAOF", "NO", "ONE")
        follows(old, new)
        old.call("CLIENT", "KILL", "TYPE", "pubsub")
        assert eventually(lambda: len(new.call("PUBSUB", "CHANNELS", "ll1:i:*")) == 1, 1), "nothing comes there"
        status(agent("is_held", "c", lock), "OK")


if __name__ == "__main__":
    main()
