# SPDX-License-Identifier: MIT
"""What a run of the nemesis says: TAP while it goes on, a table and JSON at its end."""
import collections
import json
import os
import pathlib
import shlex

from kinds import NOTHING

FIGURES = ("runs", "hits", "felt", "beside", "traces", "violations", "guard_violations", "stuck")
TRACES_FROM = 5  # so many acts, of which not each leaves one; but for those of which each does
EACH_LEAVES_ONE = ("clock-stepped", "client-stopped", "client-killed", "loading")
WRITTEN_MAX = 5  # of the lines that say what is wrong
SERVER, SLOWNESS = "LIBLOCK_REDIS_SERVER", "LIBLOCK_TEST_SLOWNESS"


def counted(numbers):
    return ", ".join(f"{what} {number}" for what, number in sorted(numbers.items()))


class Report:
    def __init__(self, words, missing, has_islands):
        self.words, self.has_islands = words, has_islands
        self.number = self.failed = 0
        self.kinds = {}  # (number, kind, context): figures; of all worlds in which it acted
        self.ways, self.seeds = {}, {}  # (kind, context): how often it acted in each way; seeds with which it did
        self.sums = collections.Counter()
        self.missing = sorted(missing)
        for what, why in missing.items():
            self.skip(what, why)

    def tell(self, holds, name, figures=""):
        self.number += 1
        self.failed += not holds
        print(f"{'ok' if holds else 'not ok'} {self.number} - {name}{' # ' if figures else ''}{figures}", flush=True)
        return holds

    def skip(self, name, why):
        self.number += 1
        print(f"ok {self.number} - {name} # SKIP {why}", flush=True)

    def command(self, *more, server=os.environ.get(SERVER)):
        """That begins it again, on the same server, as patient, and with clients in the same languages."""
        given = {SERVER: server, SLOWNESS: os.environ.get(SLOWNESS)}
        surroundings = [f"{name}={shlex.quote(value)}" for name, value in given.items() if value]
        return " ".join([*surroundings, "python3 tests/nemesis/nemesis.py --build", shlex.quote(self.words.build),
                         *["--c-alone"] * self.words.c_alone, *more])

    def repeat(self, context, group, kinds, seed, seconds):
        names = ",".join(kind.name for kind in kinds)
        return self.command(f"--context {context} --group {group} --kind {names} --seed {seed} --seconds {seconds:g}")

    @staticmethod
    def explain(error):
        """The last line says what went wrong, and of what fails the first lines are shown once more at the end."""
        lines = error.strip().split("\n")
        for line in [lines[-1], *lines]:
            print(f"# {line}", flush=True)

    def world(self, told, context, group, kinds, seed, seconds):
        name = f"{context}, {group}, seed {seed}"
        if "error" in told:
            self.tell(False, f"{name}: comes to its end")
            self.sums["unended"] += 1
            print(f"# again: {self.repeat(context, group, kinds, seed, seconds)}")
            self.explain(told["error"])
            return
        violations, unguarded, stuck = told["violations"], told["guard_violations"], told["stuck"]
        for kind in kinds:
            figures = self.kinds.setdefault((kind.number, kind.name, context), collections.Counter())
            figures.update(told["kinds"][kind.name], violations=len(violations), guard_violations=len(unguarded),
                           stuck=len(stuck), traces=told["traces"].get(kind.name, 0))
            self.ways.setdefault((kind.name, context), collections.Counter()).update(told["ways"][kind.name])
            if told["kinds"][kind.name]["hits"]:
                self.seeds.setdefault((kind.name, context), set()).add(seed)
        self.sums.update(operations=told["operations"], holds=told["holds"], hand_overs=told["hand_overs"],
                         passed_on=told["passed_on"],
                         doubles_outside=0 if violations else told["doubles"], worlds=1)
        promise = "tokens rise" if group in ("lost", "stepped") else "nobody holds what another one holds, tokens rise"
        holds = self.tell(not (violations or unguarded or stuck),
                          f"{name}: {promise}, no guarded update is lost, and everybody goes on",
                          f"{told['holds']} holds, {told['hand_overs']} hand-overs, {told['written']} updates, "
                          f"{told['refused']} refused, {told['doubles']} held at once")
        print(f"# {counted(told['holds_by'])}; faults: {counted(told['faults'])}; traces: {counted(told['traces'])}",
              flush=True)
        if not holds:
            for line in [*violations[:WRITTEN_MAX], *unguarded[:WRITTEN_MAX], *stuck]:
                print(f"# {line}")
            print(f"# again: {self.repeat(context, group, kinds, seed, seconds)}")
            print(f"# history: {told['history']}", flush=True)

    def workload(self, told, context, way):
        if "error" in told:
            self.tell(False, f"{context}: the workload {way} comes to its end")
            self.sums["unended"] += 1
            self.explain(told["error"])
            print(f"# again: {self.command(self.of_workloads(context))}", flush=True)
            return
        name = "loses updates" if way == "careless" else "that shows its token loses none"
        self.tell(told["is_fine"], f"{context}: a holder that is stopped past its lease {name}",
                  f"{told['written']} updates, {told['lost']} lost, {told['refused']} refused {told['wrong'] or ''}")
        if not told["is_fine"]:
            print(f"# again: {self.command(self.of_workloads(context))}", flush=True)
        self.sums["lost_updates_without_guard" if way == "careless" else "with_guard"] += told["lost"]

    @staticmethod
    def of_workloads(context):
        return f"--context {context} --workloads"

    def finish(self):
        for (_, kind, context), figures in sorted(self.kinds.items()):
            self.tell(figures["hits"] > 0, f"{context}: {kind} acted while an operation was in flight",
                      f"{figures['runs']} times, {figures['hits']} of them hit, {figures['felt']} were felt")
            if kind != NOTHING.name and figures["runs"] >= (1 if kind in EACH_LEAVES_ONE else TRACES_FROM):
                self.tell(figures["traces"] > 0, f"{context}: {kind} left its traces", f"{figures['traces']}")
        for kind, figures in self.of_both().items():
            if kind != NOTHING.name and figures["runs"] >= TRACES_FROM:
                self.tell(figures["traces"] > 0, f"{kind} left its traces", f"{figures['traces']}")
        if self.kinds and not (self.words.each or self.words.kind):  # which of them, is chance in so few acts
            runs, beside = (sum(figures[name] for figures in self.kinds.values()) for name in ("runs", "beside"))
            self.tell(beside > runs / 3, "kinds act beside each other", f"{beside} of {runs} acts")
        if self.sums["worlds"]:
            self.tell(self.sums["passed_on"] > 0, "locks went from hand to hand within a process all the while",
                      f"{self.sums['passed_on']} times")
        self.table()
        if self.words.json:
            pathlib.Path(self.words.json).parent.mkdir(parents=True, exist_ok=True)
            pathlib.Path(self.words.json).write_text(json.dumps(self.as_data(), indent=1) + "\n")
        print(f"1..{self.number}", flush=True)
        return self.failed != 0

    def of_both(self):
        """By kind: figures of both contexts together."""
        sums = {}
        for (_, kind, _), figures in sorted(self.kinds.items()):
            sums.setdefault(kind, collections.Counter()).update(figures)
        return sums

    def table(self):
        print(f"# {'kind':22} {'context':8} {'runs':>6} {'hits':>6} {'felt':>6} {'beside':>6} {'traces':>7} "
              f"{'violations':>11} "
              f"{'of the guard':>13} {'stuck':>6}")
        for (number, kind, context), figures in sorted(self.kinds.items()):
            print(f"# {number:>2} {kind:19} {context:8} " + " ".join(
                f"{figures[name]:>{width}}" for name, width in zip(FIGURES, (6, 6, 6, 6, 7, 11, 13, 6))))
        print(f"# {self.sums['operations']} operations, {self.sums['hand_overs']} hand-overs, "
              f"{self.sums['doubles_outside']} times two held at once where that is not promised")

    def as_data(self):
        kinds = {}
        for (_, kind, context), figures in sorted(self.kinds.items()):
            kinds.setdefault(kind, {})[context] = {
                **{name: figures[name] for name in FIGURES}, "ways": dict(self.ways[kind, context]),
                "seeds": len(self.seeds.get((kind, context), ()))}
        nothing = kinds.pop(NOTHING.name, {})
        seeds = self.words.seeds
        again = f"--seeds {seeds[0]}-{seeds[-1]}{' --each' if self.words.each else ''}"
        return {"kinds": kinds, "nothing": nothing, "has_islands": self.has_islands, "missing": self.missing,
                **{name: self.sums[name] for name in ("operations", "hand_overs", "passed_on", "doubles_outside",
                                                      "lost_updates_without_guard", "with_guard", "unended")},
                "seeds": list(seeds), "worlds": self.sums["worlds"],
                "command": self.command(again, server=os.path.basename(os.environ.get(SERVER, "")))}
