#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes each mistake that the sanitizers of this build are there to find: it must end the program, with the report of
that mistake. What says nothing of the library has looked. Usage: found.py MISTAKES SANITIZERS (as in b_sanitize).
TAP."""
import subprocess
import sys

REPORTS = {
    "address": {
        "overflow": "heap-buffer-overflow",
        "use_after_free": "heap-use-after-free",
        "use_after_return": "stack-use-after-return",
        "leak": "detected memory leaks",
    },
    "undefined": {"undefined": "signed integer overflow"},
    "thread": {"race": "data race", "lock_order": "lock-order-inversion"},
}


def main():
    program, sanitizers = sys.argv[1:]
    wanted = [one for sanitizer in sanitizers.split(",") for one in REPORTS.get(sanitizer, {}).items()]
    for number, (mistake, report) in enumerate(wanted, 1):
        done = subprocess.run([program, mistake], capture_output=True, text=True, errors="replace", check=False)
        found = done.returncode != 0 and report in done.stderr
        print(f"{'ok' if found else 'not ok'} {number} - {mistake} ends the program with a report of {report}")
        if not found:
            print(f"# exit {done.returncode}: {done.stderr.strip()!r}")
    print(f"1..{len(wanted)}")


if __name__ == "__main__":
    main()
