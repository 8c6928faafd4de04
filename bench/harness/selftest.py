#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Figures, verdicts and the README are computed as they should be: a report that flatters is worse than none."""
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent.parent / "tools")]

from harness import machine, programs, report, rows  # noqa: E402
from tap import Tap  # noqa: E402

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
        return [f"read as {programs._read(text, 'p')}"]
    except programs.Failed as failure:
        return [] if "broken" in str(failure) else [str(failure)]


def units_and_repetitions():
    text = """{"benchmarks": [
      {"name": "a/iterations:1/real_time", "run_type": "iteration", "real_time": 1, "time_unit": "us", "hops": 7.0},
      {"name": "a/iterations:1/real_time", "run_type": "iteration", "real_time": 3, "time_unit": "us", "hops": 9.0},
      {"name": "a/iterations:1/real_time", "run_type": "iteration", "real_time": 2, "time_unit": "us", "hops": 8.0},
      {"name": "a_mean", "run_type": "aggregate", "real_time": 99, "time_unit": "us"}]}"""
    found = programs._read(text, "p")
    return [] if found == {"p.a": 2000, "p.a:hops": 8} else [str(found)]


def readme_table():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "README.md")
        pathlib.Path(path).write_text(f"before\n{report.FIGURES_BEGIN}\nold\n{report.FIGURES_END}\nafter\n")
        report.into_readme(path, "new")
        report.into_readme(path, "newer")
        text = pathlib.Path(path).read_text()
    wanted = f"before\n{report.FIGURES_BEGIN}\n\nnewer\n\n{report.FIGURES_END}\nafter\n"
    return [] if text == wanted else [text]


def one_process_for_memory():
    steps = programs.plan({need for row in rows.LOCAL for need in row.needs})
    shared = [names for program, names in steps if program == "million" and len(names) != 1]
    return shared if len([1 for program, _ in steps if program == "million"]) == 4 else [str(steps)]


def rows_of_the_issue():
    wanted = {f"L{n}" for n in (1, 2, 3, 4, 5, 7, 9, 10, 11, 12, 13, 14, 15)}
    found = {row.id for row in rows.LOCAL if any(part.goal for part in row.parts)}
    required = {row.id for row in rows.LOCAL if row.required}
    problems = [f"rows {wanted ^ found}"] if wanted != found else []
    if required != {"L1", "L2", "L3", "L4", "L7", "L10", "L11", "L13"}:
        problems.append(f"required {required}")
    return problems + ([] if rows.select("l7") and rows.select("ALL") and not rows.select("L6") else ["select"])


def main():
    tap = Tap()
    tap.rule("a_row_that_misses_its_reach_is_said_to_miss_it", verdicts())
    tap.rule("a_program_that_reports_an_error_yields_no_figure", errors_of_programs())
    tap.rule("a_missing_peer_is_named_and_not_judged", missing_peers())
    tap.rule("a_ratio_is_taken_within_a_round_before_the_median", ratios_by_round())
    tap.rule("repetitions_become_a_median_in_nanoseconds", units_and_repetitions())
    tap.rule("foreign_load_is_a_share_of_all_cpus", foreign_load())
    tap.rule("memory_is_measured_once_per_process", one_process_for_memory())
    tap.rule("every_row_is_there_and_can_be_chosen", rows_of_the_issue())
    tap.rule("the_table_in_the_readme_is_replaced_and_nothing_else", readme_table())
    tap.finish()


if __name__ == "__main__":
    main()
