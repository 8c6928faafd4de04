#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Who calls C without a C compiler reads the header, after a preprocessor, with a parser of plain C: pycparser (cffi
and many generators of bindings) and the one of LuaJIT's ffi. Each must read the whole header and find every function
that the shared object exports; what a macro names must be a number that can be copied.

Usage: foreign_parsers.py INCLUDE_DIRECTORY SHARED_OBJECT. Prints TAP.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))
from check_symbols import exported  # noqa: E402  (the path had to be set first)
from tap import Tap  # noqa: E402

LUA = """local ffi = require "ffi"
ffi.cdef(io.read("*a"))
local liblock = ffi.load(arg[1])
for index = 2, #arg do
  local found, why = pcall(function() return liblock[arg[index]] end)
  if not found then print(why) end
end
"""
# What makes a header more than plain C: GNU's attributes, and its word for silence about extensions.
PLAIN = ["-std=c99", "-D__attribute__(x)=", "-D__extension__="]


def preprocessed(include, *definitions):
    run = subprocess.run(["gcc", "-E", "-P", *PLAIN, *definitions, "-I", include, "-x", "c", "-"], check=True,
                         input="#include <liblock/liblock.h>\n", capture_output=True, text=True)
    return run.stdout


def functions_by_pycparser(text):
    """(names of the declared functions, problems)"""
    from pycparser import c_ast, c_parser
    try:
        tree = c_parser.CParser().parse(text)
    except Exception as error:  # its own class has moved between versions
        return set(), [f"{type(error).__name__}: {error}"]
    return {node.name for node in tree.ext if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl)
            and node.name.startswith("liblock_")}, []


def missed_by_luajit(text, library, names):
    own = text[text.index("const char *liblock_version_string"):]  # what stands before, it knows
    with tempfile.TemporaryDirectory() as directory:
        program = pathlib.Path(directory, "reads.lua")
        program.write_text(LUA, encoding="utf-8")
        done = subprocess.run(["luajit", program, pathlib.Path(library).resolve(), *names], input=own,
                              capture_output=True, text=True)
    return done.stdout.splitlines() + (done.stderr.splitlines() if done.returncode else [])


def constants_without_a_number(include):
    """Names of plain numbers, INIT macros and maps aside, that are neither an enumerator nor a macro of one number."""
    text = (pathlib.Path(include) / "liblock/liblock.h").read_text(encoding="utf-8")
    macros = dict(re.findall(r"^#define (LIBLOCK_\w+)[ \t]+(.+?)(?:[ \t]*/\*.*)?$", text, re.MULTILINE))
    number = re.compile(r"^(?:\(\(\w+ ?\*?\)-?\d+\)|INT64_MIN|-?\d+)$")
    return sorted(f"{name} is {value}" for name, value in macros.items()
                  if not number.match(value) and name not in ("LIBLOCK_API", "LIBLOCK_RESULT_INIT"))


def main():
    include, library = sys.argv[1:3]
    wanted = exported(library)
    text = preprocessed(include)
    tap = Tap()
    names, problems = functions_by_pycparser(text)
    tap.rule("pycparser_reads_the_header", problems)
    tap.rule("pycparser_finds_every_exported_function", sorted(wanted ^ names))
    tap.rule("luajit_reads_the_header_and_finds_every_exported_function",
             missed_by_luajit(text, library, sorted(wanted)))
    tap.rule("every_constant_is_an_enumerator_or_a_plain_number", constants_without_a_number(include))
    tap.finish()


if __name__ == "__main__":
    main()
