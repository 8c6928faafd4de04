# SPDX-License-Identifier: MIT
"""The goals of reliability, G1 to G18, each with what counts for it in the results that the suites left. One of which
nothing was measured is not met.
"""
import pathlib
import re
import statistics

TESTS = pathlib.Path(__file__).resolve().parents[1]


class Results:
    """What was gathered, with a way to ask that never fails: what is not there is None. It notes of which runs was
    asked, so that each goal can say how old its figures are."""

    def __init__(self, kept):
        self.kept = kept
        self.asked = []

    def noted(self, run):
        if run:
            self.asked.append(run)
        return run or {}

    def __getitem__(self, name):
        return self.noted(self.kept.get(name))

    def suites(self):
        return self.kept.get("suites", {})

    def suite(self, name):
        return self.noted(self.suites().get(name))

    def program(self, suite, program):
        return self.suite(suite).get("programs", {}).get(program, {})

    def test(self, part):
        """The figures of the test whose name has this part; "" where it printed none, None where it did not pass."""
        for name_of_suite, suite in self.suites().items():
            if name_of_suite == "coverage":  # runs what other suites have, in their smallest size
                continue
            for program in suite["programs"].values():
                for name, figures in program["tests"].items():
                    if part in name:
                        self.noted(suite)
                        return figures
        return None

    def of_when(self):
        """Days and, where they are known, commits of the runs that were asked for since this was asked last."""
        runs = {(run["day"], run.get("commit", "")) for run in self.asked if "day" in run}
        self.asked = []
        return "; ".join(f"{day} {commit}".strip() for day, commit in sorted(runs))


GOALS = []


def goal(name, wanted, command):
    """What it is, and how to see it again. The function returns what there is, and whether that is enough."""
    def keep(function):
        GOALS.append((name, wanted, command, function))
        return function
    return keep


def many(number):
    return f"{number:,.0f}"


def lives(results):
    sim = results["sim"]
    return sim, sim.get("counters", {}), sim.get("counters", {}).get("simulated_ms", 0) / 3.6e6


@goal("G1", "no double grant in 3,600 simulated lives and 40 simulated hours, where A2 of safety.md holds",
      "./dev test gate sim")
def double_grants(results):
    sim, counters, hours = lives(results)
    if not sim:
        return None
    there = (f"{counters.get('double_grants', 0)} in {many(counters['lives_inside'])} lives; of "
             f"{many(sim['seeds'])} lives in {hours:.1f} h {many(counters['lives_outside'])} had more servers that "
             f"lied than A2 allows, and {counters.get('double_grants_outside', 0)} double grants. "
             f"{many(counters.get('grants', 0))} grants, {many(counters.get('faults_in_flight', 0))} faults that met "
             "an operation")
    return there, not sim["failures"] and sim["seeds"] >= 3600 and hours >= 40


@goal("G2", "no token twice or smaller, in the same lives, clocks stepped and off", "./dev test gate sim")
def tokens(results):
    sim, counters, _ = lives(results)
    if not sim:
        return None
    wrong = counters.get("bad_tokens", 0)
    by_clock = counters.get("lives_by_clock", 0)
    there = (f"{many(wrong)} in {many(counters.get('grants', 0))} grants; in {many(by_clock)} lives so many servers "
             "forgot at once that only clocks were left to go by (A4), and "
             f"{counters.get('bad_tokens_by_clock', 0)} were wrong from there on")
    return there, wrong == 0 and not sim["failures"] and sim["seeds"] >= 3600


def share_felt(kinds):
    """Of acts that do nothing."""
    runs = sum(one["runs"] for one in kinds.values())
    return sum(one["felt"] for one in kinds.values()) / runs if runs else 0


def unseen(run):
    """Kinds, each with its context, that left no trace. What is felt of them proves nothing: a third to a half of acts
    that do nothing are, beside all else that a machine does."""
    return [f"{name} ({context})" for name, kind in run["kinds"].items() for context, one in kind.items()
            if one["traces"] == 0]


PAIRS = 46  # of kind and context: a failover is of one server, and who stands in another's place is of a quorum


def bent(run, are_alone=False):
    """Of a run of the nemesis: (what there is, whether every kind left traces in each context, acted in each of its
    ways, often enough while operations were in flight, beside others unless they are alone, and broke nothing that is
    promised)."""
    kinds = run.get("kinds", {})
    if not kinds:
        return "nothing", False
    each = [one for kind in kinds.values() for one in kind.values()]
    harmed = sum(one["violations"] + one["guard_violations"] for one in each)
    stuck = sum(one.get("stuck", 0) for one in each) + run.get("unended", 0)
    least = min(one["hits"] for one in each)
    seeds = len(run.get("seeds", []))
    idle = unseen(run)
    untried = sorted({way for one in each for way, acted in one["ways"].items() if not acted})
    lonely = [] if are_alone else [name for name, kind in kinds.items()
                                   if not sum(one["beside"] for one in kind.values())]
    many_beside = "" if are_alone else f", {many(sum(one['beside'] for one in each))} of them beside others"
    there = (f"{len(kinds)} kinds, {seeds} seeds, {many(sum(one['hits'] for one in each))} faults in flight"
             f"{many_beside}, at least {least} of each kind on each; {harmed} promises broken, and "
             f"{run.get('doubles_outside', 0)} times two held at once where one server had forgotten, which is not "
             "promised")
    there += f"; {stuck} times somebody did not go on" if stuck else ""
    there += f"; without {', '.join(run['missing'])}" if run.get("missing") else ""
    there += f"; without a trace: {', '.join(idle)}" if idle else ""
    there += f"; never tried: {', '.join(untried)}" if untried else ""
    there += f"; never beside others: {', '.join(lonely)}" if lonely else ""
    is_whole = len(kinds) >= 24 and len(each) >= PAIRS and not (run.get("missing") or untried or lonely)
    return there, is_whole and seeds >= 5 and least >= 5 and harmed + stuck == 0 and not idle


@goal("G3", "24 kinds of nemesis on real processes, Redis and Valkey, together and on Redis each alone, 5 seeds; each "
      "shows, in all its ways, on one server and over a quorum (two of them on one of these alone); no promise broken",
      "./dev test nightly faults")
def nemesis(results):
    runs = {"Redis": bent(results["nemesis"]), "each alone": bent(results["nemesis-each"], are_alone=True),
            "Valkey": bent(results["nemesis-valkey"])}
    return ". ".join(f"{on}: {there}" for on, (there, _) in runs.items()), all(is_met for _, is_met in runs.values())


@goal("G4", "no wake-up lost in 100,000 hand-overs between processes, while connections for messages are cut",
      "./dev test nightly queue")
def wake_ups(results):
    cut = results.test("no wake-up is lost while connections")
    if not cut:
        return None
    hand_overs = int(re.match(r"\d+", cut).group())
    return f"each well before the poll that would make up for it: {cut}", hand_overs >= 100_000


@goal("G5", "a live waiter behind 100 dead ones waits as long as behind one (times 1.2)", "./dev test gate queue")
def dead_waiters(results):
    took = results.test("a live waiter is served within alive_ms")
    if not took:
        return None
    times = [float(one) for one in re.findall(r": (\d+) ms", took)]
    return f"behind {took}", len(times) == 3 and times[2] <= 1.2 * times[0]


@goal("G6", "3 script calls at most for a hand-over among 100 waiters, on average", "./dev test gate redis")
def few_calls(results):
    has_passed = results.test("a_hundred_waiting_instances_cost_few_calls") is not None
    return ("at most 3 on average over 100 hand-overs, asserted", True) if has_passed else None


@goal("G7", "what nobody knows he holds is undone", "./dev test gate sim redis")
def orphans(results):
    _, counters, _ = lives(results)
    undone = counters.get("orphans_undone", 0)
    if not undone or results.test("a_lost_reply_is_undone_before_the_next_attempt") is None:
        return None
    return f"{many(undone)} undone in simulated lives, none left at the end; lost replies before the next attempt", True


@goal("G8", "stopped past its lease 1,000 times, nobody believes in it afterwards",
      "./dev test nightly redis faults")
def pauses(results):
    real = sum(one["hits"] for name in ("nemesis", "nemesis-each")
               for one in results[name].get("kinds", {}).get("client-stopped", {}).values())
    stops = results.test("nobody who was stopped past his lease believes in it afterwards")
    real += int(stops.split()[0]) if stops else 0
    return (f"{many(real)} times in real processes, none", real >= 1000) if real else None


@goal("G9", "every fault put into the engines on purpose is found: of the quorum 20 at least, chosen at run time, and "
      "15 of all else", "./dev test mutants")
def mutants(results):
    all_of_them = results["mutants"].get("mutants", [])
    if not all_of_them:
        return None
    real = [one for one in all_of_them if not one["equivalent"]]
    found = [one for one in real if one["schedules"] or one["life"]]
    others = results["mutants-elsewhere"].get("faults", [])
    found_too = [one for one in others if one["by"]]
    there = f"of the quorum {len(found)} of {len(real)}, of all else {len(found_too)} of {len(others)}"
    return there, len(found) == len(real) >= 20 and len(found_too) == len(others) >= 15


@goal("G10", "40 kinds of events that could go missing from a simulation have each happened", "./dev test gate sim")
def rare_events(results):
    _, counters, _ = lives(results)
    begun = sum(name.startswith("fault_") for name in counters)
    for program in results.suite("sim").get("programs", {}).values():
        for name in program["tests"]:
            counted = re.match(r"all (\d+) rare events have happened", name)
            if counted:
                kinds = int(counted.group(1))
                return f"all {kinds}, {begun} of them kinds of faults that the simulator begins itself", kinds >= 40
    return None


@goal("G11", "in an hour memory rises by less than 1 MiB, descriptors and threads not at all; every key expires",
      "./dev soak 60")
def leaks(results):
    run = results["soak"]
    if not run:
        return None
    per_hour, lasting = run["rss_mib"]["per_hour"], len(run["keys_without_expiry"])
    levels = [run[name] for name in ("descriptors", "threads")]
    half = [(one["s"] / 3600, one["rss_kib"] / 1024) for one in run["samples"] if one["s"] >= run["minutes"] * 30]
    there = (f"{per_hour:+.2f} MiB/h in {run['minutes']:g} min, {statistics.linear_regression(*zip(*half)).slope:+.2f} "
             f"in the last half of it; descriptors {levels[0]['first']} to {levels[0]['last']}, threads "
             f"{levels[1]['first']} to {levels[1]['last']}; {lasting} keys without an expiry")
    is_calm = per_hour < 1 and all(one["last"] <= one["first"] for one in levels) and lasting == 0
    return there, is_calm and run["minutes"] >= 60


@goal("G12", "a fuzzer for each kind of input that comes from outside, 1,000 inputs at least, nothing found",
      "./dev test fuzz")
def fuzzing(results):
    run = results["fuzz"]
    counts = run.get("executions", {})
    if not counts:
        return None
    targets = {folder.name for folder in (TESTS / "fuzz/corpus").glob("*/")}
    is_met = bool(targets) and counts.keys() >= targets and min(counts.values()) >= 1000 and run["findings"] == 0
    return (f"{len(counts)} targets, {many(sum(counts.values()))} inputs in {run['seconds']} s each, "
            f"{run['findings']} findings", is_met)


@goal("G13", "300 bad inputs, each with its status and without effect", "./dev test api")
def bad_inputs(results):
    rows = results.program("api", "bad_input").get("passed")
    return None if not rows else (f"{rows}", rows >= 300)


def calls_and_ends(figures):
    """Of "57, of which 53 ended the process" both numbers."""
    return [int(number) for number in re.findall(r"\d+", figures or "")[:2]] + [0, 0]


# "Allocation" is each function of malloc's kind, "write" and "read" each of their kind on a socket.
CALLS = ("allocation", "socket", "connect", "write", "read", "eventfd", "epoll_create1", "epoll_ctl", "epoll_wait",
         "pthread_create", "getrandom")


@goal("G14", "each allocation and system call of 30 scenarios fails once: told, or the process ends; nothing else",
      "./dev test faults")
def torture(results):
    of_suite = results.suite("faults").get("programs", {})
    programs = {name: program for name, program in of_suite.items() if "torture" in name}
    if not programs:
        return None
    walks, scenarios = [], {}
    for one in programs.values():
        for name, figures in one["tests"].items():
            scenario, _, what = name.replace(", from the start", "").partition(": each ")
            if what:
                walks.append(calls_and_ends(figures))
                scenarios.setdefault(what.removesuffix(" may fail"), set()).add(scenario)
    failed = sum(program["failed"] for program in programs.values())
    calls, ends = (sum(walk[i] for walk in walks) for i in (0, 1))
    counts = {call: len(scenarios.get(call, ())) for call in CALLS}
    there = (", ".join(f"{call} in {count}" for call, count in counts.items()) +
             f", local, on one server and over a quorum; {many(calls)} calls failed in turn: {many(ends)} ended the "
             f"process, as docs/errors.md says, {failed} did harm")
    return there, min(counts.values()) >= 30 and failed == 0


@goal("G15", "no report of a sanitizer, and none suppressed (of valgrind one: tests/api/memcheck.supp)",
      "./dev test sanitizers")
def sanitizers(results):
    said = results.suite("sanitizers").get("said")
    return None if not said else (said, ", 0 failed" in said)


@goal("G16", "90 % of the branches of all engines together, of parsers and of queues; every line of the scripts",
      "./dev test unit coverage")
def coverage(results):
    parts = results["coverage"].get("parts", {})
    if not parts:
        return None
    scripts = results.test("every_line_of_the_scripts_runs") is not None
    shown = ", ".join(f"{name} {one['branches']:.1f} %" for name, one in parts.items())
    is_met = scripts and all(one["branches"] >= 90 for one in parts.values())
    return f"{shown}; scripts {'whole' if scripts else 'not looked at'}", is_met


@goal("G17", "a password is found in nothing that is told, and in no memory after its context", "./dev test security")
def secrets(results):
    counts = results["security"].get("counts", {})
    if not counts:
        return None
    found = results["security"]["found"]
    seen = counts.get("contexts in whose memory it was found while open", 0)  # else nobody knows that the search bites
    return (f"{counts['secrets planted']} planted, {many(counts['bytes searched'])} bytes of output and all memory "
            f"searched: {found} found; in {seen} contexts while they were open"), found == 0 and seen > 0


def is_gate_in_time(gate):
    return gate["seconds"] <= 45 * 60 and gate.get("failed") == 0


@goal("G18", "the gate takes 45 minutes at most on two CPUs", "./dev test gate")
def wall_time(results):
    gate = results["gate"]
    if not gate:
        return None
    failed = gate.get("failed", "nobody knows how many")
    there = f"{gate['seconds'] / 60:.0f} minutes, {gate['suites']} suites, {failed} failed"
    return f"{there}, on {gate.get('processors', 'nobody knows how many')} CPUs", \
        is_gate_in_time(gate)


def again(results, command):
    """The command of the sizes that were counted: of a suite that ran at night in that form, whatever its goal asks."""
    parts = []
    for part in command.split("; "):
        words = re.fullmatch(r"\./dev test(?: (?:gate|nightly))?((?: [a-z]+)+)", part)
        suites = words[1].split() if words else []
        sizes = {suite: results.suites().get(suite, {}).get("size") for suite in suites if suite != "gate"}
        if not sizes or None in sizes.values():
            parts.append(part)
            continue
        for size in dict.fromkeys(sizes.values()):
            parts.append(" ".join(["./dev test", size, *(suite for suite in sizes if sizes[suite] == size)]))
    return "; ".join(parts)


def that_failed(results, command):
    """Suites of the command in which something failed or was skipped, whatever else they counted."""
    suites = results.suites()
    return [suite for suite in re.findall(r"[a-z]+", command) if suite in suites and
            (", 0 failed" not in suites[suite].get("said", ", 0 failed") or "skipped" in suites[suite].get("said", ""))]


def judged(results):
    """(name, what is wanted, what there is, whether that is enough, of when that is, the command that counts as much
    again) of each."""
    for name, wanted, command, function in GOALS:
        there, is_met = function(results) or ("not measured", False)
        if failed := that_failed(results, command):
            there, is_met = f"{there}; something failed, or was left out, in: {', '.join(failed)}", False
        yield name, wanted, there, is_met, results.of_when(), again(results, command)


def open_ones(kept):
    """Those that are not met. One that was met, and is no more, is a defect like any other."""
    return [f"{name}: {there}" for name, _, there, is_met, *_ in judged(Results(kept)) if not is_met]
