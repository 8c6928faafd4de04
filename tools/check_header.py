#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each public header compiles alone, twice in a row, in every language version we promise, without one
warning; so do the INIT macros and the constants that a user writes down. Usage: check_header.py
INCLUDE_DIRECTORY. Prints TAP.
"""
import pathlib
import shutil
import subprocess
import sys

from tap import Tap

STANDARDS = [("c", "c11"), ("c", "c17"), ("c++", "c++17"), ("c++", "c++20")]
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
    run = subprocess.run([compiler, "-x", language, f"-std={standard}", "-fsyntax-only", *warnings, "-I", include, "-"],
                         input=text, capture_output=True, text=True)
    return run.stderr.splitlines() or ([] if run.returncode == 0 else [f"{compiler} ended with {run.returncode}"])


def main():
    include = pathlib.Path(sys.argv[1])
    headers = sorted(str(path.relative_to(include)) for path in include.rglob("*.h"))
    compilers = [one for one in ("gcc", "clang") if shutil.which(one)]
    tap = Tap()
    tap.rule("there_are_headers_and_a_compiler", [] if headers and compilers else [f"{headers}, {compilers}"])
    for compiler in compilers:
        for language, standard in STANDARDS:
            name = f"in_{standard.replace('+', 'p')}_with_{compiler}"
            for header in headers:
                twice = f"#include <{header}>\n#include <{header}>\nextern int unused;\n"
                tap.rule(f"{header}_compiles_alone_and_twice_{name}",
                         compile_text(compiler, language, standard, include, twice))
            tap.rule(f"macros_and_constants_can_be_used_{name}",
                     compile_text(compiler, language, standard, include, "#include <liblock/liblock.h>\n" + USE))
    tap.finish()


if __name__ == "__main__":
    main()
