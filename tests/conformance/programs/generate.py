#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random programs as scenarios of the conformance format, with what each step must tell as model.py has it. Runners of
all languages are given the same files, so that each is compared with the model and thereby with every other one.

A program asks in one thread, in an order in which nothing depends on how threads interleave: a grant is awaited as
soon as it is due, a queue is looked at before the next step depends on it. One owner never waits while it holds
anything, so that there are no deadlocks."""
import argparse
import json
import pathlib
import random

from model import Table

KEYS = ["a", "b", "c", "d"]
OWNERS = ["o1", "o2"]
ORDERS = {"local": ["FIFO", "FIFO", "LIFO", "PRIORITY"], "redis": ["FIFO", "FIFO", "PRIORITY"], "quorum": ["FIFO"]}
PER_FILE = 50


class Program:
    def __init__(self, seed, kind, steps):
        self.random = random.Random(f"{seed}/{kind}")
        self.kind, self.wanted = kind, steps
        self.table = Table(KEYS)
        self.steps, self.named = [], 0
        self.thread_waits = None  # the handle that a blocked thread will have
        self.has_expired = False

    # ------------------------------------------------------------------------------------------------ words ---

    def name(self, letter):
        self.named += 1
        return f"{letter}{self.named}"

    def add(self, verb, expect=None, **fields):
        step = {"do": verb, **{name: value for name, value in fields.items() if value is not None}}
        if expect:
            step["expect"] = expect
        self.steps.append(step)

    def pick(self, some):
        return self.random.choice(some) if some else None

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def owner(self):
        """Nobody, or an owner who is not waiting."""
        free = [None, None] + [one for one in OWNERS if not self.table.waits(one)]
        return self.pick(free)

    # ------------------------------------------------------------------------------------------------ steps ---

    def try_key(self):
        key, owner = self.pick(KEYS), self.owner()
        verb, options = self.pick([("try_acquire", None), ("acquire", {"wait_ms": 0}), ("acquire", {"retries": 0})])
        if not self.table.is_free(key) and not self.table.can_reenter(key, owner):
            return self.add(verb, {"status": "BUSY", "token": 0}, key=key, owner=owner, options=options)
        reenters = self.table.can_reenter(key, owner)
        handle = self.name("h")
        value = "" if reenters else self.pick(["", "", "one", "two"])
        if value:
            options = {**(options or {}), "value": value}
        first = self.table.holders[key].handles[0] if reenters else None
        lock = self.table.grant(handle, [key] if not reenters else self.table.holders[key].keys, owner, value)
        expect = {"hold_count": len(lock.handles), "flags": ["REENTERED"] if reenters else [],
                  "token": {"eq": first} if reenters else {"gt": 0}}
        self.add(verb, expect, key=key, owner=owner, options=options, **{"as": handle})

    def try_keys(self):
        keys = self.random.sample(KEYS, 2)
        if all(self.table.is_free(key) for key in keys):
            handle = self.name("m")
            self.table.grant(handle, keys)
            return self.add("acquire", keys=keys, options={"wait_ms": 0}, **{"as": handle})
        self.add("acquire", {"status": "BUSY"}, keys=keys, options={"wait_ms": 0})

    def ask(self):
        key = self.pick(KEYS)
        owner = self.pick([None, None] + [one for one in OWNERS
                                          if not self.table.holds(one) and not self.table.waits(one)])
        order = self.pick(ORDERS[self.kind])
        priority = self.random.randrange(-3, 4) * 1000
        request = self.name("r")
        options = {"order": order}
        if order == "PRIORITY":
            options["priority"] = priority
        if self.chance(30):
            options["wait_ms"] = 60_000
        self.add("acquire_async", key=key, owner=owner, options=options, **{"as": request})
        if self.table.is_free(key):
            self.table.grant(request, [key], owner, reports_loss=True)
            return self.add("await", ends=[{"request": request, "token": {"gt": 0}}])
        self.table.wait(request, key, owner, order, priority)
        self.await_queue(key)

    def await_queue(self, key):
        self.add("await_queue", key=key, waiters=len(self.table.waiters[key]))

    def block(self):
        """A thread that waits for a key, in the same queue."""
        key = self.pick([one for one in KEYS if not self.table.is_free(one)])
        if key is None or self.thread_waits is not None:
            return
        self.thread_waits = self.name("t")
        self.add("acquire", {"flags": {"has": ["WAITED"]}}, key=key, thread="t", background=True,
                 **{"as": self.thread_waits})
        self.table.wait(self.thread_waits, key, None, "FIFO", 0)
        self.await_queue(key)

    def time_out(self):
        key = self.pick([one for one in KEYS if not self.table.is_free(one)])
        if key is None:
            return
        wait_ms = self.random.randrange(1, 4)
        if self.chance(50):
            return self.add("acquire", {"status": "TIMEOUT", "waited_ms": {"ge": wait_ms}}, key=key,
                            options={"wait_ms": wait_ms})
        request = self.name("r")
        self.add("acquire_async", key=key, options={"wait_ms": wait_ms}, **{"as": request})
        self.add("await", ends=[{"request": request, "status": "TIMEOUT", "token": 0}])

    def cancel(self):
        waiter = self.pick([one for one in self.table.all_waiters() if one.request != self.thread_waits])
        if waiter is None:
            return
        self.table.cancel(waiter)
        self.add("cancel", request=waiter.request)
        self.add("await", ends=[{"request": waiter.request, "status": "CANCELED", "token": 0}])
        self.await_queue(waiter.key)
        self.add("cancel", {"status": "INVALID_HANDLE"}, request=waiter.request)

    def settle(self, granted, told=()):
        """Reads what a release, or what took a lock away, has caused: first the end of a thread, since a runner looks
        through its locks only while no step of another thread adds one."""
        if self.thread_waits in granted:
            self.add("finish", of="t")
            self.table.reports_loss.discard(self.thread_waits)
        ends = [{"kind": "LOST", "lock": handle, "status": "LOST"} for handle in told]
        ends += [{"request": request} for request in granted if request != self.thread_waits]
        if ends:
            self.add("await", ends=ends, any_order=True if len(ends) > 1 else None)
        if self.thread_waits in granted:
            self.thread_waits = None

    def release(self):
        handle = self.pick(self.table.held())
        if handle is None:
            return
        keys = self.table.locks[handle].keys
        self.add("release", lock=handle)
        granted = self.table.release(handle)
        if granted and self.thread_waits not in granted and self.chance(30):
            self.add("try_acquire", {"status": "BUSY"}, key=keys[0] if self.table.holders[keys[0]] else keys[-1])
        self.settle(granted)

    def release_lost(self):
        handle = self.pick(self.table.lost())
        if handle is None:
            return
        for verb, more in (("is_held", {}), ("extend", {"ttl_ms": 60_000}), ("update", {"value": "late"})):
            if self.chance(40):
                self.add(verb, {"status": "LOST"}, lock=handle, **more)
        self.table.release(handle)
        self.add("release", {"status": "LOST"}, lock=handle)

    def touch_released(self):
        handle = self.pick(self.table.released)
        if handle is not None:
            verb, more = self.pick([("release", {}), ("is_held", {}), ("update", {"value": "late"}),
                                    ("hold_count", {}), ("token", {})])
            self.add(verb, {"status": "NOT_HELD"}, lock=handle, **more)

    def take_away(self):
        key = self.pick(KEYS)
        if self.table.is_free(key):
            return self.add("force_release", {"status": "NOT_HELD", "flags": []}, key=key)
        flags = ["HAD_LOCK", "HAD_QUEUE"] if self.table.waiters[key] else ["HAD_LOCK"]
        told, granted = self.table.take_away(key)
        self.add("force_release", {"flags": {"has": flags}}, key=key)
        self.settle(granted, told)

    def release_by_key(self):
        """Of an owner who is not in the others' way."""
        owner = self.pick([one for one in OWNERS if not self.table.waits(one)])
        if owner is not None:
            key = "of " + owner
            self.add("try_acquire", key=key, owner=owner, **{"as": self.name("x")})
            self.add("release_keys", owner=owner, keys=[key])
            self.add("release_keys", {"status": "NOT_HELD"}, owner=owner, keys=[key])

    def look(self):
        handle, key = self.pick(self.table.held()), self.pick(KEYS)
        what = self.random.randrange(7)
        lock = self.table.locks.get(handle)
        if what == 0 and handle:
            self.add("is_held", lock=handle)
        elif what == 1 and handle:
            self.add("hold_count", {"hold_count": len(lock.handles)}, lock=handle)
        elif what == 2 and handle:
            self.add("token", {"token": {"eq": self.pick(lock.handles)}}, lock=handle)
        elif what == 3 and handle:
            lock.value = self.pick(["", "x", "a longer value"])
            self.add("update", lock=handle, value=lock.value)
        elif what == 4 and handle:
            self.add(self.pick(["verify", "remaining"]), lock=handle)
        elif what == 5:
            self.look_at_queue(key)
        else:
            self.inspect(key)

    def look_at_queue(self, key):
        waiting = len(self.table.waiters[key])
        self.add("is_locked", {"locked": not self.table.is_free(key)}, key=key)
        if waiting or self.kind == "local":
            self.add("is_queued", {"queued": waiting > 0}, key=key)

    def inspect(self, key):
        lock = self.table.holders[key]
        if lock is None:
            return self.add("inspect", {"status": "NOT_HELD"}, key=key)
        expect = {"held": True, "value": lock.value, "token": {"eq": lock.handles[0]}}
        if lock.owner:
            expect["owner"] = lock.owner
        self.add("inspect", expect, key=key)

    def expire(self):
        """A lease that ends: once in a program, since it takes its time."""
        key = self.pick([one for one in KEYS if self.table.is_free(one)])
        if key is None or self.has_expired or not self.chance(15):
            return
        self.has_expired = True
        handle = self.name("h")
        self.add("acquire", key=key, options={"ttl_ms": 40}, **{"as": handle})
        self.add("wait_lost", {"status": "LOST"}, lock=handle)
        self.add("is_held", {"status": "LOST"}, lock=handle)
        self.add("release", {"status": "LOST"}, lock=handle)
        # Its holder trusts it for a little less than the servers keep it.
        self.add("wait_released", {"status": ["OK", "NOT_HELD"]}, key=key, wait_ms=10_000)
        self.table.released.append(handle)

    # ------------------------------------------------------------------------------------------- a program ---

    KINDS = [(try_key, 22), (ask, 20), (release, 24), (look, 14), (cancel, 5), (try_keys, 4), (block, 4),
             (time_out, 3), (take_away, 3), (release_lost, 4), (touch_released, 3), (release_by_key, 1), (expire, 1)]

    def scenario(self, name):
        for owner in OWNERS:
            self.add("owner_open", name=f"{owner} by name" if self.chance(50) else None, **{"as": owner})
        kinds, weights = zip(*self.KINDS)
        while len(self.steps) < self.wanted:
            self.random.choices(kinds, weights)[0](self)
        # Everybody is served, as who blocks must be: nobody would wait for the end of his thread.
        while self.table.all_waiters():
            self.release()
        return {"name": name, "contexts": [self.kind], "steps": self.steps}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--context", choices=sorted(ORDERS), default="local")
    parser.add_argument("--seed", type=int, default=1, help="of the first program; those that follow count up")
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=50, help="of each program, at least")
    parser.add_argument("directory", type=pathlib.Path, help="is made; files of 50 programs each")
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    seeds = range(arguments.seed, arguments.seed + arguments.programs)
    for first in seeds[::PER_FILE]:
        scenarios = [Program(seed, arguments.context, arguments.steps).scenario(f"program_{seed}")
                     for seed in seeds if first <= seed < first + PER_FILE]
        file = {"schema": 1, "about": f"Random programs from seed {first} on.", "scenarios": scenarios}
        path = arguments.directory / f"programs_{arguments.context}_{first}.json"
        path.write_text(json.dumps(file, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
