#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lists the scripts that a header declares, one SCRIPT(name) in a line, so that tests leave none out.
Usage: list_scripts.py HEADER OUTPUT"""
import pathlib
import re
import sys


def main():
    text = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    names = re.search(r"extern const Script ([^;]*);", text).group(1)
    lines = [f"SCRIPT({name.strip()})" for name in names.split(",")]
    pathlib.Path(sys.argv[2]).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
