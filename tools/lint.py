#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Advice on format and on likely mistakes: clang-format as a dry run, clang-tidy over what the build
compiles.

Nothing is changed, and no test depends on it: versions of both tools differ in what they say. Status 1 when
there is something to look at. Usage: lint.py --build BUILD_DIRECTORY [PATH…]; without paths, all of core,
capi, tests and examples.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

from tap import files_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("core/", "capi/", "tests/", "examples/", "bench/")
SUFFIXES = {".c", ".h", ".cpp", ".hpp"}


def check_format(names):
    done = subprocess.run(["clang-format", "--dry-run", *names], cwd=ROOT, capture_output=True, text=True, check=False)
    places = [line for line in done.stderr.splitlines() if "warning:" in line]
    files = sorted({place.split(":")[0] for place in places})
    for name in files:
        count = sum(place.startswith(name + ":") for place in places)
        print(f"format: {name}: {count} places differ (clang-format -i {name})")
    return len(files)


def tidy(build, source):
    done = subprocess.run(["clang-tidy", "--quiet", "-p", build, source], capture_output=True, text=True, check=False)
    return source, [line for line in done.stdout.splitlines() if line.strip()]


def check_tidy(build, names):
    with open(pathlib.Path(build, "compile_commands.json"), encoding="utf-8") as file:
        units = {os.path.realpath(os.path.join(one["directory"], one["file"])) for one in json.load(file)}
    sources = [str(ROOT / name) for name in names if str(ROOT / name) in units]
    found = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, (source, lines) in enumerate(pool.map(lambda one: tidy(build, one), sources), 1):
            print(f"tidy: {number}/{len(sources)} {os.path.relpath(source, ROOT)}", flush=True)
            for line in lines:
                print(f"  {line}")
            found += sum("warning:" in line or "error:" in line for line in lines)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("path", nargs="*")
    arguments = parser.parse_args()
    names = [name for name in files_of(ROOT)
             if name.startswith(FOLDERS) and pathlib.PurePath(name).suffix in SUFFIXES]
    if arguments.path:
        names = [name for name in names if name.startswith(tuple(arguments.path))]
    formats, findings = check_format(names), check_tidy(arguments.build, names)
    print(f"{len(names)} files: {formats} differ in format, {findings} findings")
    sys.exit(1 if formats or findings else 0)


if __name__ == "__main__":
    main()
