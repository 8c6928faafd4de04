#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Dependencies point one way: base <- runtime <- lease <- engine <- {local, remote <- redis <- quorum} <-
context <- capi.

A folder includes itself and what is below it; local and what speaks to servers do not know each other.
What stands outside the library (API tests, conformance, examples, benchmarks) sees the public header alone.
Usage: check_dependencies.py ROOT. Prints TAP.
"""
import pathlib
import re
import sys

from tap import Tap, files_of

RANK = {"base": 0, "runtime": 1, "lease": 2, "engine": 3, "local": 4, "remote": 4, "redis": 5, "quorum": 6,
        "context": 7}
SERVERS = {"remote", "redis", "quorum"}
PUBLIC = re.compile(r"^liblock/(liblock|version)\.h$")  # the core is not written on the wrapper, liblock.hpp
OUTSIDE = ("tests/api/", "tests/cpp/", "tests/abi/", "tests/conformance/", "tests/support/", "examples/", "bench/",
           "lockctl/")
# libuv stays behind the runtime, and behind what speaks to servers; the public header never shows it.
UV_FOLDERS = {"runtime", "redis", "quorum"}
# So does OpenSSL behind what speaks to one server; a quorum is made of those.
TLS_FOLDERS = {"redis"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
SOURCE = {".c", ".h", ".cpp", ".hpp"}


def includes(root, name):
    text = (root / name).read_text(encoding="utf-8", errors="replace")
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1), match.group(2)


def core_problem(folder, quote, target, root):
    """Why this include may not stand in this folder of core, or None."""
    if PUBLIC.match(target):
        return None
    if target in ("uv.h", "uv/unix.h") or target.startswith("hiredis"):
        return None if folder in UV_FOLDERS else f"{folder} must not know {target.split('/')[0]}"
    if target.startswith("openssl/"):
        return None if folder in TLS_FOLDERS else f"{folder} must not know openssl"
    if quote == "<":
        return "the C API lies above the core" if target.startswith("liblock/") else None
    into = target.split("/")[0]
    if "/" not in target or into not in RANK:
        return f'"{target}" is not named from core/ (as in "base/clock.hpp")'
    if not (root / "core" / target).is_file():
        return f'"{target}" does not exist'
    if into == folder or RANK[into] < RANK[folder] and not (into == "local" and folder in SERVERS):
        return None
    return f"{folder} must not depend on {into}"


def check_core(root, names):
    for name in names:
        parts = pathlib.PurePosixPath(name).parts
        if parts[0] != "core" or pathlib.PurePosixPath(name).suffix not in SOURCE:
            continue
        folder = parts[1]
        if folder not in RANK:
            yield f"{name}: core has no folder '{folder}' in its order"
            continue
        for line, quote, target in includes(root, name):
            problem = core_problem(folder, quote, target, root)
            if problem:
                yield f"{name}:{line}: {problem}"


def check_outside(root, names):
    for name in names:
        if not name.startswith(OUTSIDE) or pathlib.PurePosixPath(name).suffix not in SOURCE:
            continue
        for line, _, target in includes(root, name):
            if target.split("/")[0] in RANK and (root / "core" / target).exists() or "capi/" in target:
                yield f"{name}:{line}: {target} is inside the library; only the public header may be seen from here"


def check_public(root, names):
    for name in names:
        if not name.startswith("capi/include/"):
            continue
        for line, _, target in includes(root, name):
            if name.endswith(".hpp"):
                if "/" in target or target.endswith(".h") and target != "liblock.h":
                    yield f"{name}:{line}: the C++ wrapper sees liblock.h and the standard library, not {target}"
            elif target not in ("stddef.h", "stdint.h", "version.h"):
                yield f"{name}:{line}: the public header must not drag {target} into the programs of others"


def main():
    root = pathlib.Path(sys.argv[1])
    names = files_of(root)
    tap = Tap()
    tap.rule("there_is_a_core_to_check", [] if any(n.startswith("core/") for n in names) else ["no core/"])
    tap.rule("dependencies_in_core_point_one_way", check_core(root, names))
    tap.rule("what_stands_outside_sees_the_public_header_alone", check_outside(root, names))
    tap.rule("the_public_header_includes_nothing_but_plain_c", check_public(root, names))
    tap.finish()


if __name__ == "__main__":
    main()
