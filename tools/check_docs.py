#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Documents that cannot rot unseen: links lead somewhere, public names exist, C fragments compile, commands
exist.

A C block that has a main is compiled as it stands; any other one as the body of a function that is given the
usual names (context, owner, lock, token, options, result, key). A name that the header does not have yet may
stand on a line that says so ("planned", "later", "not yet", "reserved"). Where the folder of a built library is
given, each C program is run too, and must end with status 0. A block with a file name behind its fence is built
and run by a test in tests/docs that names it; in a page of docs/, a block of another language needs that, unless
a test names the page, whose blocks it then runs all. In a table whose last column is headed "test" every name of that
column is one of a test, here or of a binding, or of a rule of a check in tools/, and every sentence stands in a test
as it stands there; SECURITY.md has such a table, each row of it names one, and no threat of the plan is missing.
docs/errors.md has every status. What CHANGELOG.md says was found and mended names what fails without the mend: a test,
the file that has it, or a seed.
Usage: check_docs.py ROOT [LIBRARY_FOLDER]. TAP.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from tap import Tap, files_of

FENCE = re.compile(r"^```(\w*)(?: +([\w-]+\.\w+))?[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
TEST_TABLE = re.compile(r"^\|.*\| *test *\|\n((?:^\|.*\n?)*)", re.MULTILINE)
MENDED = re.compile(r"^### Found and mended\n(.*?)(?=^##?#? |\Z)", re.MULTILINE | re.DOTALL)
TEST_LIKE = re.compile(r"[^\W_]+(?:_[^\W_]+){3,}|(?:unit_test|stress|torture|test|selftest|fuzz)_\w+|\w+_test|"
                       r"Test[A-Z]\w+")
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)|!\[[^\]\n]*\]\(([^)\s]+)\)")
NAME = re.compile(r"(?<![\w/.-])(liblock_[a-z][a-z_]*|LIBLOCK_[A-Z][A-Z_]*)(?![\w*…-]|\.(?:h|so|pc|map|hpp|cpp)\b)")
PROMISED = re.compile(r"planned|later|not yet|reserved|issue", re.IGNORECASE)
# Variables of the environment and names of the build, which no header declares.
OTHER_NAMES = {"LIBLOCK_REQUIRE_ALL", "LIBLOCK_SUITE_S", "LIBLOCK_FUZZ_S", "LIBLOCK_ENDS_AT", "LIBLOCK_LIBRARY",
               "LIBLOCK_LIB_DIR",
               "LIBLOCK_INCLUDE_DIR", "LIBLOCK_TEST_URL", "LIBLOCK_TEST_REDIS", "LIBLOCK_TEST_QUORUM",
               "LIBLOCK_TEST_ROUNDS", "LIBLOCK_MUTANT_LUA", "LIBLOCK_TEST_SIZE", "LIBLOCK_TEST_SEED",
               "LIBLOCK_STRESS", "LIBLOCK_EXHAUSTIVE_DEPTH", "LIBLOCK_SEED", "LIBLOCK_REDIS_SERVER", "LIBLOCK_COUNTS",
               "LIBLOCK_RELIABILITY", "LIBLOCK_BUILD", "LIBLOCK_ASSERT", "liblock_dep", "LIBLOCK_URL",
               "LIBLOCK_PASSWORD", "LIBLOCK_KEY", "LIBLOCK_TOKEN", "LIBLOCK_DEADLINE_MS"}
C_LIKE = ("c", "cpp", "c++")
FOLDERS = ("core", "tests", "bindings")  # whose folders open with a README each
PRELUDE = """#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <liblock/liblock.h>
void fragment(liblock_context *context, liblock_context *ctx, liblock_owner *owner, liblock_lock lock, uint64_t token,
              liblock_acquire_options options, liblock_context_options context_options, liblock_result result,
              liblock_completions *completions, liblock_request request, const char *key, size_t key_size,
              liblock_status status, liblock_callback callback, void *user_data);
void fragment(liblock_context *context, liblock_context *ctx, liblock_owner *owner, liblock_lock lock, uint64_t token,
              liblock_acquire_options options, liblock_context_options context_options, liblock_result result,
              liblock_completions *completions, liblock_request request, const char *key, size_t key_size,
              liblock_status status, liblock_callback callback, void *user_data) {
"""


def line_of(text, index):
    return text.count("\n", 0, index) + 1


def anchors_of(text):
    """The anchors that a rendered page has for its headings."""
    text = FENCE.sub("", text)
    found = set()
    for heading in re.findall(r"^#{1,6} +(.*?) *#*$", text, re.MULTILINE):
        plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


def broken_links(root, pages):
    for name, text in pages.items():
        plain = FENCE.sub(lambda match: "\n" * match.group(0).count("\n"), text)
        for match in LINK.finditer(plain):
            target = match.group(1) or match.group(2)
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            full = (root / name).parent / path if path else root / name
            where = f"{name}:{line_of(plain, match.start())}: {target}"
            if not full.exists():
                yield f"{where}: no such file"
            elif anchor and full.suffix == ".md" and anchor not in anchors_of(full.read_text(encoding="utf-8")):
                yield f"{where}: no such heading"


def metrics(root):
    """Names that stand in the text for Prometheus."""
    code = root / "core/context/prometheus.cpp"
    text = code.read_text(encoding="utf-8") if code.exists() else ""
    counters = re.findall(r'^ +\{"(\w+)", "(?:counter|gauge)"', text, re.MULTILINE)
    return {f"liblock_{name}" for name in counters} | set(re.findall(r'"(liblock_\w+_seconds)"', text))


def public_names(root):
    text = "".join(path.read_text(encoding="utf-8") for path in (root / "capi/include/liblock").glob("*.h"))
    names = set(re.findall(r"\b(?:liblock_[a-z_]+|LIBLOCK_[A-Z_]+)\b", text))
    names |= {f"LIBLOCK_{name}" for name in re.findall(r"^  X\((\w+),", text, re.MULTILINE)}
    return names | metrics(root) | OTHER_NAMES


def unknown_names(root, pages):
    known = public_names(root)
    for name, text in pages.items():
        for number, line in enumerate(text.splitlines(), 1):
            for match in NAME.finditer(line):
                if match.group(1) not in known and not PROMISED.search(line):
                    yield f"{name}:{number}: {match.group(1)} is not in the header"


def fences_of(pages):
    """(page, place, language, file name or None, text) of each block of the documents."""
    for page, text in pages.items():
        for match in FENCE.finditer(text):
            yield page, f"{page}:{line_of(text, match.start())}", match.group(1).lower(), match.group(2), match.group(3)


def blocks_of(pages):
    """(place, is it C++, text) of each C and C++ block of the documents that has no name."""
    for _, place, language, name, body in fences_of(pages):
        if language in C_LIKE and not name:
            yield place, language != "c", body


def unrun_blocks(root, pages):
    tests = {path: path.read_text(encoding="utf-8") for path in (root / "tests").rglob("*.py")}
    here = "".join(text for path, text in tests.items() if path.parent.name == "docs")
    whole = {page for page in pages if any(f'"{page}"' in text for text in tests.values())}
    seen = {}
    for page, place, language, name, _ in fences_of(pages):
        if name and f'"{name}"' not in here:
            yield f"{place}: no test in tests/docs names {name}"
        if name and seen.setdefault((page, name), place) != place:
            yield f"{place}: {name} stands at {seen[page, name]} already"
        is_run = language in ("", *C_LIKE) or name or page in whole
        if page.startswith("docs/") and not is_run:
            yield f"{place}: nothing runs this; give it a file name, and a test in tests/docs"


def statuses_without_a_row(root, pages):
    header = (root / "capi/include/liblock/liblock.h").read_text(encoding="utf-8")
    page = pages.get("docs/errors.md", "")
    for status, number in re.findall(r"^  X\((\w+), (\d+),", header, re.MULTILINE):
        row = re.search(rf"^\| {status} \| {number} \|([^|]*)\|([^|]*)\|$", page, re.MULTILINE)
        if not row or not row.group(1).strip() or not (row.group(2).strip() or status == "OK"):
            yield f"docs/errors.md: {status} has no row with its number, its cause and its cure"


# Of the plan of reliability: a word of each threat's row.
THREATS = ("huge sizes", "another shape", "far in the future", "One node of a quorum lies", "stands in between",
           "Names with line breaks", "value fills", "user of the same server", "proposal|by a wrong clock",
           "password gets into", "line of the log", "taken for a format", "in a node's place", "redirection",
           "callback calls back", "ttl of 0", "symbols", "exception leaves C", "one fork", "random numbers",
           "without TLS", "stays behind in memory", "in a command line", "binding prints")


def threats_without_a_test(pages):
    page = pages.get("SECURITY.md", "")
    rows = [line.split("|") for line in page.splitlines() if re.match(r"\| .*\|.*\|.*\|$", line)]
    for threat in THREATS:
        if not any(re.search(threat, row[1]) and "`" in row[-2] for row in rows):
            yield f"SECURITY.md: no row with a test says '{threat}'"
    for table in TEST_TABLE.finditer(page):
        for number, row in enumerate(table.group(1).splitlines()[1:], line_of(page, table.start(1)) + 1):
            if "`" not in row.rsplit("|", 2)[1]:
                yield f"SECURITY.md:{number}: a row without a test"


def is_program(body):
    return re.search(r"\bmain\s*\(", body) is not None


def compile_block(root, is_cpp, source, arguments):
    """The first error of the compiler, or None."""
    language = ["g++", "-x", "c++", "-std=gnu++17"] if is_cpp else ["gcc", "-x", "c", "-std=gnu11"]
    done = subprocess.run([*language, "-I", root / "capi/include", "-", *arguments],
                          input=source, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    return next((line for line in done.stderr.splitlines() if "error" in line), "does not build")


def uncompilable(root, pages):
    for place, is_cpp, body in blocks_of(pages):
        source = body if is_program(body) else PRELUDE + body + "\n}\n"
        error = compile_block(root, is_cpp, source, ["-fsyntax-only"])
        if error:
            yield f"{place}: {error}"


def programs_that_fail(root, pages, library):
    with tempfile.TemporaryDirectory() as directory:
        program = pathlib.Path(directory, "program")
        link = ["-o", program, "-x", "none", "-pthread", f"-L{library}", f"-Wl,-rpath,{library}", "-llock"]
        for place, is_cpp, body in blocks_of(pages):
            if not is_program(body):
                continue
            error = compile_block(root, is_cpp, body, link + (["-luv"] if "<uv.h>" in body else []))
            if error is None:
                try:
                    done = subprocess.run([program], cwd=directory, capture_output=True, timeout=60)
                    error = f"ended with status {done.returncode}" if done.returncode else None
                except subprocess.TimeoutExpired:
                    error = "did not end within 60 s"
            if error:
                yield f"{place}: {error}"


def words_of(files, suffixes):
    words = set()
    for path in files:
        if path.suffix in suffixes:
            words.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    return words


def files_of_tests(root):
    """But what is kept of their runs, which outlives them."""
    return [path for path in (root / "tests").rglob("*") if path.parent.name != "reliability"]


def words_of_tests(root):
    bindings = root / "bindings"
    return words_of([*files_of_tests(root), *(root / "tools").glob("check_*.py"), *bindings.glob("go/*_test.go"),
                     *bindings.glob("rust/*/tests/*.rs"), *bindings.glob("ruby/test/*_test.rb")],
                    (".c", ".cpp", ".h", ".json", ".py", ".go", ".rs", ".rb"))


def stands_in_a_test(root, sentence):
    return any(sentence in path.read_text(encoding="utf-8") for path in files_of_tests(root)
               if path.suffix in (".c", ".cpp", ".h", ".json", ".py", ".txt"))


def unknown_tests(root, pages):
    known = words_of_tests(root)
    for name, text in pages.items():
        for table in TEST_TABLE.finditer(text):
            first = line_of(text, table.start(1))
            for number, row in enumerate(table.group(1).splitlines(), first):
                for test in re.findall(r"`([^`]+)`", row.rsplit("|", 2)[1]):
                    if not (test in known if re.fullmatch(r"\w+", test) else stands_in_a_test(root, test)):
                        yield f"{name}:{number}: no test is called {test}"


def tests_of(root):
    """Names that a reproduction may have: of tests, and of programs and files that are nothing else."""
    files = [path for top in ("tests", "bindings", "tools", "examples") for path in (root / top).rglob("*")
             if path.is_file()]
    names = words_of(files, (".c", ".cpp", ".h", ".json", ".py", ".go", ".rb", ".rs", ".build", ".sh"))
    for path in files:
        names.add(path.stem)
        if path.match("tests/unit/*/*"):
            name = path.stem.removeprefix("test_")
            names.update((f"unit_test_{name}", f"unit_test_{path.parent.name}_{name}"))
        if path.match("tests/stress/*"):
            names.add(f"stress_{path.stem}")
    return names


def unproved_mends(root, pages):
    """Entries that name no test, each alone or with what it stands below; and tests named there that do not exist."""
    known, above = None, ""
    for section in MENDED.finditer(pages.get("CHANGELOG.md", "")):
        known = known or tests_of(root)
        for entry in re.finditer(r"^( *)- (.*?)(?=^ *- |^#|\Z)", section.group(1), re.MULTILINE | re.DOTALL):
            text = entry.group(2)
            above = above if entry.group(1) else text
            place = f"CHANGELOG.md:{line_of(pages['CHANGELOG.md'], section.start(1) + entry.start())}"
            names = re.findall(r"`([^`]+)`", text if text == above else text + above)
            tests = [name for name in names if TEST_LIKE.fullmatch(name)]
            for name in tests:
                if name not in known:
                    yield f"{place}: no test is called {name}"
            is_file = any(re.fullmatch(r"[\w./-]+/[\w.-]+", name) and
                          any((root / top / name).exists() for top in ("", "tests/fuzz/corpus")) for name in names)
            is_life = re.search(r"\bseed \d+", text) is not None
            if not (tests or is_file or is_life or text.rstrip().endswith(":")):
                yield f"{place}: it names nothing that fails without the mend: {text[:60]}"


def unknown_commands(root, pages):
    dev = (root / "dev").read_text(encoding="utf-8") if (root / "dev").exists() else ""
    commands = set(re.findall(r"^  ([a-z]+)(?: \|[^)]*)?\) ", dev, re.MULTILINE))
    for name, text in pages.items():
        for match in re.finditer(r"\./dev ([a-z]+)", text):
            if match.group(1) not in commands:
                yield f"{name}:{line_of(text, match.start())}: ./dev has no command '{match.group(1)}'"


def folders_without_readme(root, names):
    """The main folders, and each folder directly below core, tests and bindings, that hold files."""
    folders = set()
    for name in names:
        parts = pathlib.PurePosixPath(name).parts
        if len(parts) > 1 and not parts[0].startswith("."):
            folders.add(parts[0])
        if len(parts) > 2 and parts[0] in FOLDERS:
            folders.add("/".join(parts[:2]))
    return sorted(f"{folder}/ has no README.md" for folder in folders if not (root / folder / "README.md").exists())


def main():
    root = pathlib.Path(sys.argv[1])
    names = files_of(root)
    pages = {name: (root / name).read_text(encoding="utf-8") for name in names if name.endswith(".md")}
    tap = Tap()
    tap.rule("there_are_documents_to_check", [] if pages else ["no .md file"])
    tap.rule("every_link_leads_somewhere", broken_links(root, pages))
    tap.rule("every_public_name_exists_in_the_header", unknown_names(root, pages))
    tap.rule("every_c_fragment_compiles", uncompilable(root, pages))
    if len(sys.argv) > 2:
        library = pathlib.Path(sys.argv[2]).resolve()
        tap.rule("every_c_program_runs", programs_that_fail(root, pages, library))
    tap.rule("every_named_block_is_run_by_a_test", unrun_blocks(root, pages))
    tap.rule("every_status_has_its_cause_and_its_cure", statuses_without_a_row(root, pages))
    tap.rule("every_named_test_exists", unknown_tests(root, pages))
    tap.rule("every_threat_has_a_row_with_its_test", threats_without_a_test(pages))
    tap.rule("every_fault_that_was_mended_names_its_test", unproved_mends(root, pages))
    tap.rule("every_command_of_dev_exists", unknown_commands(root, pages))
    tap.rule("every_folder_opens_with_a_readme", folders_without_readme(root, names))
    tap.finish()


if __name__ == "__main__":
    main()
