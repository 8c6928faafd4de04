#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lua_coverage.py names what never ran. Usage: selftest_lua_coverage.py PROGRAM, which runs a quorum's scripts only."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from bites import TOOLS, Tap


def judged(directory):
    """(exit status, lines that ran of all together, what never ran)"""
    done = subprocess.run([sys.executable, TOOLS / "lua_coverage.py", directory], capture_output=True, text=True)
    together = re.search(r"^together +\d+ +(\d+)", done.stdout, re.MULTILINE)
    return done.returncode, int(together.group(1)) if together else -1, re.findall("^core/.* never ran:.*", done.stdout,
                                                                                   re.MULTILINE)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        status, ran, missing = judged(directory)
        is_seen = status == 1 and ran == 0 and any("commit.lua" in line and "no test loads" in line for line in missing)
        tap.rule("a_script_that_nobody_loads_is_named", [] if is_seen else missing)

        environment = dict(os.environ, LIBLOCK_LUA_COVERAGE=directory)
        subprocess.run([sys.argv[1]], env=environment, capture_output=True, check=True)
        status, ran, missing = judged(directory)
        redis = [line for line in missing if line.startswith("core/redis/scripts/acquire.lua")]
        holds = status == 1 and ran > 100 and len(redis) == 1 and "no test loads" in redis[0]
        tap.rule("what_one_program_runs_is_seen_and_the_rest_is_named", [] if holds else missing)
        raised = [line for line in missing if line.startswith("core/quorum/scripts/raise.lua")]
        tap.rule("of_a_line_with_a_condition_the_piece_that_never_ran_is_named",
                 [] if any("of it never ran: return {'GONE', now} end" in line for line in raised) else raised)

        for path in pathlib.Path(directory).iterdir():
            path.write_text("".join(line for line in path.open() if not line.startswith("ran ")))
        status, ran, _ = judged(directory)
        tap.rule("what_was_loaded_only_has_not_run", [] if status == 1 and ran == 0 else [f"{ran} lines ran"])
    tap.finish()


if __name__ == "__main__":
    main()
