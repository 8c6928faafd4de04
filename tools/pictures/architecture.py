# SPDX-License-Identifier: MIT
"""The layers: what a program calls, which folders it goes through, and where its locks then are. Every folder of core/
must stand here; the check of the pictures looks."""
from svg import Picture

LANGUAGES = ("C", "C++", "Go", "Rust", "Ruby")
ENGINES = (
    (40, "local", ["local", "a table in this process"], "local:accounts"),
    (320, "redis", ["redis", "scripts on one server"], "redis://host"),
    (600, "quorum", ["quorum", "votes of several servers"], "quorum:redis://a,redis://b,…"),
)


def top(picture):
    for index, language in enumerate(LANGUAGES):
        picture.label(40 + index * 163, 54, 148, 34, [f"your program in {language}"], "plain", "small")
        picture.arrow(114 + index * 163, 88, 114 + index * 163, 110)
    interface = "one stable C interface: same calls, options and statuses for every context"
    picture.label(40, 110, 800, 46, ["liblock.h", interface], "main", "on", step=17)
    picture.arrow(440, 156, 440, 176)
    picture.label(40, 176, 800, 44, ["context", "checks options, keeps requests, callbacks, completion queues; forks"])
    picture.arrow(440, 220, 440, 240)
    common = "what every kind of context can do, and what is told of it: events, log, histograms"
    picture.label(40, 240, 800, 44, ["engine", common])


def engines(picture):
    for x, _, texts, url in ENGINES:
        picture.arrow(x + 120, 284, x + 120, 304)
        picture.label(x, 304, 240, 48, texts, "main-soft", "strong")
        picture.text(x + 120, 370, url, "code muted", "middle", 240)
    picture.arrow(600, 328, 560, 328)
    picture.text(580, 320, "on", "small muted", "middle")
    servers = "one loop thread, attempts, renewals, undoing of what nobody knows the end of"
    picture.label(320, 382, 520, 42, ["remote", servers])


def bottom(picture):
    for x, name, what in ((40, "lease", "when a hold ends"), (313, "runtime", "timers, threads, fork"),
                          (586, "base", "clocks, hashing, bounds")):
        picture.label(x, 440, 254, 42, [name, what])
    picture.text(440, 512, "where the locks are", "strong", "middle")
    picture.label(60, 528, 200, 66, ["memory of the process", "excludes its threads"], "good-soft", "strong")
    picture.server(410, 524, 60, 70, "good-soft")
    style = {"classes": "small muted", "anchor": "middle", "step": 15}
    picture.lines(440, 612, ["one Redis or Valkey server:", "excludes whoever reaches it"], **style)
    for index in range(5):
        picture.server(592 + index * 50, 524, 40, 70, "bad-soft dashed" if index == 3 else "good-soft")
    several = ["independent servers: excludes whoever", "reaches a majority; a minority may be lost"]
    picture.lines(712, 612, several, **style)
    picture.lines(160, 612, ["no server, no network:", "tens of nanoseconds"], **style)


def draw():
    picture = Picture(880, 640, "liblock: the layers",
                      "Programs in five languages call one C interface; below it context, engine, the three kinds of "
                      "contexts local, redis and quorum, and what they are made of.")
    picture.text(40, 34, "One interface, three places where locks can be", "large")
    top(picture)
    engines(picture)
    bottom(picture)
    return picture
