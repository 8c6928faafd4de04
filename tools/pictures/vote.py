# SPDX-License-Identifier: MIT
"""A vote over five servers: two clients ask at the same moment, one node is down and one was restarted. What decides is
core/quorum/ballot.cpp; here is what it decides in this case."""
from svg import Picture

NODES = (
    ("node a", "votes", "good", "A"),
    ("node b", "votes", "good", "A"),
    ("node c", "votes", "good", "B"),
    ("node d", "for max_ttl_ms", "warn", None),
    ("node e", "votes", "good", "A"),
)
FIRST, STEP, WIDTH = 190, 134, 116
A_Y, NODE_Y, B_Y = 84, 190, 348


def nodes(picture):
    for index, (name, what, kind, granted) in enumerate(NODES):
        x = FIRST + index * STEP
        picture.server(x, NODE_Y, WIDTH, 92, f"{kind}-soft")
        picture.text(x + WIDTH / 2, NODE_Y + 36, name, "strong", "middle", WIDTH)
        said = f"key: {granted}" if granted else "restarted: no vote"
        picture.text(x + WIDTH / 2, NODE_Y + 56, said, "code" if granted else "small", "middle", WIDTH + 16)
        picture.text(x + WIDTH / 2, NODE_Y + 74, what, "small muted", "middle", WIDTH)


def clients(picture):
    picture.label(20, A_Y, 130, 44, ["client A", "proposes 41"], "main-soft", "strong")
    picture.label(20, B_Y, 130, 44, ["client B", "proposes 42"], "box", "strong")
    last = FIRST + (len(NODES) - 1) * STEP + WIDTH / 2
    picture.line(150, A_Y + 22, last - 14, A_Y + 22)
    picture.line(150, B_Y + 22, last + 14, B_Y + 22)
    for index, (_, _, _, granted) in enumerate(NODES):
        middle = FIRST + index * STEP + WIDTH / 2
        for client, y, edge in (("A", A_Y + 22, NODE_Y), ("B", B_Y + 22, NODE_Y + 92)):
            won = granted == client
            shift = -14 if client == "A" else 14
            classes = ("main-line", "main") if won else ("line dashed", "head")
            picture.arrow(middle + shift, y, middle + shift, edge, *classes)
            answer = "granted" if won else "no vote" if granted is None else "busy"
            picture.text(middle + shift + 8, (y + edge) / 2 + 4, answer, "small" if won else "small muted")


def draw():
    picture = Picture(880, 492, "The vote of a quorum",
                      "Two clients ask five nodes at once. A has the votes of three, a majority, and holds the lock; B "
                      "has one, undoes it and stands in line. A node that was restarted gives no vote.")
    proposal = "A token is proposed with the request; a node takes it, or the next number that it has not given out."
    picture.text(20, 34, "One round trip to all nodes at once: three of five votes are a lock", "large")
    picture.text(20, 58, proposal, "small muted")
    clients(picture)
    nodes(picture)
    won = ["A holds the lock: 3 of 5, token 41", "counted from before it asked, less 1 % and 2 ms"]
    lost = ["B gives its vote back and stands in line", "the nodes call it when the key becomes free"]
    picture.label(170, 412, 330, 62, won, "main-soft", "strong")
    picture.label(520, 412, 340, 62, lost, "box", "strong")
    return picture
