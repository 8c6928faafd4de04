#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The guard bites: what costs more than the baseline says is a failure, by the instruments themselves and not only by
arithmetic. Usage: selftest.py COSTS AGENT."""
import contextlib
import copy
import io
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from counting import Failed, per_operation, traffic_of  # noqa: E402
import run  # noqa: E402
from paths import KNOWN, PATHS, Path  # noqa: E402
from table import is_current, write_table  # noqa: E402
from tap import Tap  # noqa: E402

COUNTED = "local: is_held"
REMOTE = Path("redis", "remote", "", 1, ("instructions", "allocations", "commands", "writes", "round_trips"))
PACED = REMOTE._replace(is_paced=True)
FIGURES = {"instructions": 1000.0, "allocations": 0.0, "commands": 2.0, "writes": 2.0, "round_trips": 2.0}


def judged(found, known, is_same_maker=True, path=REMOTE):
    """What is said of these figures: (names of broken rules, everything)."""
    with contextlib.redirect_stdout(io.StringIO()) as said:
        run.judge(Tap(), path, found, known, is_same_maker)
    return [line for line in said.getvalue().splitlines() if line.startswith("not ok")], said.getvalue()


def run_with(doctor, arguments):
    """The driver with a baseline that was tampered with: what it printed, and its status."""
    baseline = json.loads(run.BASELINE.read_text())
    doctor(baseline["paths"][COUNTED])
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(baseline, file)
        file.flush()
        done = subprocess.run([sys.executable, HERE / "run.py", *arguments, "--only", COUNTED, "--baseline", file.name],
                              capture_output=True, text=True)
    return done.returncode, [line for line in done.stdout.splitlines() if line.startswith("not ok") and COUNTED in line]


def check_arithmetic(tap):
    for kind, figure in FIGURES.items():
        more = dict(FIGURES, **{kind: figure * 1.1 + 0.02})
        broken, _ = judged(more, FIGURES)
        tap.rule(f"more_{kind}_than_the_baseline_is_a_failure", [] if len(broken) == 1 and kind.split("_")[0] in
                 broken[0] else broken or ["nothing failed"])
    broken, said = judged(FIGURES, {})
    tap.rule("what_the_baseline_does_not_have_is_a_failure", [] if len(broken) == len(FIGURES) else [said])
    broken, said = judged(dict(FIGURES, instructions=1070.0), FIGURES)
    tap.rule("within_the_tolerance_nothing_is_said", [said] if broken or "#" in said else [])
    paced = dict(FIGURES, allocations=10.0)
    broken, said = judged(dict(paced, allocations=12.5), paced, path=PACED)
    tap.rule("what_the_clock_paces_may_differ_a_little", [said] if broken or "#" in said else [])
    broken, said = judged(dict(paced, allocations=13.5), paced, path=PACED)
    tap.rule("and_not_by_more", [] if len(broken) == 1 else [said])
    broken, said = judged(dict(FIGURES, allocations=0.2), FIGURES, path=REMOTE._replace(where="quorum"))
    tap.rule("a_node_that_lags_may_cost_a_block_now_and_then", [said] if broken else [])
    broken, said = judged(dict(FIGURES, allocations=0.5), FIGURES, path=REMOTE._replace(where="quorum"))
    tap.rule("and_not_one_for_every_other_pair", [] if len(broken) == 1 else [said])
    broken, said = judged(dict(FIGURES, instructions=900.0, writes=1.0), FIGURES)
    tap.rule("what_became_better_is_told_and_no_failure", [said] if broken or said.count("# better") != 2 else [])
    broken, said = judged(dict(FIGURES, instructions=1400.0), FIGURES, is_same_maker=False)
    tap.rule("another_compiler_may_differ_more", [said] if broken else [])
    broken, _ = judged(dict(FIGURES, instructions=2000.0, commands=3.0), FIGURES, is_same_maker=False)
    tap.rule("another_compiler_hides_neither_a_doubling_nor_a_command", [] if len(broken) == 2 else broken)


def check_trace(tap):
    sent = ["SYSCALL[7,1](1) sys_write ( 9, 0x1, 90 ) --> [async] ... ",
            "SYSCALL[7,1](1) ... [async] --> Success(0x5a) "]
    mark = "SYSCALL[7,1](110) sys_getppid ( )[sync] --> Success(0x6) "
    trace = "\n".join([
        "SYSCALL[7,1](42) sys_connect ( 9, 0x1, 16 ) --> [async] ... ", *sent, mark,
        "SYSCALL[7,1](228) sys_clock_gettime( 6, 0x1 )[sync] --> Success(0x0) ",
        "SYSCALL[7,1](0) sys_read ( 9, 0x1, 90 ) --> [async] ... ", "SYSCALL[7,1](0) ... [async] --> Success(0x5) ",
        *sent,
        "SYSCALL[7,1](0) sys_read ( 9, 0x1, 90 ) --> [async] ... ", "SYSCALL[7,1](0) ... [async] --> Failure(0xb) ",
        *sent,
        "SYSCALL[7,1](1) sys_write ( 9, 0x1, 14 ) --> [async] ... ", "SYSCALL[7,1](1) ... [async] --> Success(0xe) ",
        "SYSCALL[7,1](1) sys_write ( 4, 0x1, 8 ) --> [async] ... ", "SYSCALL[7,1](1) ... [async] --> Success(0x8) ",
        "SYSCALL[7,2](0) sys_read ( 9, 0x1, 90 ) --> [async] ... ", "SYSCALL[7,2](0) ... [async] --> Success(0x5) ",
        *sent, mark, *sent])
    found = traffic_of(trace)
    tap.rule("a_write_behind_an_answer_is_a_round_trip_and_no_other_is", [] if found == (8, 3, 2) else [str(found)])


def check_growth(tap):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        for now in (1400.0, 1410.0):
            run.judge_growth(Tap(), REMOTE, dict(FIGURES, instructions=now), FIGURES)
    broken = [line.startswith("not ok") for line in said.getvalue().splitlines() if "ok 1" in line]
    tap.rule("what_grows_faster_than_n_log_n_is_a_failure", [] if broken == [False, True] else [said.getvalue()])
    known = {path.name for path in PATHS}
    tap.rule("a_path_that_may_not_grow_is_compared_with_one_that_is_there",
             [path.tenth for path in PATHS if path.tenth and path.tenth not in known])


def check_instruments(tap, arguments):
    found, _ = per_operation(arguments[0], KNOWN.walk, KNOWN.rounds)
    is_seen = found["allocations"] == 1 and found["system_calls"] == 1 and 10 < found["instructions"] < 10000
    tap.rule("one_allocation_and_one_system_call_are_seen_as_such", [] if is_seen else [str(found)])
    try:
        per_operation(arguments[0], "acquire on servers", 1, "redis://127.0.0.1:1/0")
        tap.rule("a_path_that_cannot_be_walked_is_a_failure", ["it was counted"])
    except Failed as failure:
        tap.rule("a_path_that_cannot_be_walked_is_a_failure", [] if "CONNECT" in str(failure) else [str(failure)])

    status, broken = run_with(lambda known: known.update(instructions=known["instructions"] * 0.9), arguments)
    tap.rule("a_doctored_baseline_fails", [] if status == 1 and len(broken) == 1 else [f"status {status}", *broken])
    status, broken = run_with(lambda known: None, arguments)
    tap.rule("the_same_baseline_as_it_is_does_not", broken)


def check_table(tap):
    baseline = json.loads(run.BASELINE.read_text())
    changed = copy.deepcopy(baseline)
    changed["paths"][COUNTED]["instructions"] *= 2
    is_stale = is_current(run.ROOT, baseline) and not is_current(run.ROOT, changed)
    tap.rule("a_table_that_was_not_written_anew_is_seen", [] if is_stale else ["it was not"])
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        (root / "bench").mkdir()
        (root / "bench" / "README.md").write_text((run.ROOT / "bench" / "README.md").read_text())
        write_table(root, changed)
        tap.rule("a_table_written_anew_is_current", [] if is_current(root, changed) else ["it is not"])
    missing = {path.name for path in PATHS} ^ set(baseline["paths"])
    tap.rule("the_baseline_has_each_path_and_no_other", sorted(missing))


def main():
    tap = Tap()
    check_arithmetic(tap)
    check_growth(tap)
    check_trace(tap)
    check_table(tap)
    check_instruments(tap, sys.argv[1:])
    tap.finish()


if __name__ == "__main__":
    main()
