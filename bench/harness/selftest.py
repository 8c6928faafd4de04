#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Figures, verdicts and the README are computed as they should be: a report that flatters is worse than none."""
import io
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent.parent / "tools")]

from harness import groups, machine, others, profiling, programs, progress  # noqa: E402
from harness import recording, report, rows, servers  # noqa: E402
from tap import Tap  # noqa: E402

BEGIN, END = "<!-- figures X: begin (written by run.py --write) -->", "<!-- figures X: end -->"
ROW = rows.Row("X1", "a title", (rows.ratio("a / b", "p.a", "p.b", rows.at_most(2.5, 1.8)),), required=True)


def verdicts():
    low, high = rows.at_most(2.5, 1.8), rows.at_least(0.8, 1.3)
    cases = [(low, 2.51, "MISSED"), (low, 2.5, "reach met"), (low, 1.81, "reach met"), (low, 1.8, "aim met"),
             (high, 0.79, "MISSED"), (high, 0.8, "reach met"), (high, 1.29, "reach met"), (high, 1.3, "aim met"),
             (low, float("nan"), "MISSED"), (high, float("nan"), "MISSED")]
    return [f"{goal} {value}: {goal.verdict(value)}" for goal, value, word in cases if goal.verdict(value) != word]


def ratios_by_round():
    # The median of the ratios is 2, while the ratio of the medians would be 3.
    taken = [{"p.a": 2, "p.b": 1}, {"p.a": 30, "p.b": 15}, {"p.a": 6, "p.b": 2}]
    entry = report.figures((ROW,), taken, {})[0]
    found = (entry["median"], entry["min"], entry["max"])
    return [] if found == (2, 2, 3) else [f"median, least, greatest: {found}"]


def missing_peers():
    entry = report.figures((ROW,), [{"p.a": 1}], {"p.b": "oneTBB (libtbb-dev)"})[0]
    text = report.as_text((ROW,), [entry])
    return [] if "missing here: oneTBB (libtbb-dev)" in text and "aim met" not in text else [text]


def foreign_load():
    with machine.ForeignLoad() as load:
        sum(range(3_000_000))  # our own work must not be taken for somebody else's
    return [] if 0 <= load.share <= 1 else [f"share {load.share}"]


def errors_of_programs():
    text = '{"benchmarks": [{"name": "a", "error_occurred": true, "error_message": "broken", "real_time": 1}]}'
    try:
        return [f"read as {programs.read_benchmarks(text, 'p')}"]
    except programs.Failed as failure:
        return [] if "broken" in str(failure) else [str(failure)]


def units_and_repetitions():
    text = """{"benchmarks": [
      {"name": "a/iterations:1/real_time", "run_type": "iteration", "real_time": 1, "time_unit": "us", "hops": 7.0},
      {"name": "a/iterations:1/real_time", "run_type": "iteration", "real_time": 3, "time_unit": "us", "hops": 9.0},
      {"name": "a/iterations:1/real_time", "run_type": "iteration", "real_time": 2, "time_unit": "us", "hops": 8.0},
      {"name": "a_mean", "run_type": "aggregate", "real_time": 99, "time_unit": "us"}]}"""
    found = programs.read_benchmarks(text, "p")
    return [] if found == {"p.a": 2000, "p.a:hops": 8} else [str(found)]


def speed_of_the_machine():
    rounds = [{"floor": 4.0, "rate": 50.0, "ours": 1.0}, {"floor": 5.0, "rate": 80.0, "ours": 9.0}, {"floor": 4.5}]
    found = tuple(report.swing(probes, rounds) for probes in (("floor", "rate", "absent"), (), ("absent",)))
    problems = [] if found == ((1.6, "rate", 1.6), None, None) else [str(found)]
    disturbed_twice = [{"floor": value, "rate": 1.0} for value in (9.0, 4.0, 5.0, 4.0, 1.0)]
    if report.swing(("rate", "floor"), disturbed_twice) != (1.25, "floor", 9.0):
        problems.append("the least and the greatest round of a program are not left out")
    for name, table in groups.TABLES.items():
        needs = {need for row in table.rows for need in row.needs}
        problems += [f"{name} has no {probe}" for probe in table.probes if probe not in needs]
    run = {"when": "2026", "version": "1", "rounds": 3, "machine": dict.fromkeys(("cpu", "cpus", "kernel", "libc"), ""),
           "build": {"compiler": ""}, "foreign": 0, "metrics": rounds}
    said = report.as_markdown(groups.Table((), "", "", "", ("floor:a", "rate", "floor", "absent")), [], run)
    if "Of 2 programs that are not liblock's and keep one CPU busy (rate, floor) the one that changed most took " \
       "up to 1.60 times" not in said:
        problems.append(said)
    return problems


def builds_described():
    """A build says what it is; a result that does not know says less, and nothing wrong."""
    cases = (({"optimization": "3", "debug": True, "b_ndebug": "false", "buildtype": "debug"},
              "optimization 3, with debug information and assertions"),
             ({"optimization": "3", "b_ndebug": "if-release", "buildtype": "release"}, "optimization 3"),
             ({"optimization": "2", "b_ndebug": True}, "optimization 2"),
             ({"optimization": "3", "buildtype": "debug"}, "optimization 3"))
    return [machine.build_words(build) for build, words in cases if machine.build_words(build) != words]


def other_hosts():
    """A figure of another host is judged by today's mark, and one that does not follow from its rounds is found."""
    part, row = next((part, row) for row in groups.TABLES["L"].rows for part in row.parts if part.goal)
    entry = {"row": row.id, "label": part.label, "reach": "<= 2.5", "values": [2.0, 9.0, 4.0], "median": 4.0,
             "min": 2.0, "max": 9.0, "verdict": "aim met", "differs": "of less"}
    run = {"figures": [entry], "build": {"warnings": []}}
    problems = list(others.problems("x", run))
    if others.cell(part, entry) != "4.00 (2.00 - 9.00) MISSED, of less" or others.cell(part, None) != "not measured":
        problems.append(others.cell(part, entry))
    for wrong in ({**entry, "median": 3.9}, {**entry, "label": "gone"}):
        if not list(others.problems("x", {**run, "figures": [wrong]})):
            problems.append(f"taken for right: {wrong}")
    return problems


def readme_table():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "README.md")
        pathlib.Path(path).write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
        report.into_page(path, "figures X", "new")
        report.into_page(path, "figures X", "newer")
        text = pathlib.Path(path).read_text()
    wanted = f"before\n{BEGIN}\n\nnewer\n\n{END}\nafter\n"
    return [] if text == wanted else [text]


def one_process_for_memory():
    steps = programs.plan({need for row in groups.GROUPS["all"] for need in row.needs})
    shared = [names for program, names in steps if program == "million" and len(names) != 1]
    return shared if len([1 for program, _ in steps if program == "million"]) == 4 else [str(steps)]


def rows_of_the_issue():
    wanted = {*(f"L{n}" for n in (1, 2, 3, 4, 5, 7, 9, 10, 11, 12, 13, 14, 15)), *(f"R{n}" for n in range(1, 10)), "S1",
              "P1", "P2", "F1", "F2"}
    every = groups.GROUPS["all"]
    found = {row.id for row in every if any(part.goal for part in row.parts)}
    required = {row.id for row in every if row.required}
    problems = [f"rows {wanted ^ found}"] if wanted != found else []
    if required != {"L1", "L2", "L3", "L4", "L7", "L10", "L11", "L13"}:
        problems.append(f"required {required}")
    for name, ids in (("l7", {"L7"}), ("ALL", wanted), ("redis", {f"R{n}" for n in range(1, 8)}),
                      ("quorum", {"R8", "R9"}), ("L6", None)):
        rows_found = groups.select(name)
        if (rows_found and {row.id for row in rows_found}) != ids:
            problems.append(f"{name} stands for {rows_found}")
    return problems


def rows_twice():
    """Who asks for the peers and for those of the night gets one table of them."""
    both = groups.once({*groups.GROUPS["peers"], *groups.GROUPS["nightly"]})
    by_day = groups.once(set(groups.GROUPS["peers"]))
    problems = [] if both == groups.GROUPS["nightly"] else [f"both: {[row.id for row in both]}"]
    return problems if by_day == groups.GROUPS["peers"] else problems + [f"by day: {[row.id for row in by_day]}"]


def tables_written():
    local = groups.TABLES["L"].rows
    by_day = [name for name in groups.TABLES if name != "P"]
    cases = ((groups.GROUPS["all"], by_day), (local, ["L"]), (local[1:], []), (groups.GROUPS["nightly"], ["P"]))
    return [f"{names}, not those of {[row.id for row in selected]}" for selected, names in cases
            if groups.whole(selected) != [groups.TABLES[name] for name in names]]


def known_benchmarks():
    """What a row needs of servers is measured by somebody, and what is measured is needed."""
    needed = {need.split(":")[0] for row in groups.GROUPS["all"] for need in row.needs}
    measured = {f"{group}.{name}" for group, names in servers.GROUPS.items() for name in names}
    needed = {need for need in needed if need.split(".")[0] in servers.GROUPS}
    return sorted(needed ^ measured)


class Terminal(io.StringIO):
    def __init__(self, moves):
        super().__init__()
        self.moves = moves

    def isatty(self):
        return self.moves


def progress_shown():
    problems = []
    for moves in (True, False):
        out = Terminal(moves)
        shown = progress.Progress(2, out)
        shown.begins("one")
        shown.begins("two")
        shown.ends()
        lines = out.getvalue().count("\n")
        if lines != (0 if moves else 2):
            problems.append(f"{lines} lines: {out.getvalue()!r}")
    return problems


def recorded_pair():
    key, now = b"fadcd1b7938a022e", 1_700_000_000_000_000
    attempt = b"92f03892129a55faabc0b0b1ce7e185c"
    acquire = [b"EVALSHA", b"5" * 40, b"1", b"liblock:" + key, b"ll1:f:{liblock:" + key + b"}", attempt,
               b"12-c421f4cc380a3a0a@vm", b"30000", b"%d" % (now + 2_000_000)]
    release = [b"EVALSHA", b"6" * 40, b"1", b"liblock:" + key, attempt]
    pair = recording.Recording(acquire, release, key, now)
    other = pair.with_number(pair.acquire, 7)
    problems = [] if pair.lock_key == b"liblock:" + key and pair.id == attempt else [f"{pair.lock_key} {pair.id}"]
    if other[3:6] != [b"liblock:0000000000000007", b"ll1:f:{liblock:0000000000000007}", b"%032x" % 8]:
        problems.append(f"another key: {other}")
    if other[7:] != [b"30000", b"%d" % (now + 3_602_000_000)] or other[6] != acquire[6]:
        problems.append(f"what does not vary: {other}")
    try:
        recording.Recording(acquire, [b"EVALSHA", b"6" * 40, b"1", b"other"], key, now)
        problems.append("a release of something else passes for its release")
    except ValueError:
        pass
    return problems


def joined_release():
    """The locks that one call gives back are those of the acquires before it, and vary with them."""
    attempt = [b"%032x" % (0xabc << 100 | nth) for nth in range(3)]
    names = [b"l:%016x" % (7 << 60 | nth) for nth in range(3)]
    acquires = [[b"EVALSHA", b"5" * 40, b"1", name, each, b"0"] for name, each in zip(names, attempt)]
    single = recording.Recording(acquires[0], [b"EVALSHA", b"6" * 40, b"1", names[0], attempt[0]], names[0][2:], 1)
    alone = [b"EVALSHA", b"6" * 40, b"1", names[2], attempt[2]]
    both = [b"EVALSHA", b"6" * 40, b"2", *names[:2], b"100", *attempt[:2]]
    joined = recording.JoinedRelease(single, [*acquires, alone, both])
    wanted = [b"EVALSHA", b"6" * 40, b"2", *(b"l:%016d" % n for n in (4, 5)), b"100", *(b"%032x" % n for n in (5, 6))]
    problems = [] if joined.with_numbers(4) == wanted else [str(joined.with_numbers(4))]
    if [words[3:5] for words in (single.with_number(single.acquire, 4),)] != [[wanted[3], wanted[6]]]:
        problems.append("the acquire of the same number is of another lock")
    try:
        recording.JoinedRelease(single, [*acquires, alone])
        problems.append("releases that went by themselves pass for joined ones")
    except ValueError:
        pass
    return problems


def monitor_lines():
    said = b'1.5 [0 127.0.0.1:4] "EVALSHA" "a\\x00\\"b\\\\" ""\r\n'
    by_script = b'1.5 [0 lua] "GET" "a"\r\n'
    found = recording.parse(said), recording.parse(by_script)
    return [] if found == ([b"EVALSHA", b'a\x00"b\\', b""], None) else [str(found)]


SAMPLED = """
       bench-load  5581 liblock::Table::try_fast(liblock::Key const&, int) (/a/liblock.so.0.1.0)
       bench-load  5582 liblock::Table::try_fast(liblock::Key const&, int) [clone .constprop.0] (/a/liblock.so.0.1.0)
  redis-server *:  5583 [unknown] (/usr/bin/redis-check-rdb)
     liblock-loop  ffffffff82 futex_wake ([kernel.kallsyms])
          python3  5584 _PyEval (/usr/bin/python3)
"""


def samples_counted():
    profile = profiling.shares(profiling.counted(SAMPLED))
    wanted = {"kind": "samples", "samples": 4,
              "threads": [["bench-load", 50.0], ["redis-server *:", 25.0], ["liblock-loop", 25.0]],
              "files": [["bench-load", "liblock", 50.0], ["redis-server *:", "redis-server", 25.0],
                        ["liblock-loop", "kernel", 25.0]],
              "functions": [["bench-load", "Table::try_fast", 50.0],
                            ["redis-server *:", "without a name in redis-server", 25.0],
                            ["liblock-loop", "futex_wake", 25.0]]}
    return [] if profile == wanted else [str(profile)]


ANNOTATED = """Ir                  DLmr            DLmw
1,000 (100.0%) 30 (100.0%) .            PROGRAM TOTALS

Ir                  DLmr            DLmw            file:function
100 (10.00%) 28 (93.33%) 2 ( 6.7%)  ../core/a.cpp:liblock::Chunk::has_overdue(long) const [/a/liblock.so]
800 (80.00%)  2 ( 6.67%) .          ../core/a.cpp:liblock::sweep(liblock::Table&)::{lambda()#1}::operator()() [/a/x]
100 (10.00%)  .          .          ../core/b.hpp:liblock::sweep(liblock::Table&)::{lambda()#1}::operator()() const
"""


def calls_counted():
    profile = profiling.instructions(ANNOTATED)
    wanted = {"kind": "instructions", "instructions": 1000, "misses": 30,
              "functions": [["sweep::{lambda#1}::operator", 900, 2], ["Chunk::has_overdue", 100, 30]]}
    return [] if profile == wanted else [str(profile)]


def empty_profiles():
    problems = []
    for what in (lambda: profiling.shares(profiling.counted("")), lambda: profiling.instructions("")):
        try:
            problems.append(f"nothing is {what()}")
        except programs.Failed:
            pass
    return problems


def main():
    tap = Tap()
    tap.rule("a_row_that_misses_its_reach_is_said_to_miss_it", verdicts())
    tap.rule("a_program_that_reports_an_error_yields_no_figure", errors_of_programs())
    tap.rule("a_missing_peer_is_named_and_not_judged", missing_peers())
    tap.rule("a_ratio_is_taken_within_a_round_before_the_median", ratios_by_round())
    tap.rule("repetitions_become_a_median_in_nanoseconds", units_and_repetitions())
    tap.rule("foreign_load_is_a_share_of_all_cpus", foreign_load())
    tap.rule("a_machine_that_changes_its_speed_is_found_out_by_what_is_not_ours", speed_of_the_machine())
    tap.rule("memory_is_measured_once_per_process", one_process_for_memory())
    tap.rule("every_row_is_there_and_can_be_chosen", rows_of_the_issue())
    tap.rule("a_row_of_the_day_is_not_measured_beside_that_of_the_night", rows_twice())
    tap.rule("only_tables_of_which_every_row_was_measured_are_written", tables_written())
    tap.rule("every_benchmark_with_servers_is_measured_for_a_row", known_benchmarks())
    tap.rule("progress_moves_on_a_terminal_and_is_lines_elsewhere", progress_shown())
    tap.rule("a_recorded_pair_is_varied_in_key_attempt_and_time_alone", recorded_pair())
    tap.rule("a_joined_release_gives_back_what_the_acquires_of_its_numbers_took", joined_release())
    tap.rule("what_a_script_asks_is_not_taken_for_a_command", monitor_lines())
    tap.rule("a_sample_counts_for_its_thread_and_function_and_the_measuring_for_nothing", samples_counted())
    tap.rule("of_a_call_instructions_and_misses_are_read_by_function", calls_counted())
    tap.rule("a_profile_of_nothing_is_none", empty_profiles())
    tap.rule("what_is_known_of_a_build_is_said_and_no_more", builds_described())
    tap.rule("figures_of_other_hosts_are_judged_by_the_marks_of_today", other_hosts())
    tap.rule("the_table_in_the_readme_is_replaced_and_nothing_else", readme_table())
    tap.finish()


if __name__ == "__main__":
    main()
