# SPDX-License-Identifier: MIT
"""The rows of contexts with servers: R1 to R7 over one, R8 and R9 over five, S1 what holding costs. Where a table of
goals names no placement, servers have one CPU and clients the other."""
from .rows import Row, at_least, at_most, plain, ratio

RATE, CPU, SERVER = ":per_second", ":client_ns", ":server_ns"
JOINED_RATE = ":joined_per_second"
ACQUIRE, PAIR, HAND_OVER = ":acquire_p50_ns", ":pair_p50_ns", ":hand_over_p50_ns"


def thousands(label, benchmark, counter=RATE):
    return plain(label, benchmark + counter, "k/s", scale=1e-3)


def micros(label, benchmark, counter):
    return plain(label, benchmark + counter, "us", scale=1e-3)


def over(label, counter, benchmark, floor, goal=None, floor_counter=None):
    return ratio(label, benchmark + counter, floor + (floor_counter or counter), goal)


FENCED, PLAIN = "redis.fenced/64", "redis.plain/256"
CEILING, CEILING_PLAIN = "redis.ceiling_fenced/64", "redis.ceiling_plain/256"
SET = "redis.replay_set/256"


def sequential(place, words, goal):
    here, floor = f"redis.sequential/{place}", f"redis.sync/{place}"
    return (
        over(f"pair p50 / hiredis sync p50, {words}", PAIR, here, floor, goal),
        over(f"the same, release asked for and not awaited, {words}", PAIR, f"redis.sequential_asked/{place}", floor,
             goal),
        micros(f"pair p50, {words}", here, PAIR),
        micros(f"hiredis sync pair p50 (floor), {words}", floor, PAIR),
    )


REDIS = (
    Row("R1", "fenced pairs, 64 at once, one server; its CPU and the client's are two", (
        over("pairs / ceiling of the same scripts, each release by itself", RATE, FENCED, CEILING, at_least(0.9, 1.0)),
        over("the same on a loop of the caller's", RATE, FENCED + "_loop", CEILING),
        over("pairs / ceiling with up to 16 releases in a call", RATE, FENCED, CEILING, None, JOINED_RATE),
        thousands("pairs, completion queue", FENCED),
        thousands("pairs, caller's loop", FENCED + "_loop"),
        thousands("pairs, completion queue, unix socket", FENCED + "_unix"),
        thousands("ceiling: 1 / (1/acquires + 1/releases)", CEILING),
        thousands("redis-benchmark, acquires", CEILING, ":acquires_per_second"),
        thousands("redis-benchmark, releases", CEILING, ":releases_per_second"),
        micros("acquire p50 at 5,000 pairs/s, arriving by chance", "redis.open/5000", ACQUIRE),
        micros("the same, p99", "redis.open/5000", ":acquire_p99_ns"),
        micros("server CPU per pair", FENCED, SERVER),
    )),
    Row("R2", "the lightest pairs (ORDER_ANY, one attempt), 256 at once", (
        over("pairs / ceiling of the same scripts, each release by itself", RATE, PLAIN, CEILING_PLAIN,
             at_least(0.9, 1.0)),
        over("the same on a loop of the caller's", RATE, PLAIN + "_loop", CEILING_PLAIN),
        over("pairs / ceiling with up to 16 releases in a call", RATE, PLAIN, CEILING_PLAIN, None, JOINED_RATE),
        over("pairs / bare SET NX PX and compare-delete, no fence", RATE, PLAIN, SET),
        thousands("pairs, completion queue", PLAIN),
        thousands("pairs, caller's loop", PLAIN + "_loop"),
        thousands("ceiling", CEILING_PLAIN),
        thousands("bare SET NX PX and compare-delete, hand-written RESP", SET),
    )),
    Row("R3", "client CPU per pair, 256 at once", (
        over("one loop: CPU / hand-written RESP, each release by itself", CPU, "redis.fenced/256_loop",
             "redis.replay_fenced/256", at_most(2, 1.2)),
        over("one loop: CPU / hand-written RESP, up to 16 releases in a call", CPU, "redis.fenced/256_loop",
             "redis.replay_fenced/256", None, ":joined_client_ns"),
        over("lightest pairs: each release by itself", CPU, PLAIN + "_loop", "redis.replay_plain/256"),
        over("completion queue: each release by itself", CPU, "redis.fenced/256", "redis.replay_fenced/256"),
        over("hiredis async on libuv: each release by itself", CPU, "redis.async_fenced/256",
             "redis.replay_fenced/256"),
        micros("CPU per pair, one loop", "redis.fenced/256_loop", CPU),
        micros("CPU per pair, completion queue", "redis.fenced/256", CPU),
        micros("hiredis async on libuv", "redis.async_fenced/256", CPU),
        micros("hand-written RESP (floor)", "redis.replay_fenced/256", CPU),
    )),
    Row("R4", "server CPU per fenced acquire, 64 at once, each key once", (
        over("CPU / a script with only SET NX PX", SERVER, "redis.acquires", "redis.set_script", at_most(3.0, 2.3)),
        micros("CPU per acquire", "redis.acquires", SERVER),
        micros("the script with only SET NX PX", "redis.set_script", SERVER),
    )),
    Row("R5", "one pair after the other, one thread", (
        *sequential("other", "server on another CPU", at_most(1.15, 0.6)),
        *sequential("free", "unpinned", at_most(1.15, 0.6)),
        *sequential("same", "server on the same CPU", at_most(1.8, 1.2)),
    )),
    Row("R6", "64 threads on keys of their own through one context, unpinned", (
        ratio("pairs / one thread's", "redis.threads/64:per_second", "redis.threads/1:per_second", at_least(8, 12)),
        thousands("pairs, 64 threads", "redis.threads/64"),
        thousands("pairs, one thread", "redis.threads/1"),
        micros("acquire p50, 64 threads", "redis.threads/64", ACQUIRE),
        plain("share, most / least served thread", "redis.threads/64:share", "x"),
    )),
    Row("R7", "from a release to the next owner in another process, server on one CPU, clients on the other", (
        over("at the callback / PUBLISH wake p50", HAND_OVER, "redis.hand_over/callback", "redis.publish",
             at_most(1.6, 0.9), ":wake_p50_ns"),
        over("at the callback on a loop of the caller's", HAND_OVER, "redis.hand_over/loop", "redis.publish", None,
             ":wake_p50_ns"),
        over("a blocking waiter", HAND_OVER, "redis.hand_over/blocking", "redis.publish", None, ":wake_p50_ns"),
        over("at the callback, unpinned", HAND_OVER, "redis.hand_over/callback_free", "redis.publish_free", None,
             ":wake_p50_ns"),
        micros("hand-over p50, callback", "redis.hand_over/callback", HAND_OVER),
        micros("hand-over p99, callback", "redis.hand_over/callback", ":hand_over_p99_ns"),
        micros("hand-over p50, caller's loop", "redis.hand_over/loop", HAND_OVER),
        micros("hand-over p50, blocking", "redis.hand_over/blocking", HAND_OVER),
        micros("PUBLISH wake p50 (floor)", "redis.publish", ":wake_p50_ns"),
        micros("PUBLISH wake p50, unpinned (floor)", "redis.publish_free", ":wake_p50_ns"),
    )),
)

QUORUM = (
    Row("R8", "acquire over five servers, one after the other, unpinned", (
        over("acquire p50 / one SET NX PX p50", ACQUIRE, "quorum.acquire", "quorum.single_set", at_most(1.5, 1.15)),
        over("bare fan-out, majority p50 / one SET NX PX p50", ACQUIRE, "quorum.fan_out/1", "quorum.single_set"),
        micros("acquire p50", "quorum.acquire", ACQUIRE),
        micros("acquire p99", "quorum.acquire", ":acquire_p99_ns"),
        micros("bare fan-out, majority p50", "quorum.fan_out/1", ACQUIRE),
        micros("SET NX PX p50, hiredis sync (floor)", "quorum.single_set", ACQUIRE),
    )),
    Row("R9", "pairs over five servers, 64 at once, unpinned", (
        over("pairs / bare fan-out (SET NX PX, compare-delete)", RATE, "quorum.pairs/64", "quorum.fan_out/64",
             at_least(0.8, 1.0)),
        over("the same on a loop of the caller's", RATE, "quorum.pairs/64_loop", "quorum.fan_out/64"),
        thousands("pairs, completion queue", "quorum.pairs/64"),
        thousands("pairs, caller's loop", "quorum.pairs/64_loop"),
        thousands("bare fan-out, hiredis async on libuv", "quorum.fan_out/64"),
        micros("client CPU per pair", "quorum.pairs/64", CPU),
        micros("bare fan-out, client CPU per pair", "quorum.fan_out/64", CPU),
        micros("CPU of all five servers per pair", "quorum.pairs/64", SERVER),
        micros("bare fan-out, CPU of all five servers per pair", "quorum.fan_out/64", SERVER),
    )),
)

SCALE = (
    Row("S1", "100,000 leases of 30 s kept alive, one server", (
        plain("client CPU", "redis.leases:client_share", "% of a CPU", at_most(10, 3), scale=100),
        plain("commands", "redis.leases:commands_per_second", "/s", at_most(2000, 200)),
        plain("renewals", "redis.leases:renewals_per_second", "/s"),
        plain("server CPU", "redis.leases:server_share", "% of a CPU", scale=100),
    )),
)
