#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The gate has a part of each layer of tests, a night runs all of it and prints the tables of docs/reliability.md, and
a gate that took too long says so.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from bites import TOOLS, Tap

ROOT = TOOLS.parent
sys.path.insert(0, str(ROOT / "tests/reliability"))
import report  # noqa: E402  (the path had to be set first)

# Layer of the plan of tests, and the suites in whose form for the gate it is. A soak takes what no gate has.
LAYERS = {
    "units and bad input": ("unit", "api"), "simulated lives": ("sim",), "real servers": ("redis", "quorum", "queue"),
    "nemesis and torture": ("faults",), "sanitizers": ("sanitizers",), "fuzzing": ("fuzz",), "threats": ("security",),
}
NIGHTS_ALONE = {"coverage", "distributions", "mutants", "soak"}
COPIED = ("dev", "tools/build.sh", "tools/needs.sh", "tools/needs.txt", "tools/suite.sh", "tools/run_tests.py",
          "tools/standstill.py", "tools/tap.py", "tests/reliability/goals.py", "tests/reliability/plan.py",
          "tests/reliability/report.py")
PASSES = "{ check holds true; }\n"
# Leaves what a night has left once.
LEAVES = 'cp "$root"/kept/* "$LIBLOCK_RELIABILITY/"; check holds true; '


def forms():
    return {path.stem: set(re.findall(r"^(quick|gate|nightly)\(\)", path.read_text(encoding="utf-8"), re.MULTILINE))
            for path in (ROOT / "tools/suites").glob("*.sh")}


def check_forms(tap):
    of = forms()
    tap.rule("a_night_runs_every_suite", sorted(name for name, there in of.items() if "nightly" not in there))
    without = {name for name, there in of.items() if "gate" not in there}
    tap.rule("the_gate_leaves_out_only_what_a_night_alone_has_time_for",
             [] if without == NIGHTS_ALONE else [f"without a form for the gate: {sorted(without)}"])
    tap.rule("the_gate_has_a_part_of_each_layer", [
        f"{layer}: {name}" for layer, names in LAYERS.items() for name in names if "gate" not in of.get(name, ())])
    tap.rule("no_suite_leaves_figures_in_the_name_of_another_which_would_delete_them", [
        f"{name}: {left}.json" for name in of
        for left in re.findall(r"LIBLOCK_RELIABILITY/([\w-]+)\.json",
                               (ROOT / f"tools/suites/{name}.sh").read_text(encoding="utf-8"))
        if left in of and left != name])
    usage = subprocess.run([ROOT / "dev", "help"], capture_output=True, text=True, check=True).stdout
    listed = set(usage.partition("Suites:")[2].partition("./dev")[0].split())
    tap.rule("every_suite_has_its_place_among_those_that_run", sorted(set(of) ^ listed))


def check_sanitizers(tap):
    """At night each of both has a tenth of a night's lives, and two seeds of each kind of nemesis, which are a tenth of
    its time; in the gate the one has a hundredth of its lives, and both a seed of each kind."""
    def numbers(pattern, file, kind=int):
        return [kind(found) for found in re.findall(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)]

    sizes = re.findall(r"options\.to = scaled\(([\d', ]+)\);", (ROOT / "tests/sim/quorum.cpp").read_text("utf-8"))
    _, gate, night = (int(size.replace("'", "")) for size in sizes[0].split(", "))
    suite = "tools/suites/sanitizers.sh"
    lives_of_gate = numbers(r"^in_gate_for_addresses\(\) {\n.*\n.*&& lives asan (\d+)\n", suite)
    both_of_gate = numbers(r"^  (side)_by_side (?:in_gate_for_addresses in_gate_for_threads|"
                           r"worlds_of_asan worlds_of_tsan)\n", suite, str)
    worlds_of_gate = numbers(r"^worlds_of_(?:asan|tsan)\(\) { worlds (?:asan|tsan) (\d+); }\n", suite)
    at_night = r'^  for build in asan tsan; do\n    lives "\$build" (\d+)\n    worlds "\$build" (\d+)\n  done\n'
    (lives_of_night, worlds_of_night), = numbers(at_night, suite, lambda both: [int(one) for one in both]) or [(0, 0)]
    tap.rule("a_night_has_a_tenth_of_its_lives_under_each_sanitizer",
             [] if night <= 10 * lives_of_night else [f"{lives_of_night} of {night}"])
    tap.rule("the_gate_has_a_hundredth_of_its_lives_under_one",
             [] if [gate <= 100 * lives for lives in lives_of_gate] == [True] else [f"{lives_of_gate} of {gate}"])
    tap.rule("each_kind_of_nemesis_is_seen_by_both",
             [] if len(both_of_gate) == 2 and worlds_of_gate == [1, 1] and worlds_of_night >= 2 else
             [f"{both_of_gate}, {worlds_of_gate} in the gate, {worlds_of_night} at night"])


def check_soak(tap):
    suite = (ROOT / "tools/suites/soak.sh").read_text(encoding="utf-8")
    minutes = re.findall(r'^nightly\(\) {\n.* run_program "\$\{soak_command\[@\]}" --minutes (\d+)\n}$', suite,
                         re.MULTILINE)
    tap.rule("a_night_soaks_for_ten_minutes", [] if minutes == ["10"] else [f"{minutes}"])


def small_tree(directory, suites):
    root = pathlib.Path(directory)
    for name in COPIED:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    (root / "tools/suites").mkdir()
    for name, text in suites.items():
        (root / f"tools/suites/{name}.sh").write_text(text, encoding="utf-8")
    return root


def dev_test(root, *words):
    plain = {name: value for name, value in os.environ.items() if not name.startswith("LIBLOCK_")}
    return subprocess.run([root / "dev", "test", *words], env=plain, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False).stdout


def lay_out(results, folder):
    """As suites leave it: the other way round of report.gathered()."""
    folder.mkdir()
    for name in report.SINGLE:
        if name in results:
            (folder / f"{name}.json").write_text(json.dumps(results[name]), encoding="utf-8")
    for name, suite in results["suites"].items():
        lines = [{"program": program, **one} for program, one in suite["programs"].items()]
        lines.append({key: value for key, value in suite.items() if key != "programs"})
        (folder / f"suite-{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")


def shape(text):
    """Headings, goals, and heads of tables."""
    lines = text.splitlines()
    heads = [before for before, line in zip(lines, lines[1:]) if line.startswith("|---")]
    return set(heads) | {re.sub(r"[\d.,]+", "N", line) for line in lines if line.startswith("## ")} | \
        {line.split("|")[1].strip() for line in lines if re.match(r"\| G\d+ ", line)}


def check_tables(tap):
    """With what is kept of the last runs, left there by a suite: what is printed has all tables that the page has."""
    kept = report.kept()
    suites = {name: f"nightly() {PASSES}" for name in kept["suites"]}
    suites["distributions"] = f"nightly() {{ {LEAVES}}}\n"
    with tempfile.TemporaryDirectory() as directory:
        root = small_tree(directory, suites)
        lay_out({**kept, "suites": {name: one for name, one in kept["suites"].items() if name == "faults"}},
                root / "kept")
        said = dev_test(root, "nightly")
    page = report.parts_of((ROOT / "docs/reliability.md").read_text(encoding="utf-8"))[1]
    missing = shape(page) - shape(said)
    tap.rule("a_night_prints_the_tables_of_the_page", [f"missing: {one}" for one in sorted(missing)] or
             ([] if len(shape(page)) > 18 else ["the page has no tables"]))
    tap.rule("and_says_then_what_passed", [] if re.search(r"^\d+ passed, 0 failed$", said.splitlines()[-1]) else
             said.splitlines()[-5:])


def check_time(tap):
    """Of a gate that may take no time at all."""
    for most, is_late in (("2700", False), ("-1", True)):
        with tempfile.TemporaryDirectory() as directory:
            root = small_tree(directory, {"unit": f"gate() {PASSES}"})
            dev = (root / "dev").read_text(encoding="utf-8")
            (root / "dev").write_text(dev.replace("gate_most_s=2700", f"gate_most_s={most}"), encoding="utf-8")
            said = dev_test(root, "gate").splitlines()
            told = [line for line in said if line.startswith("dev: the gate took")]
            good = len(told) == 1 and ("more than the 45" in told[0]) == is_late and \
                said[-1] == ("1 passed, 1 failed" if is_late else "1 passed, 0 failed")
            tap.rule("a_gate_that_took_too_long_says_so_and_fails" if is_late else
                     "a_gate_that_took_45_minutes_at_most_passes", [] if good else said[-3:])


def main():
    tap = Tap()
    check_forms(tap)
    check_sanitizers(tap)
    check_soak(tap)
    check_tables(tap)
    check_time(tap)
    tap.finish()


if __name__ == "__main__":
    main()
