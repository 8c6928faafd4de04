#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns core/redis/scripts/*.lua into C++: each script's name, body and SHA-1.

A script opens with a head that a machine reads: Purpose, KEYS, ARGV, Returns, and Uses where it is built on
parts (files whose head says Part). A part that most calls can do without stands further down, where the line
'-- Here: PART' is: what returns before that has not even made its functions, which cost a server as much as
commands. The head is verified: every ARGV that the body names is described, every
one described is used, KEYS are described when they are used, and a script that writes says so nowhere else.
Comments and indentation do not travel to the server. Usage: embed_lua.py OUTPUT.cpp FOLDER NAMESPACE SCRIPT.lua…,
where FOLDER of core/ has the header that declares them.
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


def code_lines(text):
    """What travels to the server: [(number of the line, the line)]."""
    lines = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    return [(number, line) for number, line in lines if line and not line.startswith("--")]


def strip(text):
    return "\n".join(line for _, line in code_lines(text))


def parts_used(head):
    return [name.strip() for name in head.get("Uses", "").split(",") if name.strip()]


def pieces(name, texts, head):
    """What is sent, line by line: (part or script, number of the line in it, the line). A part stands at its line
    '-- Here: PART' in the script, else before the script."""
    here = re.findall(r"^-- Here: (\w+)$", texts[name], re.MULTILINE)
    lines = [(part, *line) for part in parts_used(head) if part not in here for line in code_lines(texts[part])]
    for number, line in enumerate(texts[name].splitlines(), 1):
        part = line.removeprefix("-- Here: ")
        if part != line:
            lines += [(part, *inner) for inner in code_lines(texts[part])]
        elif line.strip() and not line.lstrip().startswith("--"):
            lines.append((name, number, line.strip()))
    return lines


def assemble(name, texts, head):
    """The script as it is sent, and its SHA-1."""
    body = "\n".join(line for _, _, line in pieces(name, texts, head)) + "\n"
    return body, hashlib.sha1(body.encode()).hexdigest()


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
    output, folder, namespace = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    paths = [pathlib.Path(p) for p in sys.argv[4:]]
    texts = {p.stem: p.read_text(encoding="utf-8") for p in paths}
    heads = {name: read_head(name + ".lua", text) for name, text in texts.items()}
    parts = {name for name, head in heads.items() if "Part" in head}
    out = [f"// Made by tools/embed_lua.py from core/{folder}/scripts; do not edit.",
           f'#include "{folder}/scripts.hpp"', "", f"namespace {namespace} {{", ""]
    for name in sorted(set(texts) - parts):
        unknown = [part for part in parts_used(heads[name]) if part not in parts]
        if unknown:
            sys.exit(f"{name}.lua: uses {unknown}, which are no parts")
        unused = set(re.findall(r"^-- Here: (\w+)$", texts[name], re.MULTILINE)) - set(parts_used(heads[name]))
        if unused:
            sys.exit(f"{name}.lua: its head does not say that it uses {sorted(unused)}")
        verify(f"{name}.lua", heads[name], strip(texts[name]))
        body, sha = assemble(name, texts, heads[name])
        out += [f'const Script {name}{{"{name}", "{sha}",', literal(body) + "};", ""]
    out += [f"}}  // namespace {namespace}", ""]
    output.write_text("\n".join(out), encoding="utf-8")


if __name__ == "__main__":
    main()
