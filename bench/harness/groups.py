# SPDX-License-Identifier: MIT
"""Which rows a name on the command line stands for, and where their table is kept: the page, the markers between which
it stands there, and the file in results/ that it comes from."""
from typing import NamedTuple

from .peer_rows import NIGHTLY, PEERS
from .rows import LOCAL
from .server_rows import QUORUM, REDIS, SCALE


class Table(NamedTuple):
    rows: tuple
    page: str  # from the root
    marker: str
    reference: str
    # Of what is not ours and keeps one CPU busy: they differ between rounds as the speed of the machine does.
    probes: tuple = ()


TABLES = {
    "L": Table(LOCAL, "bench/README.md", "figures", "reference.json", (
        "pairs.mutex_pair", "pairs.unordered_map_pair/hot", "pairs.tbb_pair/hot", "go.go_keyed_mutex/hot")),
    "R": Table(REDIS + QUORUM, "docs/performance.md", "figures R", "reference-servers.json", (
        "redis.set_script:server_ns", "redis.replay_fenced/256:client_ns", "redis.ceiling_fenced/64:per_second")),
    "S": Table(SCALE, "docs/performance.md", "figures S", "reference-scale.json"),
    "P": Table(NIGHTLY, "docs/performance.md", "figures P", "reference-peers.json"),
}
# What is measured at night alone is in no other group, and in it what the table of peers has.
GROUPS = {
    "all": (*LOCAL, *REDIS, *QUORUM, *SCALE, *PEERS),
    "local": LOCAL, "redis": REDIS, "quorum": QUORUM, "scale": SCALE, "peers": PEERS, "nightly": NIGHTLY,
}
EVERY = tuple(dict.fromkeys((*GROUPS["all"], *NIGHTLY)))
IDS = tuple(dict.fromkeys(row.id for row in EVERY))


def select(name):
    """The rows of a group, or of the row with this name, or None."""
    if name.lower() in GROUPS:
        return GROUPS[name.lower()]
    by_day_or_night = (tuple(row for row in GROUPS[group] if row.id == name.upper()) for group in ("all", "nightly"))
    return next(filter(None, by_day_or_night), None)


def once(wanted):
    """These rows in their order, none twice: the one of the night has all that its namesake of the day has."""
    at_night = {row.id for row in NIGHTLY if row in wanted}
    kept = (row for row in EVERY if row in wanted and (row in NIGHTLY or row.id not in at_night))
    return tuple(sorted(kept, key=lambda row: IDS.index(row.id)))


def whole(selected):
    """The tables all of whose rows are among these."""
    return [table for table in TABLES.values() if set(table.rows) <= set(selected)]
