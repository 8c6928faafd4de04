#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library as others get it: installed elsewhere, found through pkg-config, used by programs out of the
tree.

Usage: installed.py BUILD_DIRECTORY SOURCE_OF_CONSUMERS VERSION ABI_VERSION. Prints TAP.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOOLS = pathlib.Path(__file__).resolve().parent.parent.parent / "tools"
sys.path.insert(0, str(TOOLS))
from tap import Tap  # noqa: E402  (the path had to be set first)

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def said(done):
    """Why a command failed, as problems; none when it did not."""
    return [] if done.returncode == 0 else [f"status {done.returncode}", *(done.stdout + done.stderr).splitlines()]


def run(command, **arguments):
    return subprocess.run(command, capture_output=True, text=True, check=False, **arguments)


def consume(tap, compiler, standard, source, flags, environment, directory):
    kind = source.stem if source.stem == "wrapper" else source.suffix[1:]
    name = f"{kind}_program_in_{standard.replace('+', 'p')}_by_{compiler}"
    program = pathlib.Path(directory, name)
    built = run([compiler, f"-std={standard}", *WARNINGS, "-pthread", source, "-o", program, *flags])
    tap.rule(f"a_{name}_builds_through_pkg_config", said(built))
    if built.returncode == 0:
        ran = run([program], env=environment, timeout=60)
        tap.rule(f"a_{name}_runs", said(ran) or ([] if ran.stdout == "good\n" else [repr(ran.stdout)]))


def main():
    build, consumers, version, abi = sys.argv[1:5]
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory, "root")
        done = run(["meson", "install", "-C", build, "--no-rebuild", "--destdir", root])
        tap.rule("the_library_installs", said(done))
        found = {path.name: path for path in root.rglob("*") if not path.is_dir()}
        wanted = ["liblock.h", "liblock.hpp", "version.h", "liblock.so", f"liblock.so.{abi}", "liblock.a", "liblock.pc",
                  "liblockConfig.cmake", "liblockConfigVersion.cmake"]
        tap.rule("headers_libraries_and_what_build_systems_look_for_are_there",
                 [one for one in wanted if one not in found])
        # Beside the library what belongs to lockctl, where it is built: program, manual, completions.
        tool = {"lockctl", "lockctl.1", "lockctl.bash", "_lockctl", "lockctl.fish"} & found.keys()
        tap.rule("of_lockctl_all_is_installed_or_nothing", [] if len(tool) in (0, 5) else sorted(tool))
        strangers = [name for name in found if not name.startswith(("liblock", "version.h")) and name not in tool]
        tap.rule("nothing_else_is_installed", strangers)
        if tap.failed:
            tap.finish()
        prefix = next(parent for parent in found["liblock.h"].parents if (parent / "include").is_dir())
        if tool:
            plain = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
            done = run([found["lockctl"], "--version"], env=plain)
            tap.rule("lockctl_finds_the_library_that_was_installed_with_it",
                     [] if done.stdout == f"lockctl {version}\n" else said(done) or [done.stdout])
        ask = ["pkg-config", f"--define-variable=prefix={prefix}"]
        environment = {**os.environ, "PKG_CONFIG_LIBDIR": str(found["liblock.pc"].parent)}
        done = run([*ask, "--modversion", "liblock"], env=environment)
        tap.rule("pkg_config_tells_the_version", [] if done.stdout.strip() == version else [done.stdout, done.stderr])
        done = run([*ask, "--cflags", "--libs", "liblock"], env=environment)
        flags = [*done.stdout.split(), f'-DLIBLOCK_TEST_VERSION="{version}"']
        environment = {**os.environ, "LD_LIBRARY_PATH": str(found["liblock.so"].parent)}
        for c, cpp in (("gcc", "g++"), ("clang", "clang++")):
            if shutil.which(c):
                consume(tap, c, "c11", pathlib.Path(consumers, "consumer.c"), flags, environment, directory)
                for source in ("consumer.cpp", "wrapper.cpp"):
                    consume(tap, cpp, "c++17", pathlib.Path(consumers, source), flags, environment, directory)
    tap.finish()


if __name__ == "__main__":
    main()
