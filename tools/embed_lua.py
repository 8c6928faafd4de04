#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns core/redis/scripts/*.lua into C++: each script's name, body and SHA-1.

A script opens with a head that a machine reads: Purpose, KEYS, ARGV, Returns, and Uses where it is built on
parts (files whose head says Part). The head is verified: every ARGV that the body names is described, every
one described is used, KEYS are described when they are used, and a script that writes says so nowhere else.
Comments and indentation do not travel to the server. Usage: embed_lua.py OUTPUT.cpp SCRIPT.lua…
"""
import hashlib
import pathlib
import re
import sys

FIELDS = ("Purpose", "KEYS", "ARGV", "Returns", "Uses", "Part")


def read_head(path, text):
    fields, name = {}, None
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        if "SPDX" in line:
            continue
        match = re.match(r"-- (\w+):\s*(.*)", line)
        if match and match.group(1) in FIELDS:
            name = match.group(1)
            fields[name] = match.group(2)
        elif name:
            fields[name] += " " + line.removeprefix("--").strip()
    if "Part" not in fields:
        for field in ("Purpose", "KEYS", "ARGV", "Returns"):
            if field not in fields:
                sys.exit(f"{path}: its head has no {field}")
    return fields


def strip(text):
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("--"))


def verify(path, fields, body):
    described = {int(n) for n in re.findall(r"(?:^|\| )(\d+) ", fields["ARGV"])}
    open_ended = fields["ARGV"].rstrip().endswith("…")
    used = {int(n) for n in re.findall(r"ARGV\[(\d+)\]", body)}
    if used - described:
        sys.exit(f"{path}: ARGV {sorted(used - described)} are used but not described in its head")
    last = max(described, default=0)
    for number in described - used:
        if not (open_ended and number == last):
            sys.exit(f"{path}: ARGV {number} is described in its head but not used")
    if "ARGV" in body and not described:
        sys.exit(f"{path}: its head describes no ARGV")
    for name in ("os.", "io.", "loadstring", "math.random", "KEYS *", "redis.call('KEYS'"):
        if name in body:
            sys.exit(f"{path}: must not use {name}")


def literal(text):
    return "\n".join(f'    R"lua({line}\n)lua"' for line in text.splitlines())


def main():
    output, paths = pathlib.Path(sys.argv[1]), [pathlib.Path(p) for p in sys.argv[2:]]
    texts = {p.stem: p.read_text(encoding="utf-8") for p in paths}
    heads = {name: read_head(name + ".lua", text) for name, text in texts.items()}
    parts = {name for name, head in heads.items() if "Part" in head}
    out = ["// Made by tools/embed_lua.py from core/redis/scripts; do not edit.", '#include "redis/scripts.hpp"', "",
           "namespace liblock::scripts {", ""]
    for name in sorted(set(texts) - parts):
        uses = [u.strip() for u in heads[name].get("Uses", "").split(",") if u.strip()]
        unknown = [u for u in uses if u not in parts]
        if unknown:
            sys.exit(f"{name}.lua: uses {unknown}, which are no parts")
        own = strip(texts[name])
        verify(f"{name}.lua", heads[name], own)
        body = "\n".join([strip(texts[u]) for u in uses] + [own]) + "\n"
        sha = hashlib.sha1(body.encode()).hexdigest()
        out += [f'const Script {name}{{"{name}", "{sha}",', literal(body) + "};", ""]
    out += ["}  // namespace liblock::scripts", ""]
    output.write_text("\n".join(out), encoding="utf-8")


if __name__ == "__main__":
    main()
