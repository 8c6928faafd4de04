#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which lines of core/*/scripts/*.lua ran in tests, as the Lua shim wrote it down (LIBLOCK_LUA_COVERAGE, see
tests/support/lua_shim/coverage.hpp): a table, and what never ran. A line may have several pieces, each of which depends
on another condition. Exit status 1: some line, or some piece of one, never ran. Usage: lua_coverage.py DIRECTORY"""
import argparse
import collections
import pathlib
import re
import struct
import sys

import embed_lua

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Folders of core/ in which the parts of its scripts are looked for.
FOLDERS = {"redis": ["redis"], "quorum": ["quorum", "redis"]}
HEADER = 12  # of a chunk that Lua 5.1 has dumped
# Where a block ends Lua puts a return that is reached only if nothing returned before.
END = re.compile(r"[\s)}\],;]*(end[\s)}\],;]*)*")


class Chunk:
    """A dump of Lua 5.1 on this machine, as far as the lines of its instructions."""

    def __init__(self, dump):
        self.dump, self.at, self.lines = dump, HEADER, set()
        self.function()

    def number(self, form="i"):
        size = struct.calcsize(form)
        self.at += size
        return struct.unpack(form, self.dump[self.at - size:self.at])[0]

    def skip(self, size):
        self.at += size

    def skip_string(self):
        self.skip(self.number("N"))

    def function(self):
        self.skip_string()
        self.skip(struct.calcsize("iiBBBB"))
        self.skip(4 * self.number())
        for _ in range(self.number()):
            kind = self.number("B")
            if kind == 4:
                self.skip_string()
            else:
                self.skip({0: 0, 1: 1, 3: 8}[kind])
        for _ in range(self.number()):
            self.function()
        self.lines |= {self.number() for _ in range(self.number())}
        for _ in range(self.number()):
            self.skip_string()
            self.skip(struct.calcsize("ii"))
        for _ in range(self.number()):
            self.skip_string()


def scripts():
    """By SHA-1: for each line of the body, the file and the line that it comes from."""
    found = {}
    for folder, searched in FOLDERS.items():
        paths = {path.stem: path for name in reversed(searched)
                 for path in (ROOT / "core" / name / "scripts").glob("*.lua")}
        texts = {name: path.read_text(encoding="utf-8") for name, path in paths.items()}
        for name, path in paths.items():
            head = embed_lua.read_head(path, texts[name])
            if "Part" in head or path.parts[-3] != folder:
                continue
            _, sha1 = embed_lua.assemble(name, texts, head)
            found[sha1] = [(paths[part], number) for part, number, _ in embed_lua.pieces(name, texts, head)]
    return found


def read(directory):
    """What the processes wrote: by SHA-1, the pieces and lines with code, and the lines that ran."""
    compiled, ran = {}, collections.defaultdict(set)
    for path in directory.iterdir():
        for line in path.read_text().splitlines():
            kind, sha1, *rest = line.split()
            if kind == "ran":
                ran[sha1].add(int(rest[0]))
            elif sha1 not in compiled:
                text, dump = map(bytes.fromhex, rest)
                compiled[sha1] = text.decode("utf-8", "replace").split("\n"), Chunk(dump).lines
    return compiled, ran


def judge(directory):
    """By file and line, whether each of its pieces ran: {path: {line: {number of the piece: (ran, its text)}}}."""
    compiled, ran = read(directory)
    result = collections.defaultdict(lambda: collections.defaultdict(dict))
    for sha1, origins in scripts().items():
        if sha1 not in compiled:
            path, number = origins[-1]
            result[path][number][0] = (False, "no test loads this script")
            continue
        pieces, with_code = compiled[sha1]
        body_line = piece = 0
        for line, text in enumerate(pieces, 1):
            is_new = not text.startswith(" ")
            body_line, piece = (body_line + 1, 0) if is_new else (body_line, piece + 1)
            if line in with_code and not END.fullmatch(text):
                path, number = origins[body_line - 1]
                before, _ = result[path][number].get(piece, (False, ""))
                result[path][number][piece] = (before or line in ran[sha1], text.strip())
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=pathlib.Path)
    result = judge(parser.parse_args().directory)
    rows, missing = [], []
    for path, lines in sorted(result.items()):
        name = path.relative_to(ROOT)
        pieces = [one for of_line in lines.values() for one in of_line.values()]
        lost = [n for n, of_line in sorted(lines.items()) if not any(ran for ran, _ in of_line.values())]
        rows.append((str(name), len(lines), len(lines) - len(lost), len(pieces), sum(ran for ran, _ in pieces)))
        for number, of_line in sorted(lines.items()):
            if number in lost:
                missing.append(f"{name}:{number}: never ran: {' '.join(text for _, text in of_line.values())}")
            else:
                missing += [f"{name}:{number}: of it never ran: {text}" for ran, text in of_line.values() if not ran]
    rows.append(("together", *(sum(column) for column in list(zip(*rows))[1:])))
    print(f"{'':44}{'lines':>7}{'ran':>7}{'%':>8}{'pieces':>9}{'ran':>7}{'%':>8}")
    for name, lines, ran, pieces, pieces_ran in rows:
        print(f"{name:44}{lines:7}{ran:7}{100 * ran / lines:8.1f}{pieces:9}{pieces_ran:7}"
              f"{100 * pieces_ran / pieces:8.1f}")
    print("\n".join(missing))
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
