#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the version that version.h states: `release` (0.1.0) or `abi` (the number of the soname).

The header is the one place where a version is written; meson, pkg-config and the checks all ask this script.
"""
import pathlib
import re
import sys

HEADER = pathlib.Path(__file__).resolve().parent.parent / "capi/include/liblock/version.h"


def number(text, name):
    match = re.search(rf"^#define {name} (\d+)$", text, re.MULTILINE)
    if match is None:
        sys.exit(f"{HEADER}: no line '#define {name} NUMBER'")
    return match.group(1)


def main():
    text = HEADER.read_text(encoding="utf-8")
    if sys.argv[1:] == ["release"]:
        print(".".join(number(text, f"LIBLOCK_VERSION_{part}") for part in ("MAJOR", "MINOR", "PATCH")))
    elif sys.argv[1:] == ["abi"]:
        print(number(text, "LIBLOCK_ABI_VERSION"))
    else:
        sys.exit("usage: version.py release|abi")


if __name__ == "__main__":
    main()
