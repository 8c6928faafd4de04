# SPDX-License-Identifier: MIT
"""What the keys of one context do under calls that are made one after the other: the least that every kind of context
does alike. It knows nothing of time: whoever waits does so until he is served, canceled or closed."""


class Lock:
    """Held by handles of one identity, on one key or on several together."""

    def __init__(self, keys, owner, value):
        self.keys, self.owner, self.value = keys, owner, value
        self.handles = []
        self.is_lost = False


class Waiter:
    def __init__(self, request, key, owner, order, priority, number):
        self.request, self.key, self.owner, self.order = request, key, owner, order
        self.priority = priority if order == "PRIORITY" else 0
        self.number = number

    def rank(self):
        """The least is served next: LIFO before all others, then by priority, then as they came."""
        if self.order == "LIFO":
            return (0, 0, -self.number)
        return (1, -self.priority, self.number)


class Table:
    """Which locks there are, who waits for them, and what became of handles."""

    def __init__(self, keys):
        self.holders = {key: None for key in keys}
        self.waiters = {key: [] for key in keys}
        self.locks = {}     # by handle; those that were lost and not released yet among them
        self.released = []  # handles
        self.reports_loss = set()
        self.asked = 0

    def is_free(self, key):
        return self.holders[key] is None

    def holds(self, owner):
        return any(lock is not None and lock.owner == owner for lock in self.holders.values())

    def waits(self, owner):
        return any(one.owner == owner for line in self.waiters.values() for one in line)

    def can_reenter(self, key, owner):
        lock = self.holders[key]
        return lock is not None and owner is not None and lock.owner == owner

    def grant(self, handle, keys, owner=None, value="", reports_loss=False):
        lock = self.holders[keys[0]] if self.can_reenter(keys[0], owner) else Lock(keys, owner, value)
        lock.handles.append(handle)
        self.locks[handle] = lock
        for key in keys:
            self.holders[key] = lock
        if reports_loss:
            self.reports_loss.add(handle)
        return lock

    def wait(self, request, key, owner, order, priority):
        self.asked += 1
        self.waiters[key].append(Waiter(request, key, owner, order, priority, self.asked))

    def cancel(self, waiter):
        self.waiters[waiter.key].remove(waiter)

    def release(self, handle):
        """Returns the requests that are granted by it, of each key at most one."""
        lock = self.locks.pop(handle)
        self.released.append(handle)
        self.reports_loss.discard(handle)
        lock.handles.remove(handle)
        if lock.is_lost or lock.handles:
            return []
        return self.serve(lock.keys)

    def take_away(self, key):
        """By force: returns the handles whose loss is told, and the requests that are granted."""
        lock = self.holders[key]
        lock.is_lost = True
        told = [handle for handle in lock.handles if handle in self.reports_loss]
        self.reports_loss -= set(told)
        return told, self.serve(lock.keys)

    def serve(self, keys):
        granted = []
        for key in keys:
            self.holders[key] = None
            if not self.waiters[key]:
                continue
            first = min(self.waiters[key], key=Waiter.rank)
            self.waiters[key].remove(first)
            self.grant(first.request, [key], first.owner, reports_loss=True)
            granted.append(first.request)
        return granted

    def held(self):
        return [handle for handle, lock in self.locks.items() if not lock.is_lost]

    def lost(self):
        return [handle for handle, lock in self.locks.items() if lock.is_lost]

    def all_waiters(self):
        return [one for line in self.waiters.values() for one in line]
