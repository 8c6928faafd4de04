# SPDX-License-Identifier: MIT
"""The life of a lease on a server, with the accident for which fencing tokens are there: the holder stands still for
longer than its lease. What the picture says in numbers is what docs/safety.md promises: the holder counts from before
its request, 1 % and 2 ms less than the server, so that it stops believing before anybody else begins."""
from svg import Picture

LEFT, GRANT, RENEWED, STOPPED, BELIEF, EXPIRY, WAKES = 150, 190, 350, 410, 578, 602, 712
WRITES = 320
A, SERVER, B, RESOURCE = 106, 206, 306, 400
END = 860


def lanes(picture):
    for y, name, what in ((A, "holder A", "a process"), (SERVER, "the server", "keeps the key"),
                          (B, "waiter B", "stands in line"), (RESOURCE, "the resource", "checks tokens")):
        picture.text(20, y, name, "strong")
        picture.text(20, y + 16, what, "small muted")
        picture.line(LEFT, y + 24, END, y + 24, "thin")


def holder(picture):
    picture.box(GRANT - 20, A - 14, STOPPED - GRANT + 20, 30, "main-soft")
    picture.text(GRANT - 8, A + 5, "believes: is_held is OK")
    picture.box(STOPPED, A - 14, WAKES - STOPPED, 30, "warn-soft dashed")
    stopped = "stands still (a paused machine, SIGSTOP)"
    picture.text((STOPPED + WAKES) / 2, A + 5, stopped, "", "middle", WAKES - STOPPED - 8)
    picture.line(BELIEF, A - 26, BELIEF, A - 14, "bad-line")
    picture.line(BELIEF, A + 16, BELIEF, SERVER + 22, "bad-line dashed")
    picture.text(BELIEF, A - 32, "its lease is over by its own clock", "small muted", "middle")
    picture.label(WAKES + 6, A - 14, END - WAKES - 6, 30, ["wakes: LOST"], "bad-soft", "strong")


def server(picture):
    picture.box(GRANT, SERVER - 14, EXPIRY - GRANT, 30, "main-soft")
    picture.text(GRANT + 6, SERVER + 5, "key: A, token 33", "code")
    picture.line(RENEWED + 10, SERVER - 14, RENEWED + 10, SERVER + 16, "main-line")
    picture.text(RENEWED + 18, SERVER + 5, "lease set anew: ttl from here on", "small")
    picture.box(EXPIRY, SERVER - 14, END - EXPIRY, 30, "good-soft")
    picture.text(EXPIRY + 12, SERVER + 5, "key: B, token 34", "code")


def messages(picture):
    picture.arrow(GRANT - 20, A + 16, GRANT, SERVER - 14)
    picture.text(GRANT - 28, 152, "acquire", "small", "end")
    picture.arrow(GRANT + 2, SERVER - 14, GRANT + 22, A + 16)
    picture.text(GRANT + 22, 152, "granted, 33", "small")
    picture.arrow(RENEWED - 4, A + 16, RENEWED + 10, SERVER - 14)
    picture.text(RENEWED + 12, 152, "renewal, every third of the ttl", "small")
    picture.arrow(EXPIRY, SERVER + 16, EXPIRY + 16, B - 14)
    picture.text(EXPIRY + 18, 256, "handed over: one message", "small")
    picture.text(BELIEF - 6, 256, "1 % + 2 ms", "small strong", "end")
    picture.line(BELIEF, SERVER + 22, BELIEF, SERVER + 34, "bad-line")
    picture.line(EXPIRY, SERVER + 22, EXPIRY, SERVER + 34, "bad-line")
    picture.line(BELIEF, SERVER + 28, EXPIRY, SERVER + 28, "bad-line")


def waiter_and_resource(picture):
    picture.box(WRITES + 15, B - 14, EXPIRY + 1 - WRITES, 30, "plain dashed")
    picture.text(WRITES + 27, B + 5, "waits in the queue: acquire")
    picture.box(EXPIRY + 16, B - 14, END - EXPIRY - 16, 30, "good-soft")
    picture.text(EXPIRY + 28, B + 5, "holds, and works")
    picture.label(WRITES - 56, RESOURCE - 14, 112, 30, ["write, 33: done"], "main-soft", "small")
    picture.label(EXPIRY + 10, RESOURCE - 14, 112, 30, ["write, 34: done"], "good-soft", "small")
    picture.label(END - 126, RESOURCE - 14, 126, 30, ["write, 33: refused"], "bad-soft", "small")
    picture.arrow(EXPIRY + 60, B + 16, EXPIRY + 60, RESOURCE - 14)
    picture.arrow(WRITES, A + 16, WRITES, RESOURCE - 14)
    picture.arrow(WAKES + 80, A + 16, WAKES + 80, RESOURCE - 14, "bad-line dashed", "bad")


def draw():
    picture = Picture(880, 470, "The life of a lease",
                      "A holder renews its lease, then stands still. By its own clock the lease is over a little "
                      "before the server hands the key to the waiter, under a larger token; the late write of the "
                      "first one is refused.")
    picture.text(20, 34, "The life of a lease, and of the write that came too late", "large")
    lanes(picture)
    messages(picture)
    holder(picture)
    server(picture)
    waiter_and_resource(picture)
    picture.text(END, 456, "time", "small muted", "end")
    picture.arrow(LEFT, 452, END - 36, 452)
    return picture
