#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps the source readable: bounds on files, lines and functions, a head comment, no banned call, no loose
end.

Formatting is advice (`./dev lint`); these rules are a test. Usage: check_tidy.py ROOT. Prints TAP.
"""
import ast
import pathlib
import re
import sys

from tap import Tap, files_of, without_comments

FILE_LINES_MAX = 500
# Read as one page by whoever uses the library, so it is one file; it has its own bound.
FILE_LINES_EXEMPT = {"capi/include/liblock/liblock.h": 1200}
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 120
C_LIKE = {".c", ".h", ".cpp", ".hpp"}
CODE = C_LIKE | {".py", ".sh", ".rb", ".go", ".rs", ".lua", ".build", ".options"}
SCRIPTS = {"dev", ".ci/run"}
BANNED = {
    "sprintf": "snprintf", "vsprintf": "vsnprintf", "strcpy": "memcpy with a size", "strcat": "snprintf",
    "strncpy": "memcpy with a size", "strtok": "a loop", "gets": "fgets", "alloca": "a bounded array",
    "atoi": "strtol", "atol": "strtol", "rand": "base/random.hpp", "system": "fork and exec", "tmpnam": "mkstemp",
    "mktemp": "mkstemp", "localtime": "localtime_r", "gmtime": "gmtime_r", "ctime": "strftime", "setjmp": "a status",
}
SLEEPS = re.compile(r"\b(sleep|usleep|nanosleep|clock_nanosleep|sleep_for|sleep_until)\s*\(")
LOOSE_END = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
MACHINE_PATH = re.compile(r"(?<![\w.])/(work|root|home)/\w")
MUTANT = re.compile(r"\bLIBLOCK_MUTA(?:NT|TED)\(")
SPDX = "SPDX-License-Identifier: MIT"


def c_functions(text):
    """(first line, last line, name) of each function body in C or C++, found by the braces."""
    clean = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), without_comments(text),
                   flags=re.MULTILINE)
    stack, begin, found = [], 0, []
    for index, char in enumerate(clean):
        if char == "{":
            head = clean[begin:index].strip()
            inside = any(kind == "function" for kind, _, _ in stack)
            is_function = not inside and ")" in head and not re.match(r"(namespace|class|struct|enum|union)\b", head)
            is_function = is_function and "=" not in re.sub(r"\([^()]*\)|operator\S+", "", head).split("(")[0]
            is_function = is_function and head.count("\n") < 12  # longer: rows of a table made by a macro
            first = begin + len(clean[begin:index]) - len(clean[begin:index].lstrip())
            stack.append(("function" if is_function else "other", first, head))
            begin = index + 1
        elif char == "}" and stack:
            kind, first, head = stack.pop()
            if kind == "function":
                name = re.search(r"([\w:~]+)\s*\(", head)
                found.append((clean.count("\n", 0, first) + 1, clean.count("\n", 0, index) + 1,
                              name.group(1) if name else "function"))
            begin = index + 1
        elif char == ";" and not (stack and stack[-1][0] == "function"):
            begin = index + 1
    return found


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno, node.name


def shell_functions(text):
    first, name = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        head = re.match(r"^(\w+)\(\) *[{(]", line)
        if head:
            first, name = number, head.group(1)
        if first and (re.match(r"^[})]", line) or (head and line.rstrip().endswith("}"))):
            yield first, number, name
            first = 0


def functions(path, text):
    if path.suffix in C_LIKE:
        return c_functions(text)
    if path.suffix == ".py":
        return python_functions(text)
    if path.suffix == ".sh" or str(path) in SCRIPTS:
        return shell_functions(text)
    return []


def head_problem(path, text):
    """The licence line at the top, then at least one line of prose in the same comment or docstring."""
    lines = [line for line in text.splitlines()[:8] if line.strip()]
    if lines and lines[0].startswith("#!"):
        lines = lines[1:]
    if not lines or SPDX not in lines[0]:
        return f"{path}: the first line is not '{SPDX}'"
    prose = [line for line in lines[1:] if re.match(r'^\s*(//!?|/?\*|# |--|""")\s*\w', line)]
    if not prose and path.name != "meson.options":
        return f"{path}: no head comment that says what the file is for"
    return None


def grep(sources, pattern, what, only=lambda path: True, clean=False):
    for path, text in sources:
        if not only(path):
            continue
        body = without_comments(text) if clean else text
        for number, line in enumerate(body.split("\n"), 1):
            match = pattern.search(line)
            if match:
                yield f"{path}:{number}: {what(match)}"


def unbuilt_mutants(sources):
    """Files with faults on purpose that the build which switches them on does not have: no test could find those."""
    build = "".join(text for path, text in sources if str(path) == "core/meson.build")
    files = re.search(r"lock_core_mutants = static_library\(.*?files\((.*?)\)", build, re.DOTALL)
    for path, text in sources:
        if path.parts[0] == "core" and path.suffix == ".cpp" and MUTANT.search(without_comments(text)):
            if files is None or f"'{path.relative_to('core')}'" not in files.group(1):
                yield f"{path} is not among the files of lock_core_mutants in core/meson.build"


def main():
    root = pathlib.Path(sys.argv[1])
    paths = [pathlib.Path(name) for name in files_of(root)]
    # Bytes first: reading as text would hide carriage returns.
    sources = [(path, (root / path).read_bytes().decode("utf-8", "replace")) for path in paths
               if path.suffix in CODE or str(path) in SCRIPTS]
    # This file names what it forbids, and its self test writes it.
    prose = [(path, text) for path, text in sources if path.name not in ("check_tidy.py", "selftest_tidy.py")]
    tap = Tap()
    tap.rule("there_is_source_to_check", [] if sources else [f"no source file under {root}"])
    bound = lambda path: FILE_LINES_EXEMPT.get(str(path), FILE_LINES_MAX)
    tap.rule(f"a_file_has_at_most_{FILE_LINES_MAX}_lines",
             (f"{path}: {len(text.splitlines())} lines" for path, text in sources
              if len(text.splitlines()) > bound(path)))
    tap.rule(f"a_function_has_at_most_{FUNCTION_LINES_MAX}_lines",
             (f"{path}:{first}: {name} has {last - first + 1} lines" for path, text in sources
              for first, last, name in functions(path, text) if last - first + 1 > FUNCTION_LINES_MAX))
    tap.rule(f"a_line_has_at_most_{COLUMNS_MAX}_columns",
             (f"{path}:{number}: {len(line)} columns" for path, text in sources
              for number, line in enumerate(text.splitlines(), 1) if len(line) > COLUMNS_MAX))
    tap.rule("a_file_opens_with_its_licence_and_its_purpose",
             filter(None, (head_problem(path, text) for path, text in sources)))
    tap.rule("no_loose_end_is_left", grep(prose, LOOSE_END, lambda m: m.group(1)))
    tap.rule("no_banned_function_is_called",
             grep(prose, re.compile(r"(?<![\w.>:])(?:std::|::)?(" + "|".join(BANNED) + r")\s*\("),
                  lambda m: f"{m.group(1)}: use {BANNED[m.group(1)]}", lambda path: path.suffix in C_LIKE, True))
    tap.rule("a_unit_test_does_not_sleep",
             grep(prose, SLEEPS, lambda m: m.group(1), lambda path: path.parts[:2] == ("tests", "unit"), True))
    tap.rule("a_file_with_faults_on_purpose_is_built_with_them", unbuilt_mutants(sources))
    tap.rule("no_path_of_one_machine_is_named", grep(prose, MACHINE_PATH, lambda m: m.group(0)))
    tap.rule("text_is_clean",
             list(grep(sources, re.compile(r"[ \t]+$|\r"), lambda m: "trailing blank or carriage return")) +
             list(grep(sources, re.compile(r"\t"), lambda m: "tab", lambda path: path.suffix != ".go")) +
             [f"{path}: does not end with one line break" for path, text in sources
              if not text.endswith("\n") or text.endswith("\n\n")])
    tap.finish()


if __name__ == "__main__":
    main()
