#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_abi.py and check_symbols.py notice what would break the programs of others: on small objects, and on a copy of
the real one that is linked once more with one function less.

Usage: selftest_abi.py BUILD_DIRECTORY BASELINE. Prints TAP.
"""
import pathlib
import subprocess
import sys
import tempfile

from bites import Tap, expect_broken, expect_clean, run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEADER = """typedef struct liblock_options { long ttl_ms; int flags; } liblock_options;
int liblock_a(const liblock_options *options);
int liblock_b(int key);
"""
SOURCE = """#include <liblock.h>
int liblock_a(const liblock_options *options) { return options->flags; }
int liblock_b(int key) { return key; }
"""
GONE = "nothing_that_was_published"
# name, header, source, rule that must fall
CASES = [
    ("a_function_that_has_gone_is_found", HEADER.replace("int liblock_b(int key);\n", ""),
     SOURCE.replace("int liblock_b(int key) { return key; }\n", ""), GONE),
    ("a_parameter_that_has_changed_is_found", HEADER.replace("int key", "long key"),
     SOURCE.replace("int key", "long key").replace("return key", "return (int)key"), GONE),
    ("a_field_that_has_moved_is_found",
     HEADER.replace("long ttl_ms; int flags;", "int flags; long ttl_ms;"), SOURCE, GONE),
    ("a_field_that_came_in_the_middle_is_found", HEADER.replace("int flags", "int more; int flags"), SOURCE, GONE),
    ("a_function_that_is_new_is_found",
     HEADER + "int liblock_c(void);\n", SOURCE + "int liblock_c(void) { return 0; }\n",
     "every_function_is_in_the_baseline"),
]


def make(directory, name, header, source, flags=()):
    """(shared object, folder of its header)"""
    folder = pathlib.Path(directory, name)
    folder.mkdir()
    (folder / "liblock.h").write_text(header, encoding="utf-8")
    subprocess.run(["gcc", "-shared", "-fPIC", "-g", f"-I{folder}", "-x", "c", "-", "-o", folder / "liblock.so",
                    "-Wl,-soname,liblock.so.7", *flags], input=source, text=True, check=True)
    return folder / "liblock.so", folder


def on_small_objects(tap, directory):
    script, baseline = "check_abi.py", pathlib.Path(directory, "baseline.abi")
    published = make(directory, "published", HEADER, SOURCE)
    expect_broken(tap, "a_missing_baseline_is_found", script, [*published, baseline], "there_is_a_baseline")
    run(script, [*published, baseline, "--update"])
    expect_clean(tap, "the_object_that_the_baseline_was_made_of_passes", script, [*published, baseline])
    for name, header, source, rule in CASES:
        expect_broken(tap, name, script, [*make(directory, name, header, source), baseline], rule)
    silent = make(directory, "silent", HEADER, SOURCE, ["-Wl,--strip-debug"])
    expect_broken(tap, "an_object_without_types_is_found", script, [*silent, baseline], "can_be_read_from_the_object")


SHARED = {"-luv_a": "-luv"}  # the static one of a distribution need not fit into a shared object


def without_one_function(build, directory):
    """The real object linked once more, with one function less in its version script."""
    script = pathlib.Path(directory, "less.map")
    text = (ROOT / "capi/liblock.map").read_text(encoding="utf-8")
    script.write_text(text.replace("  local:\n", "  local:\n    liblock_adopt;\n"), encoding="utf-8")
    copy = pathlib.Path(directory, "liblock.so")
    flags = subprocess.run(["pkg-config", "--static", "--libs-only-l", build / "meson-private/liblock.pc"], check=True,
                           capture_output=True, text=True).stdout.split()
    subprocess.run(["g++", "-shared", "-o", copy, "-Wl,--whole-archive", build / "capi/liblock.a",
                    "-Wl,--no-whole-archive", f"-Wl,--version-script={script}", "-Wl,-soname,liblock.so.0",
                    *[SHARED.get(flag, flag) for flag in flags if flag != "-llock"]], check=True)
    return copy


def on_the_real_one(tap, directory, build, baseline):
    include = ROOT / "capi/include"
    copy = without_one_function(build, directory)
    expect_broken(tap, "a_real_object_without_one_of_its_functions_is_found_by_its_abi", "check_abi.py",
                  [copy, include, baseline], GONE)
    status, _, broken, output = run("check_symbols.py", [copy, include / "liblock/liblock.h",
                                                         ROOT / "debian/liblock0.symbols"])
    good = status == 1 and broken == ["every_declared_function_is_exported", "every_listed_function_is_exported"]
    tap.rule("and_by_its_symbols", [] if good else output.splitlines())


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        on_small_objects(tap, directory)
        on_the_real_one(tap, directory, pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]))
    tap.finish()


if __name__ == "__main__":
    main()
