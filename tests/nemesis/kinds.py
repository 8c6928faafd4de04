# SPDX-License-Identifier: MIT
"""The kinds of faults that a nemesis has, and where each applies. A kind belongs to a group in each context: kinds of
one group act together in one world, since they need the same servers and leave the same promises standing.

    whole    exclusion: nobody holds what another one holds, and tokens rise
    liars    the same over a quorum whose nodes may lie: four votes of five (docs/safety.md, f = 2W - N - 1)
    apart    the same, every process in a network namespace of its own
    lost     one server that forgets: two may hold at once; tokens rise, and who looks at them loses nothing
    stepped  one server whose clock jumps: the same

Where all act together, kinds that ask for nothing of their group's servers keep others company, so that these meet
holders that are stopped or killed, and lines that fail, as well.
"""
import dataclasses

EXCLUSION = {"whole", "liars", "apart"}
OF_CLIENTS, OF_LINES = ("client-stopped", "client-killed"), ("delayed", "reset-in-reply")
# Lines of the namespaces are cut, and nothing else.
COMPANY = {"whole": (), "liars": OF_CLIENTS + OF_LINES, "apart": OF_CLIENTS + ("killed", "stopped", "messages-cut"),
           "lost": OF_CLIENTS + OF_LINES, "stepped": OF_CLIENTS + OF_LINES}


@dataclasses.dataclass(frozen=True)
class Kind:
    number: int
    name: str
    what: str
    single: str  # its group there; empty: it does not apply
    quorum: str
    functions: tuple  # of Nemesis, which take turns: the ways in which it acts
    of_quorum: tuple = ()  # further ones over a quorum

    def group(self, context):
        return self.single if context == "single" else self.quorum

    def ways(self, context):
        return self.functions + (self.of_quorum if context == "quorum" else ())


KINDS = [
    Kind(1, "wiped", "killed, and started again without its data", "lost", "whole", ("wipe",), ("lose_majority",)),
    Kind(2, "killed", "killed, and started again with its data", "whole", "whole", ("kill",)),
    Kind(3, "rolled-back", "killed, and started again with the data of a while ago, as after a power loss", "lost",
         "whole", ("roll_back",)),
    Kind(4, "stopped", "a server stands still for less or for longer than a lease", "whole", "whole",
         ("stop_short", "stop_long")),
    Kind(5, "emptied", "FLUSHALL", "lost", "whole", ("flush",)),
    Kind(6, "scripts-flushed", "SCRIPT FLUSH", "whole", "whole", ("forget_scripts",)),
    Kind(7, "evicting", "keys are evicted, locks among them", "lost", "liars", ("evict",)),
    Kind(8, "out-of-memory", "writes are refused", "whole", "whole", ("run_out_of_memory",)),
    Kind(9, "made-replica", "REPLICAOF, and back", "whole", "whole", ("demote",)),
    Kind(10, "loading", "restarted, and reads its files for long", "whole", "whole", ("load_slowly",)),
    Kind(11, "busy", "a script that does not end", "whole", "whole", ("keep_busy",)),
    Kind(12, "clock-stepped", "the time of day jumps ahead or back", "stepped", "liars", ("step_ahead", "step_back")),
    Kind(13, "replies-dropped", "what servers answer is gone", "whole", "whole", ("drop_replies",)),
    Kind(14, "delayed", "requests arrive after they were given up, late, or in another order", "whole", "whole",
         ("hold_requests", "reorder_lines", "slow_line")),
    Kind(15, "half-open", "connections that swallow everything", "whole", "whole", ("half_open",)),
    Kind(16, "split-and-joined", "bytes come one by one, or many requests at once", "whole", "whole",
         ("split_bytes", "join_bytes")),
    Kind(17, "reset-in-reply", "connections are reset within an answer", "whole", "whole", ("reset_in_reply",)),
    Kind(18, "partitioned", "packets from one to the other are lost", "apart", "apart",
         ("cut_line", "cut_one_way", "isolate"), ("ring",)),
    Kind(19, "client-stopped", "SIGSTOP of a client for longer than its lease", "whole", "whole", ("stop_client",)),
    Kind(20, "client-killed", "SIGKILL of a client that holds, or waits first in line", "whole", "whole",
         ("kill_holder", "kill_first_in_line")),
    Kind(21, "client-forked", "a holder forks", "whole", "whole", ("fork_holder",)),
    Kind(22, "messages-cut", "CLIENT KILL TYPE pubsub", "whole", "whole", ("cut_messages",)),
    Kind(23, "failed-over", "killed, and its replica promoted", "lost", "", ("fail_over",)),
    Kind(24, "replaced", "a node of another quorum stands in its place", "", "whole", ("replace",)),
]
# To know how much is felt while nothing happens.
NOTHING = Kind(0, "nothing", "no fault at all", "whole", "whole", ("do_nothing",))
CONTEXTS = ("single", "quorum")


def named(name):
    for kind in [*KINDS, NOTHING]:
        if name in (kind.name, str(kind.number)):
            return kind
    raise SystemExit(f"nemesis: no kind {name}; there are: {', '.join(kind.name for kind in KINDS)}")


def groups(context, kinds):
    """{group: its kinds among these}, in the order of the table."""
    found = {}
    for kind in kinds:
        if kind.group(context):
            found.setdefault(kind.group(context), []).append(kind)
    return found


def in_company(group, kinds):
    return kinds + [named(name) for name in COMPANY[group] if named(name) not in kinds]
