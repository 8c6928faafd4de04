#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each public header compiles alone, twice in a row, in every language version we promise, without one
warning; so do the INIT macros and the constants that a user writes down, and the C++ wrapper without exceptions.
Usage: check_header.py INCLUDE_DIRECTORY. Prints TAP.
"""
import pathlib
import shutil
import subprocess
import sys

from tap import Tap

STANDARDS = [("c", "c11"), ("c", "c17"), ("c++", "c++17"), ("c++", "c++20")]
# The wrapper is C++ alone, and has a half for programs without exceptions.
CPP_STANDARDS = [("c++", "c++17"), ("c++", "c++20"), ("c++", "c++17 -fno-exceptions -fno-rtti")]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wundef", "-Wconversion", "-Wsign-conversion", "-Werror"]
# -Wstrict-prototypes is a warning of C alone.
C_WARNINGS = ["-Wstrict-prototypes", "-Wmissing-prototypes"]
USE = """
int main(void);
int main(void) {
  liblock_result result = LIBLOCK_RESULT_INIT;
  liblock_acquire_options options;
  liblock_owner *owner = LIBLOCK_OWNER_THREAD;
  liblock_acquire_options_init(&options, sizeof options);
  options.ttl_ms = LIBLOCK_TTL_AUTO;
  options.wait_ms = LIBLOCK_DEFAULT;
  options.owner = owner;
  return result.status == LIBLOCK_OK && LIBLOCK_VERSION_NUMBER >= 0 ? 0 : 1;
}
"""


def compile_text(compiler, language, standard, include, text):
    """The compiler's complaints about this text; an empty list when there are none."""
    warnings = WARNINGS + (C_WARNINGS if language == "c" else [])
    run = subprocess.run([compiler, "-x", language, *f"-std={standard}".split(), "-fsyntax-only", *warnings,
                          "-I", include, "-"], input=text, capture_output=True, text=True)
    return run.stderr.splitlines() or ([] if run.returncode == 0 else [f"{compiler} ended with {run.returncode}"])


def words(*parts):
    """A name for a rule, of what it is about."""
    return "_".join(parts).replace("+", "p").replace(" -f", "_").replace("-", "_")


def compiles_alone(tap, compiler, include, headers, standards):
    for language, standard in standards:
        for header in headers:
            twice = f"#include <{header}>\n#include <{header}>\nextern int unused;\n"
            tap.rule(words(header, "compiles_alone_and_twice_in", standard, "with", compiler),
                     compile_text(compiler, language, standard, include, twice))


def main():
    include = pathlib.Path(sys.argv[1])
    headers = sorted(str(path.relative_to(include)) for path in include.rglob("*.h"))
    compilers = [one for one in ("gcc", "clang") if shutil.which(one)]
    tap = Tap()
    tap.rule("there_are_headers_and_a_compiler", [] if headers and compilers else [f"{headers}, {compilers}"])
    wrappers = sorted(str(path.relative_to(include)) for path in include.rglob("*.hpp"))
    for compiler in compilers:
        compiles_alone(tap, compiler, include, headers, STANDARDS)
        compiles_alone(tap, compiler, include, wrappers, CPP_STANDARDS)
        for language, standard in STANDARDS:
            name = words("in", standard, "with", compiler)
            tap.rule(f"macros_and_constants_can_be_used_{name}",
                     compile_text(compiler, language, standard, include, "#include <liblock/liblock.h>\n" + USE))
    tap.finish()


if __name__ == "__main__":
    main()
