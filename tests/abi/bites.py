# SPDX-License-Identifier: MIT
"""Proves that a check bites: it runs the script on a small bad tree and wants the named rule, and only it,
broken.

A check that never fails proves nothing, and a check that fails for another reason than the one meant proves
as little; so each case says which rule must fall, and each script has a control case that must pass whole.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

TOOLS = pathlib.Path(__file__).resolve().parent.parent.parent / "tools"
sys.path.insert(0, str(TOOLS))
from tap import Tap  # noqa: E402  (the path had to be set first)


def run(script, arguments):
    """(exit status, rules that held, rules that were broken)"""
    done = subprocess.run([sys.executable, TOOLS / script, *map(str, arguments)], capture_output=True, text=True)
    held = re.findall(r"^ok \d+ - (.*)$", done.stdout, re.MULTILINE)
    broken = re.findall(r"^not ok \d+ - (.*)$", done.stdout, re.MULTILINE)
    return done.returncode, held, broken, done.stdout + done.stderr


def write_tree(root, files):
    for name, text in files.items():
        path = pathlib.Path(root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def expect_clean(tap, name, script, arguments):
    status, held, broken, output = run(script, arguments)
    problems = [] if status == 0 and held and not broken else [f"status {status}", *output.splitlines()]
    tap.rule(name, problems)


def expect_broken(tap, name, script, arguments, rule):
    """The rule (a regular expression) must be the only one that is broken, and the script must end with status 1."""
    status, _, broken, output = run(script, arguments)
    good = status == 1 and len(broken) == 1 and re.search(rule, broken[0])
    said = [f"wanted '{rule}' broken alone, status 1; got status {status}", *output.splitlines()]
    tap.rule(name, [] if good else said)


def on_tree(tap, script, base, cases, *more):
    """base: the clean tree; cases: (name, files changed or added, rule that must fall); more: further arguments."""
    with tempfile.TemporaryDirectory() as root:
        write_tree(root, base)
        expect_clean(tap, "a_clean_tree_passes", script, [root, *more])
    for name, files, rule in cases:
        with tempfile.TemporaryDirectory() as root:
            write_tree(root, {**base, **files})
            expect_broken(tap, name, script, [root, *more], rule)


__all__ = ["TOOLS", "Tap", "expect_broken", "expect_clean", "on_tree", "run", "write_tree"]
