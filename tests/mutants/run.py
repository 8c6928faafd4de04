#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the tests of the local context, of one server and of the C API bite? For each fault of faults.py one source file
is compiled with it, the shared object is linked once more with that file in place of its own, and the tests named there
run with the object: one of them must fail, within its time, and pass again with the object that has no fault. And
without one all of these tests pass to begin with.

Usage: run.py --build DIR [--fault NAME]... [--jobs N] [--json FILE], DIR as ./dev builds it, with the tests; or
run.py --check, which builds nothing and sees that each fault has its place still; or run.py --list. Prints TAP.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tools"), str(ROOT / "tests" / "integration")]
from faults import FAULTS  # noqa: E402  (the path had to be set first)
from harness import die_with_parent  # noqa: E402

OBJECT = "capi/liblock.so"
TEST_SECONDS_MAX = 40  # who hangs has noticed
TRIES = 3  # a machine that stands still fails tests of real time too, with a fault and without one
WITHOUT = "none"  # the folder of the object that has no fault


class Broken(Exception):
    """The fault cannot be made: its place has changed, or the compiler does not take it."""


def said(words, **more):
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False, **more)
    if done.returncode != 0:
        raise Broken(f"{words[0]}: {(done.stderr or done.stdout).strip()[-600:]}")
    return done.stdout


class Build:
    """What ninja and meson know of the build directory."""

    def __init__(self, folder):
        self.folder = folder
        compiled = json.loads((folder / "compile_commands.json").read_text(encoding="utf-8"))
        self.compiled = {str((folder / one["file"]).resolve()): one for one in compiled
                         if "_mutants.a" not in one["output"]}  # which has some of them once more
        name = os.path.realpath(folder / OBJECT)
        self.link = shlex.split(said(["ninja", "-C", folder, "-t", "commands", os.path.relpath(name, folder)])
                                .splitlines()[-1])
        tests = json.loads(said(["meson", "introspect", "--tests", folder]))
        self.tests = {test["name"]: test for test in tests}

    def object_with(self, source, text, place):
        """The shared object in the folder `place`, made with this text of the source file."""
        place.mkdir(parents=True, exist_ok=True)
        one = self.compiled[str(source)]
        copy, made = place / source.name, place / "changed.o"
        copy.write_text(text, encoding="utf-8")
        words = shlex.split(one["command"])
        words[words.index("-o") + 1], words[words.index("-c") + 1] = str(made), str(copy)
        words[words.index("-MF") + 1] = str(place / "changed.d")
        said([*words, "-w"], cwd=self.folder)  # what a fault leaves unused is no matter
        return self.linked(one["output"], made, place)

    def linked(self, replaced, made, place):
        words, is_in = [], False
        for word in self.link:
            if word.startswith("core/") and word.endswith(".a"):
                members = said(["ar", "t", word], cwd=self.folder).split()
                if replaced in members:
                    is_in = True
                    word = str(place / pathlib.Path(word).name)
                    pathlib.Path(word).unlink(missing_ok=True)
                    said(["ar", "csrD", word, *(str(made) if one == replaced else one for one in members)],
                         cwd=self.folder)
            words.append(word)
        if not is_in:
            raise Broken(f"the shared object is made without {replaced}")
        for name in ("liblock.so.0", "liblock.so"):
            (place / name).unlink(missing_ok=True)
            (place / name).symlink_to("liblock.so.made")
        words[words.index("-o") + 1] = str(place / "liblock.so.made")
        said(words, cwd=self.folder)
        return place

    def passes(self, name, place):
        """Whether the test passes with the object in that folder."""
        name, _, part = name.partition(":")
        test = self.tests[name]
        environment = {**os.environ, **test["env"], "LD_LIBRARY_PATH": str(place), "LIBLOCK_TEST_SIZE": "quick",
                       "LIBLOCK_STRESS": "quick"}
        try:
            done = subprocess.run(test["cmd"] + [part] * bool(part), cwd=test["workdir"] or self.folder, check=False,
                                  env=environment, capture_output=True, preexec_fn=die_with_parent,
                                  timeout=TEST_SECONDS_MAX)
            return done.returncode == 0
        except subprocess.TimeoutExpired:
            return False


def changed(fault):
    source = ROOT / "core" / fault.file
    text = source.read_text(encoding="utf-8")
    if text.count(fault.before) != 1:
        raise Broken(f"{fault.file} has {text.count(fault.before)} times: {fault.before.strip()}")
    return source, text.replace(fault.before, fault.after)


def notices(build, name, place, sound):
    """Whether the test fails with the object in the folder place, and right behind that passes with the sound one.
    Where it fails with both it was the machine, and both are asked again."""
    for _ in range(TRIES):
        if build.passes(name, place):
            return False
        if build.passes(name, sound):
            return True
    return False


def hunt(build, fault, folder):
    """{by: the test that noticed, or "", tests: how many ran, seconds, error}"""
    began, ran = time.monotonic(), 0
    try:
        place = build.object_with(*changed(fault), folder / fault.name)
        for name in fault.tests:
            ran += 1
            if notices(build, name, place, folder / WITHOUT):
                return {"by": name, "tests": ran, "seconds": time.monotonic() - began}
    except Broken as broken:
        return {"by": "", "tests": ran, "seconds": time.monotonic() - began, "error": str(broken)}
    return {"by": "", "tests": ran, "seconds": time.monotonic() - began}


def without_a_fault(build, folder, tests):
    """Those of the tests that fail though nothing is wrong. The object is made in the same way."""
    source = ROOT / "core" / FAULTS[0].file
    place = build.object_with(source, source.read_text(encoding="utf-8"), folder / WITHOUT)
    return [name for name in tests if not any(build.passes(name, place) for _ in range(TRIES))]


class Report:
    def __init__(self, count):
        self.number = self.failed = 0
        print(f"1..{count}", flush=True)

    def tell(self, is_good, name, figures, *lines):
        self.number += 1
        self.failed += not is_good
        print(f"{'ok' if is_good else 'not ok'} {self.number} - {name} # {figures}")
        for line in lines:
            print(f"# {line}")
        sys.stdout.flush()


def check():
    report = Report(len(FAULTS))
    for fault in FAULTS:
        try:
            changed(fault)
            report.tell(True, f"{fault.name} has its place", fault.file)
        except Broken as broken:
            report.tell(False, f"{fault.name} has its place", fault.file, str(broken))
    return report.failed != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--fault", action="append", choices=[fault.name for fault in FAULTS])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--list", action="store_true", help="say what each fault is, and end")
    parser.add_argument("--check", action="store_true", help="see whether each has its place still, and end")
    words = parser.parse_args()
    if words.check:
        return check()
    faults = [fault for fault in FAULTS if not words.fault or fault.name in words.fault]
    if words.list:
        print("\n".join(f"{fault.name}: {fault.what} (core/{fault.file})" for fault in faults))
        return 0
    if words.build is None:
        parser.error("--build DIR is missing: where ./dev has built, such as build/release")
    build, folder = Build(words.build.resolve()), words.build.resolve() / "mutants"
    report = Report(len(faults) + 1)
    tests = sorted({name for fault in faults for name in fault.tests})
    wrong = without_a_fault(build, folder, tests)
    report.tell(not wrong, "all of these tests pass where there is no fault", f"{len(tests)} tests",
                *(f"fails without a fault: {name}" for name in wrong))
    kept = []
    with concurrent.futures.ThreadPoolExecutor(words.jobs) as pool:
        for fault, found in zip(faults, pool.map(lambda one: hunt(build, one, folder), faults)):
            kept.append({"name": fault.name, "what": fault.what, **found})
            by = f"found by {found['by']}" if found["by"] else found.get("error", "not found")
            report.tell(bool(found["by"]), f"{fault.name}: {fault.what}",
                        f"{found['seconds']:.0f} s, {found['tests']} tests", by)
    if words.json:
        words.json.write_text(json.dumps({"faults": kept}, indent=1) + "\n", encoding="utf-8")
    return report.failed != 0


if __name__ == "__main__":
    sys.exit(main())
