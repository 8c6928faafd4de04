# SPDX-License-Identifier: MIT
"""Where a run is: one line that moves on a terminal, plain lines elsewhere. Goes to standard error, so that the table
can be piped."""
import sys
import time

WIDTH = 30


class Progress:
    def __init__(self, steps, out=None):
        self.steps, self.done, self.began = max(1, steps), 0, time.monotonic()
        self.out = out or sys.stderr
        self.moves = self.out.isatty()

    def begins(self, what):
        """The next step; what it is."""
        seconds = time.monotonic() - self.began
        left = f", {seconds / self.done * (self.steps - self.done):.0f} s left" if self.done else ""
        if self.moves:
            filled = WIDTH * self.done // self.steps
            bar = "#" * filled + "." * (WIDTH - filled)
            print(f"\r\033[K[{bar}] {seconds:.0f} s{left}: {what}", end="", file=self.out, flush=True)
        else:
            print(f"[{self.done + 1}/{self.steps}, {seconds:.0f} s] {what}", file=self.out, flush=True)
        self.done += 1

    def says(self, text):
        """A line that stays."""
        print(f"\r\033[K{text}" if self.moves else text, file=self.out, flush=True)

    def ends(self):
        if self.moves:
            print("\r\033[K", end="", file=self.out, flush=True)
