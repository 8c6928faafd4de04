#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the shared object exports is what the header declares: no symbol more, none less, all of them
liblock_*.

A Ruby or Python process may have another libuv or hiredis loaded: nothing of ours but the API may be seen
there. The committed list of symbols names them once more, with the version that first had each, so that one that is
added or goes shows as a line of the change. Usage: check_symbols.py SHARED_OBJECT HEADER [LIST]. Prints TAP.
"""
import re
import subprocess
import sys

from tap import Tap, without_comments

DECLARED = re.compile(r"\b(LIBLOCK_API\b)?[^;{}()#]*?\b(liblock_\w+)\s*\(([^;{}]*)\)\s*;")


def exported(path):
    listing = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True, text=True)
    # Absolute symbols (A) are names of symbol versions, not something to link with.
    return {line.split()[-1].split("@")[0] for line in listing.stdout.splitlines()
            if len(line.split()) == 3 and line.split()[1] != "A"}


def declarations(path):
    """{name: is it marked LIBLOCK_API} for each function that the header declares; callback types are none."""
    with open(path, encoding="utf-8") as file:
        text = without_comments(file.read())
    text = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", "", text, flags=re.MULTILINE)
    text = re.sub(r"\btypedef\b[^;{]*(\{[^}]*\}[^;]*)?;|\benum\s*\{[^}]*\}\s*;", "", text)
    return {match.group(2): bool(match.group(1)) for match in DECLARED.finditer(text)}


def listed(path):
    """The functions of a list as dpkg-gensymbols has them: " NAME@VERSION_OF_SYMBOL RELEASE"."""
    with open(path, encoding="utf-8") as file:
        return set(re.findall(r"^ (liblock_\w+)@\w+ [\d.]+$", file.read(), re.MULTILINE))


def main():
    symbols, declared = exported(sys.argv[1]), declarations(sys.argv[2])
    tap = Tap()
    tap.rule("the_header_declares_functions", [] if declared else ["none found"])
    tap.rule("every_declaration_is_marked_as_exported", sorted(name for name, marked in declared.items() if not marked))
    tap.rule("only_liblock_symbols_are_exported", sorted(name for name in symbols if not name.startswith("liblock_")))
    tap.rule("every_declared_function_is_exported", sorted(set(declared) - symbols))
    tap.rule("every_exported_function_is_declared", sorted(symbols - set(declared)))
    if len(sys.argv) > 3:
        tap.rule("every_exported_function_is_listed", sorted(symbols - listed(sys.argv[3])))
        tap.rule("every_listed_function_is_exported", sorted(listed(sys.argv[3]) - symbols))
    tap.finish()


if __name__ == "__main__":
    main()
