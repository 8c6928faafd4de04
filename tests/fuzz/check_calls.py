# SPDX-License-Identifier: MIT
"""Every function that the shared object exports is called by fuzz_calls.cpp, or stands in LEFT_OUT with the reason why
it cannot be: so that a new one is not forgotten. A function that has left, or is called by now, leaves the table.

Usage: check_calls.py. Prints TAP.
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from tap import Tap, without_comments  # noqa: E402  (the path had to be set first)

# What cannot be called there: its name, and why. Empty: all can.
LEFT_OUT = {}


def exported(text):
    """Names of functions in a file of symbols; the version's own name is none."""
    return set(re.findall(r"^ (liblock_\w+)@", text, re.M))


def called(text):
    """Names that the code has, be they called here or handed on to be; comments and texts are no code."""
    return set(re.findall(r"\bliblock_\w+", without_comments(text)))


def forgotten(exports, calls, left_out):
    return sorted(exports - calls - set(left_out))


def out_of_date(exports, calls, left_out):
    return sorted(name for name in left_out if name in calls or name not in exports)


def main():
    exports = exported((ROOT / "debian/liblock0.symbols").read_text())
    sources = [HERE / "fuzz_calls.cpp", *sorted(HERE.glob("calls/*.?pp"))]
    calls = called("\n".join(path.read_text() for path in sources))
    tap = Tap()
    tap.rule("functions_are_exported_and_sources_found", [] if len(exports) > 100 and len(sources) > 1 else ["none"])
    tap.rule("every_function_is_called_or_left_out_for_a_reason", forgotten(exports, calls, LEFT_OUT))
    tap.rule("what_is_left_out_is_there_and_is_not_called", out_of_date(exports, calls, LEFT_OUT))
    tap.rule("what_is_left_out_has_a_reason", [name for name, why in LEFT_OUT.items() if len(why.split()) < 3])
    news = exported(" liblock_new@LIBLOCK_0 0.2.0\n liblock_old@LIBLOCK_0 0.1.0\n") | {"liblock_fork"}
    old = called('liblock_old(1); // liblock_new()\nf("liblock_new()");')
    bites = forgotten(news, old, {"liblock_fork": ""}) == ["liblock_new"] and \
        out_of_date(news, old, {"liblock_old": "", "liblock_gone": ""}) == ["liblock_gone", "liblock_old"]
    tap.rule("this_check_sees_what_is_missing", [] if bites else ["it does not"])
    tap.finish()


if __name__ == "__main__":
    main()
