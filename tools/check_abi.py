#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What programs rely on that were built against an earlier shared object: functions, their parameters, and the types
these are made of, as libabigail reads them from the debug information, against the committed baseline.

A function may be added, and is then added to the baseline; nothing that is there may change or go while the soname
stays. Usage: check_abi.py SHARED_OBJECT INCLUDE_DIRECTORY BASELINE [--update]. Prints TAP.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from tap import Tap

# Of the public header alone, without what differs from one machine to the next: its paths and library versions.
READ = ["abidw", "--exported-interfaces-only", "--drop-private-types", "--no-corpus-path", "--no-comp-dir-path",
        "--no-show-locs", "--no-elf-needed", "--type-id-style", "hash"]
FAILED, USAGE = 1, 2  # of abidiff, as bits of its status
ADDED, OTHERWISE = re.compile(r"\s*\[A\]"), re.compile(r"\s*\[[CD]\]|.*(SONAME|architecture)")
HOW = ("a change that is meant, before the first release or under a new LIBLOCK_ABI_VERSION, is recorded by the same "
       "command with --update (RELEASING.md)")


def read_abi(library, include, target):
    done = subprocess.run([*READ, "--headers-dir", include, "--out-file", target, library],
                          capture_output=True, text=True)
    if done.returncode != 0:
        return [f"abidw ended with {done.returncode}", *done.stderr.splitlines()]
    return [] if "<function-decl" in pathlib.Path(target).read_text(encoding="utf-8") else [
        f"{library} has no debug information to read types from"]


def differences(baseline, found, option, counts):
    """What abidiff says, where a line of it counts."""
    done = subprocess.run(["abidiff", option, baseline, found], capture_output=True, text=True)
    if done.returncode & (FAILED | USAGE):
        return [f"abidiff ended with {done.returncode}", *done.stderr.splitlines()]
    said = [line for line in done.stdout.splitlines() if line.strip()]
    return [*said, HOW] if any(counts.match(line) for line in said) else []


def main():
    update = sys.argv[4:] == ["--update"]
    library, include, baseline = sys.argv[1:4]
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        found = pathlib.Path(directory, "found.abi")
        tap.rule("the_interface_can_be_read_from_the_object", read_abi(library, include, found))
        if update and not tap.failed:
            pathlib.Path(baseline).write_bytes(found.read_bytes())
        tap.rule("there_is_a_baseline", [] if pathlib.Path(baseline).is_file() else [f"no {baseline}; {HOW}"])
        if not tap.failed:
            tap.rule("nothing_that_was_published_has_changed_or_gone",
                     differences(baseline, found, "--no-added-syms", OTHERWISE))
            tap.rule("every_function_is_in_the_baseline",
                     differences(baseline, found, "--added-fns", ADDED))
    tap.finish()


if __name__ == "__main__":
    main()
