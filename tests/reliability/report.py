#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/reliability.md, written by the run itself: from what the suites left in build/reliability.

  report.py ROOT            prints the tables of what the suites left there
  report.py ROOT --write    keeps that (results.json; of what did not run, or ran in a smaller size, what was kept
                            before) and puts the tables into the page
  report.py ROOT --stamp T  notes of which commit, and on how many processors, that is which was left there since T
                            (seconds since 1970)
  report.py ROOT --check    wants the page to be what results.json says, and each goal to be met there; TAP
  report.py ROOT --goal G   says what the suites left of that goal; status 1 where it is not met by that
"""
import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tools")]
import goals  # noqa: E402  (the path had to be set first)
import plan  # noqa: E402
from tap import Tap  # noqa: E402

KEPT = HERE / "results.json"
BEGIN = "<!-- reliability: begin (written by tests/reliability/report.py --write) -->"
END = "<!-- reliability: end -->"
SINGLE = ("sim", "mutants", "mutants-elsewhere", "fuzz", "soak", "security", "coverage", "nemesis", "nemesis-each",
          "nemesis-valkey", "gate")
SIZES = ["quick", "gate", "nightly"]
# How much of it there was, by which a small run does not take the place of a large one.
WEIGHTS = {"sim": lambda run: run["seeds"], "soak": lambda run: run["minutes"],
           "fuzz": lambda run: (len(run["executions"]), run["seconds"]),
           **dict.fromkeys(("nemesis", "nemesis-each", "nemesis-valkey"), lambda run: run["worlds"])}
WHAT_BEFALLS = {
    "arrival": "a process begins", "break": "connections are reset",
    "cut": "nothing passes between a process and a node",
    "deaf": "a node's connections end, some without a word", "eviction": "a node evicts a lock, or what it knows",
    "fence expired": "a key's fence is gone, as an hour later", "flush": "FLUSHALL", "freeze": "a node stands still",
    "half cut": "nothing passes in one direction", "hold up": "what is sent arrives late, and all at once",
    "kill": "a process is killed", "loss": "a node is restarted without its data",
    "lossy": "a connection breaks every few messages", "operator kill": "who gives the quorum other nodes is killed",
    "pause": "a process stands still", "replacement": "another server stands in a node's place",
    "replica": "a node is made a replica, and a primary again", "restart": "a node is restarted with its data",
    "ring": "each process reaches a majority, and each another one",
    "rollback": "a node is restarted with the data of a while ago", "script flush": "SCRIPT FLUSH",
    "silent": "a node's answers are lost", "step ahead": "a node's clock jumps ahead", "step back": "and back",
    "suspend": "a process stands still, and the clock that counts for leases goes on",
}


def gathered(folder):
    """What the suites left, each with the day of its run."""
    results = {"suites": {}}
    for name in SINGLE:
        path = folder / f"{name}.json"
        if path.exists():
            results[name] = json.loads(path.read_text(encoding="utf-8"))
            results[name]["day"] = day(path)
    for path in sorted(folder.glob("suite-*.jsonl")):
        if not (HERE.parents[1] / "tools/suites" / f"{path.stem.removeprefix('suite-')}.sh").exists():
            continue  # somebody tried something by hand
        suite = {"programs": {}, "day": day(path)}
        for line in path.read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            if "program" in one:
                add_program(suite["programs"], one.pop("program"), one)
            else:
                suite |= one
        results["suites"][path.stem.removeprefix("suite-")] = suite
    return results


def add_program(programs, name, one):
    """A program may run several times in a suite: in several builds, or with other arguments."""
    before = programs.setdefault(name, {"tests": {}, "passed": 0, "failed": 0, "skipped": 0})
    before["tests"].update(one["tests"])
    for count in ("passed", "failed", "skipped"):
        before[count] += one[count]


def day(path):
    return datetime.date.fromtimestamp(path.stat().st_mtime).isoformat()


def slim(results, whole):
    """Without the names of tests and programs that neither a goal nor the plan asks for of the whole, with what was
    kept, so that a change of one is no change of what is kept."""
    tests, programs = set(), set()

    class Noting(goals.Results):
        def test(self, part):
            tests.add(part)
            return super().test(part)

        def program(self, suite, program):
            programs.add((suite, program))
            return super().program(suite, program)
    asked = Noting(whole)
    list(goals.judged(asked))
    plan.rows(asked)
    for suite, one in results["suites"].items():
        for program in one["programs"].values():
            program["tests"] = {name: figures for name, figures in program["tests"].items()
                                if any(part in name for part in tests) or "rare events" in name or "may fail" in name}
        if suite not in ("api", "sim", "faults"):
            one["programs"] = {name: program for name, program in one["programs"].items()
                               if program["tests"] or (suite, name) in programs}
    return results


def has_failed(name, run):
    """So that no run takes its place but one as large as what it took the place of."""
    if name == "sim":
        return bool(run["failures"]) or any(run["counters"].get(what) for what in ("double_grants", "bad_tokens"))
    if name.startswith("nemesis"):
        return bool(run.get("unended")) or any(one["violations"] or one["guard_violations"] or one.get("stuck")
                                               for kind in run["kinds"].values() for one in kind.values())
    return bool(run.get("findings")) or not run.get("is_calm", True)


def merged(before, now):
    """Of what did not run, or ran in a smaller size and well, what was there before; and the last gate that passed in
    its time, since it looks at what is kept itself, and could not pass again."""
    def is_less(name):
        if name == "gate" and name in before and not goals.is_gate_in_time(now[name]):
            print("report: gate: it failed, or took more than its 45 minutes; what was kept stays, and is older")
            return True
        if name not in before or name not in WEIGHTS or WEIGHTS[name](now[name]) >= WEIGHTS[name](before[name]):
            return False
        if has_failed(name, now[name]):
            print(f"report: {name}: something failed in it, and it takes the place of a larger run")
            return False
        print(f"report: {name}: what was kept is of a larger run, and stays")
        return True

    def is_smaller(suite):
        kept_size = before.get("suites", {}).get(suite, {}).get("size", SIZES[0])
        if ", 0 failed" not in now["suites"][suite].get("said", ", 0 failed"):
            return False
        return SIZES.index(now["suites"][suite].get("size", SIZES[0])) < SIZES.index(kept_size)

    taken = {name: result for name, result in now.items() if not is_less(name)}
    suites = {name: suite for name, suite in now["suites"].items() if not is_smaller(name)}
    return {**before, **taken, "suites": {**before.get("suites", {}), **suites}}


def says(root, *words):
    return subprocess.run(words, cwd=root, capture_output=True, text=True, check=False).stdout.strip()


def stamp(root, folder, since):
    """Whoever takes the figures over later may stand at another commit."""
    of_now = {"commit": says(root, "git", "describe", "--always", "--dirty"),
              "processors": len(os.sched_getaffinity(0))}
    for path in folder.iterdir():
        if path.stat().st_mtime < since:
            continue
        if path.suffix == ".jsonl":
            with path.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(of_now) + "\n")
        elif path.suffix == ".json":
            path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | of_now) + "\n", encoding="utf-8")


def beside(root):
    """On how many processors, and beside which server, it was taken over."""
    server = os.environ.get("LIBLOCK_REDIS_SERVER", "redis-server")
    return {"processors": len(os.sched_getaffinity(0)), "server": " ".join(says(root, server, "--version").split()[:3])}


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def goals_table(results):
    rows = [(name, wanted, there, "met" if is_met else "**not met**", of_when, f"`{command}`")
            for name, wanted, there, is_met, of_when, command in goals.judged(goals.Results(results))]
    met = sum("**" not in row[3] for row in rows)
    last = results.get("last")
    of = f" {last['processors']} processors, {last['server']}." if last else ""
    gate = results.get("gate", {})
    passed = f" The gate, which has a smaller form of most of them, passed last on {gate['day']}, {gate['commit']}." \
        if gate.get("failed") == 0 and "commit" in gate else ""
    beyond = [there for _, _, there in plan.rows(goals.Results(results))]
    more = sum(there.startswith("met") for there in beyond)
    return f"{met} of {len(rows)} goals are met, as they are worded here; of {len(beyond)} things that the plan asks " \
        f"for beyond them (below), {more}.{of} Beside each stands the day of its run, and the commit, where that was " \
        f"noted.{passed}\n\n" + table(("", "goal", "now", "", "of", "again"), rows)


def kinds_table(run):
    rows = [(name, context, one["seeds"], ", ".join(f"{way.replace('_', ' ')} {count}"
                                                    for way, count in one["ways"].items()),
             one["hits"], one["beside"], one["traces"], one["felt"], one["violations"], one["guard_violations"],
             one["stuck"])
            for name, kind in sorted(run["kinds"].items()) for context, one in sorted(kind.items())]
    return table(("kind", "on", "seeds", "begun", "in flight", "beside others", "traces", "felt", "promises broken",
                  "older tokens let in", "did not go on"), rows)


def of_nemesis(run):
    return f"{kinds_table(run)}\n\n{run['operations']:,} operations, {run['hand_overs']:,} hand-overs, " \
        f"{run['doubles_outside']} times two held at once where that is not promised; without a guard " \
        f"{run['lost_updates_without_guard']} updates were lost (the test bites), with it {run['with_guard']}. " \
        f"Again: `{run['command']}`, {run['day']}."


def nemesis_table(results):
    run = results.get("nemesis")
    if not run:
        return None
    alone, valkey = results.get("nemesis-each"), results.get("nemesis-valkey")
    nothing = f" Of acts that do nothing {100 * goals.share_felt(alone['nothing']):.0f} % count as felt, too." \
        if alone and alone["nothing"] else ""
    who_cuts = "Where lines are cut, the kernel loses the packets: each process had a network namespace of its own." \
        if run["has_islands"] else "Lines were cut by a proxy: no network namespaces could be made there."
    more = "".join(f"\n\n### {title}\n\n{of_nemesis(one)}"
                   for title, one in (("Each alone", alone), ("On Valkey", valkey)) if one)
    return "## Kinds of nemesis\n\n" \
        "Together, as far as they can be. Seeds: those with which it acted. In flight: an acquire or a release was. " \
        "Beside others: another kind acted at the same time. Traces: clients' connections that a killed server had, " \
        "keys that were emptied or evicted, requests that a stopped server had not read, answers LOADING, BUSY, " \
        "READONLY, OOM and NOSCRIPT, clocks that were elsewhere, pieces that were swallowed, held up, reset, or sent " \
        "on as others than they came, those behind their sender's end, packets that were sent again, connections " \
        "that were ended, clients that stood still or were gone, children that found what they should, clients that " \
        "came to the node of another quorum. Felt: a call met by it failed, or its client was gone; or a release " \
        f"took more than five times as long as half of them do.{nothing}\n\nPromised, and judged, is that nobody " \
        "holds what another one holds, that tokens rise, that no update of the resource that looks at tokens is " \
        "lost, and that everybody goes on. Of one server that forgets what it was told, or whose clock jumps (wiped, " \
        "rolled-back, emptied, evicting, failed-over, clock-stepped) the first of these is not promised: there the " \
        f"token is what protects. {who_cuts}\n\n{of_nemesis(run)}{more}"


def faults_table(results):
    sim = results.get("sim")
    if not sim:
        return None
    rows, others = [], []
    for counter, count in sorted(sim["counters"].items()):
        name = counter.removeprefix("fault_").replace("_", " ")
        if counter.startswith("fault_"):
            rows.append((name, WHAT_BEFALLS[name], f"{count:,}"))
        else:
            others.append(f"{name} {count:,}")
    return f"## Faults in {sim['seeds']:,} simulated lives\n\n" + table(("kind", "what happens", "times"), rows) + \
        f"\n\nAll else that was counted there: {', '.join(others)}.\n\nEach seed by itself, after `./dev test quick " \
        f"sim`: `build/release/tests/sim/sim-quorum --seed N`; {sim['day']}."


def mutants_table(results):
    run = results.get("mutants")
    if not run:
        return None
    rows = []
    for one in run["mutants"]:
        found = ["schedules"] * one["schedules"] + [one["life"].split(":")[0]] * bool(one["life"])
        rows.append((one["name"], one["what"], one["equivalent"] or ", ".join(found) or "**nothing**"))
    return "## Faults on purpose\n\nOne at a time in a test build, and what found it: directed schedules " \
        "([tests/unit/quorum/schedules](../tests/unit/quorum/schedules/README.md)), a random life, or both.\n\n" + \
        table(("fault", "what it does", "found by"), rows) + more_faults(results) + \
        f"\n\nAgain: `./dev test mutants`, {run['day']}."


def more_faults(results):
    run = results.get("mutants-elsewhere")
    if not run:
        return ""
    rows = [(one["name"], one["what"], f"`{one['by']}`" if one["by"] else "**nothing**") for one in run["faults"]]
    return "\n\nThose above are of the quorum. Of the local engine, of that of one server, of what both share and " \
        "of what is behind the C API ([tests/mutants](../tests/mutants/README.md)), and the test that found it " \
        "first:\n\n" + \
        table(("fault", "what it does", "found by"), rows)


def plan_table(results):
    return "## Asked for as well\n\nThe plan asks for more than a night or a gate can show:\n\n" + \
        table(("", "asked for", "now"), plan.rows(goals.Results(results)))


def torture_table(results):
    """By what fails, and on what: scenarios, calls that failed in turn, and those that ended the process. A program is
    torture_PLACE, or one of several, torture_PLACE-N."""
    counts = {}
    for program, one in results["suites"].get("faults", {}).get("programs", {}).items():
        for name, figures in one["tests"].items() if "torture" in program else ():
            scenario, _, what = name.replace(", from the start", "").partition(": each ")
            if not what:
                continue
            place = program.removeprefix("torture_").partition("-")[0]
            sums = counts.setdefault(what.removesuffix(" may fail"), {}).setdefault(place, [set(), 0, 0])
            sums[0].add(scenario)
            for i, more in enumerate(goals.calls_and_ends(figures)[:2], 1):
                sums[i] += more
    if not counts:
        return None
    on = ("local", "redis", "quorum")
    cells = {what: [f"{len(one[0])}: {one[1]:,}, {one[2]:,}" if (one := of.get(place)) else "-" for place in on]
             for what, of in counts.items()}
    return "## Torture\n\nScenarios: calls that failed in turn, those after which the process ended as " \
        "[errors.md](errors.md) says.\n\n" + \
        table(("fails", *on), [(what, *of) for what, of in sorted(cells.items())]) + \
        "\n\nAgain: `./dev test faults`; one scenario: [tests/torture](../tests/torture/README.md)."


def fuzz_table(results):
    run = results.get("fuzz")
    if not run:
        return None
    rows = [(name, f"{count:,}") for name, count in run["executions"].items()]
    return "## Fuzzing\n\n" + table(("target", "inputs"), rows) + f"\n\nAgain: `{run['command']}`, {run['day']}."


def soak_table(results):
    run = results.get("soak")
    if not run:
        return None
    rss = run["rss_mib"]
    rows = [("resident memory, MiB", rss["first"], rss["last"], f"{rss['per_hour']:+.2f}")]
    for name in ("descriptors", "threads"):
        rows.append((name, run[name]["first"], run[name]["last"], f"{run[name]['per_hour']:+.1f}"))
    rows += [("keys on the servers", run["keys"]["first"], run["keys"]["last"], "")]
    for scope, told in run["scopes"].items():
        wakes = told["wake_p50_ms"]
        rows.append((f"wake-up, {scope}: p50 in ms", *(f"{one:.3f}" if one else "none" for one in wakes.values()), ""))
    faults = ", ".join(f"{name} {count}" for name, count in sorted(run["faults"].items()))
    locks = ", ".join(f"{told['hand_overs']:,} ({scope})" for scope, told in run["scopes"].items())
    picture = "![Memory, descriptors, threads, keys and wake-up latency over the time](pictures/soak.svg)"
    return f"## Soak of {run['minutes']:g} min\n\n{picture}\n\n" + \
        table(("", "first quarter", "last quarter", "per hour"), rows) + \
        "\n\nWake-ups take what the machine has to do besides, and may take twice as long and half a millisecond " \
        f"more at the end before the run fails. Hand-overs: {locks}. Faults meanwhile: {faults}. " \
        f"{run['cpu_percent']:g} % of a CPU. " \
        f"Again: `{run['command']}`, {run['day']}."


def coverage_table(results):
    run = results.get("coverage")
    if not run:
        return None
    rows = [(name, f"{one['lines']:.1f}", f"{one['branches']:.1f}")
             for name, one in {**run["parts"], **run["folders"]}.items()]
    return "## Coverage\n\n" + table(("", "lines, %", "branches, %"), rows) + \
        f"\n\nReport by line: `build/coverage/report/index.html`. Again: `./dev test coverage`, {run['day']}."


def suites_table(results):
    rows = [(name, one.get("size", ""), one.get("said", ""), one.get("seconds", ""), one["day"], one.get("commit", ""))
            for name, one in sorted(results["suites"].items())]
    return "## Suites\n\n" + table(("suite", "form", "tests", "seconds", "day", "commit"), rows) if rows else None


def render(results):
    parts = [goals_table(results)]
    parts += [make(results) for make in (plan_table, nemesis_table, faults_table, mutants_table, torture_table,
                   fuzz_table, soak_table, coverage_table, suites_table)]
    return "\n\n".join(part for part in parts if part)


def parts_of(page):
    before, _, rest = page.partition(BEGIN)
    middle, _, after = rest.partition(END)
    return before, middle.strip("\n"), after


def kept():
    return json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {"suites": {}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=pathlib.Path, help="of this repository")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--stamp", type=float, metavar="T")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--goal", metavar="G")
    words = parser.parse_args()
    root = words.root.resolve()
    page = root / "docs/reliability.md"
    if words.check:
        tap = Tap()
        is_same = parts_of(page.read_text(encoding="utf-8"))[1] == render(kept())
        tap.rule("the_page_is_what_the_results_say",
                 [] if is_same else ["docs/reliability.md: python3 tests/reliability/report.py . --write"])
        tap.rule("each_goal_is_met", goals.open_ones(kept()))
        tap.finish()
    left = pathlib.Path(os.environ.get("LIBLOCK_RELIABILITY", root / "build/reliability"))
    if words.stamp is not None:
        stamp(root, left, words.stamp)
        return
    results = gathered(left)
    if words.goal:
        there, is_met = next((there, is_met) for name, _, there, is_met, *_ in goals.judged(goals.Results(results))
                             if name == words.goal)
        print(f"{words.goal}: {there}")
        sys.exit(not is_met)
    if not words.write:
        print(render(results) if len(results) > 1 or results["suites"] else
              "report: no suite has left anything in build/reliability yet; what is kept: docs/reliability.md")
        return
    results = merged(kept(), slim(results, merged(kept(), results))) | {"last": beside(root)}
    KEPT.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    results = kept()  # in the order in which --check will find it
    before, _, after = parts_of(page.read_text(encoding="utf-8"))
    page.write_text(f"{before}{BEGIN}\n\n{render(results)}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
