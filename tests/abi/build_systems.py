#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The installed library as build systems other than pkg-config with a shared object take it: CMake, also after the tree
was moved, and a program that is linked statically, which brings everything along.

Usage: build_systems.py BUILD_DIRECTORY SOURCE_OF_CONSUMERS VERSION. Prints TAP.
"""
import os
import pathlib
import sys
import tempfile

from installed import Tap, run, said


def told_good(done):
    return said(done) or ([] if done.stdout == "good\n" else [repr(done.stdout)])


def by_cmake(tap, prefix, consumers, version, directory):
    def configure(name, wanted):
        return run(["cmake", "-S", consumers, "-B", directory / name, f"-DCMAKE_PREFIX_PATH={prefix}",
                    f"-DWANTED_VERSION={wanted}"])
    refused = configure("newer", "999.0")
    tap.rule("cmake_refuses_a_version_that_is_not_there",
             [] if refused.returncode and "version: " in refused.stderr else said(refused) or ["it was found"])
    tap.rule("cmake_finds_the_library", said(configure("build", version)))
    tap.rule("cmake_builds_programs_in_c_and_cpp", said(run(["cmake", "--build", directory / "build"])))
    for name in ("consumer-c", "consumer-cpp", "consumer-wrapper"):
        program = directory / "build" / name
        done = run([program]) if program.exists() else None
        tap.rule(f"{name.replace('-', '_')}_by_cmake_runs",
                 ["was not built"] if done is None else told_good(done))


def statically(tap, found, prefix, consumers, version, directory):
    environment = {**os.environ, "PKG_CONFIG_LIBDIR": str(found["liblock.pc"].parent)}
    flags = run(["pkg-config", f"--define-variable=prefix={prefix}", "--static", "--cflags", "--libs", "liblock"],
                env=environment).stdout.split()
    for source, compiler in (("consumer.c", "gcc"), ("wrapper.cpp", "g++")):
        program = directory / f"static-{source.replace('.', '-')}"
        built = run([compiler, "-static", consumers / source, f'-DLIBLOCK_TEST_VERSION="{version}"', "-o", program,
                     *flags])
        tap.rule(f"a_static_program_of_{source.replace('.', '_')}_builds", said(built))
        if built.returncode == 0:
            needed = run(["readelf", "-d", program]).stdout
            tap.rule(f"that_of_{source.replace('.', '_')}_needs_no_shared_object",
                     [line for line in needed.splitlines() if "NEEDED" in line])
            ran = run([program], env={"PATH": ""})
            tap.rule(f"that_of_{source.replace('.', '_')}_runs", told_good(ran))


def main():
    build, consumers, version = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    tap = Tap()
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        done = run(["meson", "install", "-C", build, "--no-rebuild", "--destdir", directory / "first"])
        tap.rule("the_library_installs", said(done))
        (directory / "first").rename(directory / "moved")
        found = {path.name: path for path in (directory / "moved").rglob("*") if not path.is_dir()}
        prefix = next(parent for parent in found["liblock.h"].parents if (parent / "include").is_dir())
        by_cmake(tap, prefix, consumers, version, directory)
        statically(tap, found, prefix, consumers, version, directory)
    tap.finish()


if __name__ == "__main__":
    main()
