# SPDX-License-Identifier: MIT
"""What the check scripts share: TAP on the output, one line per rule, the problems found under it as
comments.
"""
import pathlib
import re
import subprocess
import sys


class Tap:
    """Counts and prints; `finish` prints the plan and ends the program, with status 1 when a rule was broken."""

    def __init__(self):
        self.count = 0
        self.failed = 0

    def rule(self, name, problems):
        """One rule. It holds when `problems` is empty."""
        self.count += 1
        problems = list(problems)
        self.failed += bool(problems)
        print(f"{'not ok' if problems else 'ok'} {self.count} - {name}")
        for problem in problems[:50]:
            print(f"# {problem}")
        if len(problems) > 50:
            print(f"# and {len(problems) - 50} more")

    def finish(self):
        print(f"1..{self.count}")
        sys.exit(1 if self.failed or not self.count else 0)


def files_of(root):
    """Every file of the tree that is, or could be, committed, as paths relative to root, sorted. Where git knows of
    some, no others at the root, nor of folders in which it knows of none: whoever tries the library keeps his there."""
    root = pathlib.Path(root)

    def listed(kind):
        words = ["git", "-C", root, "ls-files", kind, "--exclude-standard"]
        git = subprocess.run(words, capture_output=True, text=True)
        return git.stdout.splitlines() if git.returncode == 0 and (root / ".git").exists() else []
    if names := listed("-c"):
        tops = {name.partition("/")[0] for name in names if "/" in name}
        names += [name for name in listed("-o") if name.partition("/")[0] in tops and "/" in name]
    else:
        names = [str(path.relative_to(root)) for path in root.rglob("*")]
    skipped = re.compile(r"^(build[^/]*|\.git)/|(^|/)__pycache__/")
    return sorted({name for name in names if not skipped.search(name) and (root / name).is_file()})


def without_comments(text):
    """C text with comments and the insides of literals blanked, line breaks kept, so that columns and lines hold."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)

    def blank(match):
        kept = match.group(0)[0] if match.group(0)[0] in "\"'" else " "
        return kept + re.sub(r"[^\n]", " ", match.group(0))[1:-1] + kept

    return pattern.sub(blank, text)
