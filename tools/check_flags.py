#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every file of the library, and of lockctl, is compiled with the guards that its compiler knows: most of them leave no
trace in an object by which their absence could be told.
Usage: check_flags.py BUILD. Prints TAP.
"""
import functools
import json
import pathlib
import shlex
import subprocess
import sys

from tap import Tap

GUARDS = {  # what is right as well, being stronger
    "-fstack-protector": {"-fstack-protector-strong", "-fstack-protector-all"},
    "-fstack-clash-protection": set(),
    "-fcf-protection=return": {"-fcf-protection", "-fcf-protection=full"},
    "-mbranch-protection=standard": set(),  # where processors are Arm's
    "-Wformat-security": set(),
}
TAKEN_BACK = {"-fno-stack-protector", "-fno-stack-clash-protection", "-fcf-protection=none", "-fcf-protection=branch",
              "-mbranch-protection=none", "-Wno-format-security", "-Wno-format", "-w"}
OURS = ("core", "capi", "lockctl")
LANGUAGES = {".c": "c", ".cpp": "c++"}


def compilations(build):
    """(path in the tree, compiler, flags) of each file of the library."""
    root = pathlib.Path(__file__).resolve().parent.parent
    for one in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = pathlib.Path(one["directory"], one["file"]).resolve()
        if path.suffix not in LANGUAGES or not any(path.is_relative_to(root / part) for part in OURS):
            continue
        words = shlex.split(one["command"])
        first = next(number for number, word in enumerate(words) if word.startswith("-"))
        yield path.relative_to(root), tuple(words[:first]), set(words[first:])


@functools.cache
def knows(compiler, flag, language):
    return subprocess.run([*compiler, "-Wall", "-Werror", flag, "-x", language, "-c", "/dev/null", "-o", "/dev/null"],
                          capture_output=True, check=False).returncode == 0


def main():
    files = list(compilations(pathlib.Path(sys.argv[1])))
    tap = Tap()
    tap.rule("there_are_files_of_the_library", [] if files else [f"none in {sys.argv[1]}/compile_commands.json"])
    tap.rule("each_compiler_can_be_asked_what_it_knows", sorted(
        {" ".join(compiler) for path, compiler, _ in files if not knows(compiler, "-O1", LANGUAGES[path.suffix])}))
    for guard, stronger in GUARDS.items():
        tap.rule(f"every_file_is_compiled_with_{guard.lstrip('-').replace('=', '_').replace('-', '_')}", [
            str(path) for path, compiler, flags in files
            if not flags & ({guard} | stronger) and knows(compiler, guard, LANGUAGES[path.suffix])])
    tap.rule("and_none_of_them_is_taken_back", [
        f"{path}: {flag}" for path, _, flags in files for flag in sorted(flags & TAKEN_BACK)])
    tap.finish()


if __name__ == "__main__":
    main()
