#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How the shared object is linked: a guest in other people's processes has to behave in this respect too.

It is never unloaded (threads and thread-exit handlers may still point into it), is named by its ABI, needs
only libuv, hiredis, OpenSSL for TLS and the language runtimes, searches no path of the machine it was built on, and
asks for no writable code and no executable stack. It is compiled with guards for its stack and, where it is optimised,
with checked copies, and what it is relocated by cannot be written to once it is loaded.
Usage: check_object.py SHARED_OBJECT ABI_VERSION [unoptimised]. Prints TAP.
"""
import re
import subprocess
import sys

from tap import Tap

# OpenSSL only where TLS was not left out.
ALLOWED = re.compile(r"^(libuv\.so\.1|libhiredis\.so\.[\d.]+|lib(ssl|crypto)\.so\.3|"
                     r"libstdc\+\+\.so\.6|libgcc_s\.so\.1|lib(c|m|pthread|dl|rt)\.so\.\d+|ld-linux.*)$")


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *arguments], check=True, capture_output=True, text=True).stdout


def main():
    path, abi = sys.argv[1], sys.argv[2]
    dynamic, segments = readelf("-d", path), readelf("-l", path)
    tap = Tap()
    flags = re.search(r"\(FLAGS_1\).*", dynamic)
    tap.rule("the_object_is_never_unloaded",
             [] if flags and "NODELETE" in flags.group(0) else ["not linked with -z nodelete"])
    tap.rule("the_object_binds_its_symbols_when_it_is_loaded",
             [] if flags and "NOW" in flags.group(0) else ["not linked with -z now"])
    soname = re.search(r"\(SONAME\).*\[(.*)\]", dynamic)
    found = soname.group(1) if soname else "none"
    tap.rule("the_soname_follows_the_abi", [] if found == f"liblock.so.{abi}" else [f"{found}, not liblock.so.{abi}"])
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    tap.rule("only_libuv_hiredis_openssl_and_the_language_runtimes_are_needed",
             [one for one in needed if not ALLOWED.match(one)])
    tap.rule("no_search_path_is_built_in", re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic))
    tap.rule("the_code_needs_no_relocation", re.findall(r"\(TEXTREL\).*", dynamic))
    stack = re.search(r"GNU_STACK\s.*", segments)
    tap.rule("the_stack_is_not_executable",
             [] if stack and "RWE" not in stack.group(0) else [stack.group(0) if stack else "no GNU_STACK segment"])
    tap.rule("what_it_is_relocated_by_cannot_be_written_to",
             [] if "GNU_RELRO" in segments else ["not linked with -z relro"])
    wanted = set(re.findall(r"\sUND\s+(\w+)", readelf("--dyn-syms", path)))
    tap.rule("its_stack_is_guarded",
             [] if "__stack_chk_fail" in wanted else ["not compiled with -fstack-protector"])
    if "unoptimised" not in sys.argv[3:]:
        tap.rule("its_copies_are_checked",
                 [] if any(re.fullmatch(r"__\w+_chk", name) for name in wanted) else ["without _FORTIFY_SOURCE"])
    tap.finish()


if __name__ == "__main__":
    main()
