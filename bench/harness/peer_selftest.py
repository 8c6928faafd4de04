#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The figures that are drawn out of sections, on sections whose figures are known, and what is judged of them."""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent.parent / "tools")]

from harness import peer_moments as moments  # noqa: E402
from harness import java_peers, peer_clients, peer_contest, peer_rows, peers, programs, report  # noqa: E402
from tap import Tap  # noqa: E402

MS = 1_000_000
# Who has the lock from 10 to 20 ms; the other one, who had asked at 12, from 21 to 30; and the first one again.
BY_TURNS = {0: [(0, 9 * MS, 10 * MS, 20 * MS, 22 * MS), (0, 25 * MS, 33 * MS, 40 * MS, 41 * MS)],
            1: [(0, 12 * MS, 21 * MS, 30 * MS, 31 * MS)]}


def same(found, wanted):
    return [] if found == wanted else [f"{found}, not {wanted}"]


def is_refused(parties, counted=None):
    try:
        peer_contest.judge("it", parties, counted)
        return ["it was taken for a lock"]
    except peer_contest.Failed as failure:
        return [] if "is no lock" in str(failure) else [str(failure)]


def two_at_once():
    return is_refused({**BY_TURNS, 2: [(0, 11 * MS, 19 * MS, 19 * MS + 1, 20 * MS)]})


def lost_additions():
    peer_contest.judge("it", BY_TURNS, 3)
    return is_refused(BY_TURNS, 2)


def hand_overs():
    return same(moments.hand_overs_us(BY_TURNS), ([1000.0, 3000.0], 0))


def disturbed_hand_overs():
    impatient = {0: [BY_TURNS[0][0], (0, 20 * MS + 1, 33 * MS, 40 * MS, 41 * MS)], 1: BY_TURNS[1]}
    return same(moments.hand_overs_us(impatient), ([3000.0], 1))


def nobody_waited():
    late = {0: BY_TURNS[0][:1], 1: [(0, 23 * MS, 24 * MS, 30 * MS, 31 * MS)]}
    return same(moments.hand_overs_us(late), ([], 0))


def pairs():
    return same(moments.pair_us([(0, 0, 0, 0, 9), (0, 0, 2000, 9000, 12_000)], 1), [5.0])


def rates():
    # Ten a second by each of two, of which the second begins late, and those of the first tenth are not counted.
    steady = {0: [(0, at * 100 * MS, at * 100 * MS, at * 100 * MS + 1, at * 100 * MS + 2) for at in range(20)],
              1: [(0, 50 * MS + at * 100 * MS, 50 * MS + at * 100 * MS, 50 * MS + at * 100 * MS + 1, 0)
                  for at in range(20)]}
    return (same(moments.window(steady, 2000), (245 * MS, 2000 * MS)) +
            same(round(moments.per_second(steady, 2000)), 20) + same(round(moments.share_of_least(steady, 2000)), 49))


def one_process_starves():
    starved = {0: BY_TURNS[0], 1: [(0, 9 * MS, 100 * MS, 101 * MS, 102 * MS)]}
    return same(moments.share_of_least(starved, 40), 0) + same(max(moments.waits_ms(starved, 40)), 40.0)


def overtaken():
    # After a section of each, so that all are at it, the one of process 2 asks at 12 as the last one, and a later one
    # of process 0 is let in before it.
    before = {nth: (0, at * MS, at * MS, (at + 1) * MS, (at + 1) * MS) for nth, at in ((0, -22), (1, -26), (2, -24))}
    parties = {0: [before[0], (0, 0, 0, 20 * MS, 20 * MS), (0, 21 * MS, 31 * MS, 40 * MS, 40 * MS)],
               1: [before[1], (0, 5 * MS, 21 * MS, 30 * MS, 30 * MS)],
               2: [before[2], (0, 12 * MS, 42 * MS, 50 * MS, 50 * MS)]}
    found = moments.longest_wait(parties, 90)
    return same((found["wait_us"], found["ahead"], found["meanwhile"]), (30_000.0, 2, 3))


def best_of_the_peers():
    """Neither liblock nor the floor is taken for a peer, and liblock is none of those that poll."""
    strangers = {"liblock", "liblock without awaiting releases", "hiredis sync"}
    return [f"{measured.name}: {strangers & set(measured.best_of)}" for measured in peer_rows.MEASURED
            if strangers & set(measured.best_of)]


def every_need_is_measured():
    needs = {need for row in peer_rows.NIGHTLY for need in row.needs if need.startswith("peers.")}
    yielded = {peers.BY_CONTEST[contest].metric(name, "") for _, (contest, *names) in peers.plan(needs)
               for name in (*names, "best")}
    return [need for need in needs if need.split(":")[0] + ":" not in yielded]


def only_who_is_asked_for():
    step = [names for _, names in peers.plan({"peers.redsync/redis_crowd:per_second", "peers.liblock/redis_two:share"})]
    return same(step, [["redis_crowd", "redsync"], ["redis_two", "liblock"]])


def orders():
    """In five rounds nobody has a place twice, and in all of them everybody is there."""
    problems = []
    for count in (1, 2, 4, 7, 11):
        names = [str(nth) for nth in range(count)]
        rounds = [peers.in_turn(names, nth) for nth in range(5)]
        problems += [f"{order}" for order in rounds if sorted(order) != sorted(names)]
        places = {order.index("0") for order in rounds}
        problems += same(len(places), min(5, count)) + same(rounds[0], names)
    return problems


def failing_peers():
    needs = {f"peers.{name}/redis_turns:p50_us" for name in ("liblock", "rslock", "redsync")}
    row = peer_rows.Row("X", "a title", peer_rows.each(("liblock", "rslock", "redsync"), "turns", "p50_us", "us"))
    full = dict.fromkeys(needs, 1.0)
    lacking = {need: value for need, value in full.items() if "rslock/" not in need}
    peers.FAILURES["rslock"] = "rslock: it broke"
    missing = peers.failed(needs, [full, lacking])
    del peers.FAILURES["rslock"]
    entries = report.figures((row,), [full, lacking], missing)
    said = {entry["label"]: entry["missing"] for entry in entries if entry.get("missing")}
    return same(said, {"rslock": "missing here: rslock: it broke"})


def by_day():
    parts = [part for row in peer_rows.PEERS for part in row.parts if any("Redisson" in need for need in part.needs)]
    planned = peers.plan({need for row in peer_rows.PEERS for need in row.needs})
    problems = same({name for _, names in planned for name in names if "Redisson" in name}, set())
    return problems + same({part.label for part in parts},
                           {"liblock / Redisson RLock (told by pub/sub)", "pairs, liblock / Redisson RLock"})


def not_to_be_had():
    def broken(_build):
        raise peer_clients.Missing("no network")
    client = peer_clients.Client("it", broken)
    peers.BY_NAME["it"] = client
    step, absent = peers.available("", (peers.PROGRAM, ["redis_turns", "it"]))
    why = peers.why_not("", "it")
    del peers.BY_NAME["it"]
    return same((step[1], absent, why), ([], ["it"], "it (no network)"))


def whose_metric():
    cases = (("peers.redsync/a:b", "peers", "redsync", True), ("peers.redsync/a:b", "peers", "redis", False),
             ("pairs.absl/hot", "pairs", "absl/hot", True), ("pairs.absl/hot", "pairs", "absl", False))
    return [str(case) for case in cases if programs.is_of(*case[:3]) != case[3]]


def figures_of_jmh():
    text = '[{"benchmark": "peers.KeyedPairs.countedPair", "primaryMetric": {"score": 7.5, "scoreUnit": "ns/op"}}]'
    found = java_peers.read(text)
    try:
        java_peers.read(text.replace("ns/op", "us/op"))
        return ["a figure of another unit was taken"]
    except peer_contest.Failed:
        return same(found, {java_peers.COUNTED: 7.5})


def main():
    tap = Tap()
    tap.rule("a_client_that_lets_two_in_at_once_is_no_lock", two_at_once())
    tap.rule("a_client_under_which_additions_are_lost_is_no_lock", lost_additions())
    tap.rule("a_hand_over_is_from_the_release_to_the_waiter_s_having_it", hand_overs())
    tap.rule("a_hand_over_into_which_the_releaser_came_again_is_left_out", disturbed_hand_overs())
    tap.rule("who_asked_after_the_release_was_not_handed_anything", nobody_waited())
    tap.rule("a_pair_is_both_calls_and_not_what_is_between_them", pairs())
    tap.rule("rates_are_of_the_time_in_which_everybody_is_at_it", rates())
    tap.rule("a_process_that_starves_has_no_share_and_a_long_wait", one_process_starves())
    tap.rule("who_is_overtaken_had_fewer_ahead_than_were_let_in", overtaken())
    tap.rule("the_best_peer_is_a_peer", best_of_the_peers())
    tap.rule("every_figure_of_a_row_is_measured", every_need_is_measured())
    tap.rule("a_contest_is_run_with_those_who_are_asked_for", only_who_is_asked_for())
    tap.rule("in_each_round_another_client_comes_first", orders())
    tap.rule("a_peer_that_failed_in_one_round_is_missing_by_name", failing_peers())
    tap.rule("judged_rows_of_nightly_peers_stay_by_day_and_name_them", by_day())
    tap.rule("a_peer_that_cannot_be_had_is_missing_with_its_reason", not_to_be_had())
    tap.rule("a_metric_belongs_to_one_client", whose_metric())
    tap.rule("what_jmh_measured_in_another_unit_is_no_figure", figures_of_jmh())
    tap.finish()


if __name__ == "__main__":
    main()
