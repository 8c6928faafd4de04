#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_symbols.py, check_object.py, check_flags.py and check_header.py find what is wrong with small shared objects,
compilations and headers.
"""
import json
import pathlib
import platform
import subprocess
import tempfile

from bites import Tap, expect_broken, expect_clean, run, write_tree

HEADER = """#ifndef H
#define H
#define LIBLOCK_API __attribute__((visibility("default")))
/* liblock_in_a_comment(void); */
typedef void (*liblock_callback)(int status);
typedef struct liblock_bytes { int size; } liblock_bytes;
enum { LIBLOCK_ONE = 1 };
LIBLOCK_API int liblock_a(int x,
                          liblock_callback callback);
LIBLOCK_API const char *liblock_b(void);
#endif
"""
SOURCE = """#include <string.h>
int liblock_a(int x) { char text[16]; memset(text, x, (size_t)x); return strlen(text) == 3; }
const char *liblock_b(void) { return ""; }
"""
HARD = ["-O2", "-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-Wl,-z,relro"]
LINK = ["-Wl,-z,nodelete", "-Wl,-z,now", "-Wl,-soname,liblock.so.7", *HARD]
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def link(directory, name, source, flags):
    path = pathlib.Path(directory, name)
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-x", "none", "-o", path, *flags],
                   input=source, text=True, check=True)
    return path


def check_symbols(tap, directory):
    script, header = "check_symbols.py", pathlib.Path(directory, "h.h")
    header.write_text(HEADER, encoding="utf-8")
    good = link(directory, "good.so", SOURCE, LINK)
    expect_clean(tap, "an_object_that_equals_its_header_passes", script, [good, header])
    extra = link(directory, "extra.so", SOURCE + "int liblock_c(void) { return 0; }\n", LINK)
    expect_broken(tap, "an_undeclared_export_is_found", script, [extra, header], "exported_function_is_declared")
    less = link(directory, "less.so", "int liblock_a(int x) { return x; }\n", LINK)
    expect_broken(tap, "a_declaration_without_export_is_found", script, [less, header], "declared_function_is_exported")
    unmarked = pathlib.Path(directory, "unmarked.h")
    unmarked.write_text(HEADER.replace("LIBLOCK_API const", "const"), encoding="utf-8")
    expect_broken(tap, "an_unmarked_declaration_is_found", script, [good, unmarked], "marked_as_exported")
    hidden = "static int hidden(void) { return 0; }\nint uv_run(void) { return hidden(); }\n"
    leak = link(directory, "leak.so", SOURCE + hidden, LINK)
    for name, lines, rule in [
            ("a_function_that_is_on_no_list_is_found", [" liblock_a@V 0.1.0"], "exported_function_is_listed"),
            ("a_listed_function_that_has_gone_is_found",
             [f" liblock_{one}@V 0.1.0" for one in "abc"], "listed_function_is_exported")]:
        symbols = pathlib.Path(directory, "list.symbols")
        symbols.write_text("\n".join(["liblock.so.7 liblock7", *lines, ""]), encoding="utf-8")
        expect_broken(tap, name, script, [good, header, symbols], rule)
    # A foreign symbol breaks two rules at once: it is not ours, and it is not declared.
    status, _, broken, output = run(script, [leak, header])
    good = status == 1 and broken == ["only_liblock_symbols_are_exported", "every_exported_function_is_declared"]
    tap.rule("a_leaking_symbol_of_another_library_is_found", [] if good else output.splitlines())


def check_object(tap, directory):
    script = "check_object.py"
    bad = [
        ("an_object_that_can_be_unloaded_is_found", LINK[1:], "never_unloaded"),
        ("an_object_that_binds_late_is_found", [LINK[0], *LINK[2:], "-Wl,-z,lazy"], "binds_its_symbols"),
        ("a_wrong_soname_is_found", [*LINK, "-Wl,-soname,liblock.so"], "soname"),
        ("a_missing_soname_is_found", [*LINK[:2], *HARD], "soname"),
        ("a_needed_stranger_is_found", [*LINK, "-Wl,--no-as-needed", "{stranger}"], "are_needed"),
        ("a_search_path_is_found", [*LINK, "-Wl,-rpath,/opt"], "search_path"),
        ("an_executable_stack_is_found", [*LINK, "-Wl,-z,execstack"], "stack_is_not_executable"),
        ("relocations_that_stay_writable_are_found", [*LINK, "-Wl,-z,norelro"], "cannot_be_written_to"),
        ("an_unguarded_stack_is_found", [*LINK, "-fno-stack-protector"], "stack_is_guarded"),
        ("unchecked_copies_are_found", [*LINK, "-U_FORTIFY_SOURCE"], "copies_are_checked"),
    ]
    good = link(directory, "object.so", SOURCE, LINK)
    expect_clean(tap, "a_well_linked_object_passes", script, [good, 7])
    stranger = link(directory, "libstranger.so", "int stranger;\n", ["-Wl,-soname,libstranger.so.1"])
    for name, flags, rule in bad:
        flags = [str(stranger) if flag == "{stranger}" else flag for flag in flags]
        expect_broken(tap, name, script, [link(directory, "bad.so", SOURCE, flags), 7], rule)


def check_flags(tap, directory):
    guards = ["-fstack-protector", "-fstack-clash-protection", "-fcf-protection=return", "-Wformat-security"]

    def build(*words, file=ROOT / "core/base/assert.cpp", compiler="g++"):
        path, command = pathlib.Path(directory, "compile_commands.json"), [compiler, "-O2", *words, "-c", str(file)]
        path.write_text(json.dumps([{"directory": str(directory), "file": str(file), "command": " ".join(command)}]),
                        encoding="utf-8")
        return [directory]

    if platform.machine() == "x86_64":  # where g++ knows all of these
        script = "check_flags.py"
        expect_clean(tap, "files_with_all_guards_pass", script, build(*guards))
        expect_clean(tap, "stronger_guards_pass", script, build(*guards[1:], "-fstack-protector-strong"))
        expect_broken(tap, "a_build_without_a_file_of_the_library_is_found", script,
                      build(file=ROOT / "tests/x.cpp"), "there_are_files")
        expect_broken(tap, "a_compiler_that_does_not_answer_is_no_excuse", script,
                      build(*guards, compiler="false"), "can_be_asked")
        for guard in guards:
            name = guard.split("=")[0][2:].replace("-", "_")
            expect_broken(tap, f"a_file_without_{name}_is_found", script,
                          build(*[one for one in guards if one != guard]), name)
        expect_broken(tap, "a_guard_that_is_taken_back_is_found", script,
                      build(*guards, "-fno-stack-protector"), "taken_back")


def check_header(tap, directory):
    script = "check_header.py"
    real = ROOT / "capi/include/liblock"
    headers = {name: (real / name).read_text(encoding="utf-8") for name in ("liblock.h", "liblock.hpp", "version.h")}
    bad = [
        ("a_header_that_is_not_self_contained_is_found", lambda text: text.replace("#include <stdint.h>", "")),
        ("a_header_without_guard_is_found", lambda text: text.replace("#ifndef LIBLOCK_H\n", "#if 1\n")),
        ("a_header_that_is_no_cpp_is_found", lambda text: text + "#ifdef __cplusplus\nint class(void);\n#endif\n"),
        ("a_header_that_warns_is_found", lambda text: text + "static inline int f(unsigned x) { return x; }\n"),
    ]
    for name, change in bad:
        include = pathlib.Path(directory, name)
        write_tree(include, {"liblock/version.h": headers["version.h"],
                             "liblock/liblock.h": change(headers["liblock.h"])})
        status, _, broken, output = run(script, [include])
        tap.rule(name, [] if status == 1 and broken else output.splitlines())
    include = pathlib.Path(directory, "throws")
    end = "}  // namespace v0"
    headers["liblock.hpp"] = headers["liblock.hpp"].replace(end, f"inline void f() {{ throw 1; }}\n{end}")
    write_tree(include, {f"liblock/{name}": text for name, text in headers.items()})
    status, held, broken, output = run(script, [include])
    good = status == 1 and held and broken and all("no_exceptions" in rule for rule in broken)
    tap.rule("a_wrapper_that_throws_without_exceptions_is_found", [] if good else output.splitlines())


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        check_symbols(tap, directory)
        check_object(tap, directory)
        check_flags(tap, directory)
        check_header(tap, directory)
    tap.finish()


if __name__ == "__main__":
    main()
