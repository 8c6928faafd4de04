# SPDX-License-Identifier: MIT
"""Programs that stand in the documents, as processes. A block is named by the file name behind its fence, and the name
is used once. What is started here dies with the test."""
import contextlib
import functools
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))
from harness import SLOW, die_with_parent  # noqa: E402  (the path had to be set first)

WARNINGS = ("-std=gnu11", "-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes", "-Werror", "-O1")
FENCE = re.compile(r"^```\w+ (\S+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
FOLDER = tempfile.TemporaryDirectory(prefix="liblock-docs-")


def blocks(page):
    """Name and text of each named block of docs/PAGE."""
    return dict(FENCE.findall((ROOT / "docs" / page).read_text(encoding="utf-8")))


def library():
    return pathlib.Path(sys.argv[1]).resolve()


@functools.cache
def program(page, name):
    """The C program of that name, built with what the page says to build it with."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    how = rf"^    cc {re.escape(name)} (.*?)\$\(pkg-config --cflags --libs ([\w ]+)\)"
    command = re.search(how, text, re.MULTILINE)
    assert command, f"{page} does not say how to build {name}"
    packages = [word for word in command.group(2).split() if word != "liblock"]
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", *packages], capture_output=True, text=True,
                           check=True).stdout.split() if packages else []
    built = pathlib.Path(FOLDER.name, pathlib.Path(name).stem)
    done = subprocess.run(
        ["gcc", *WARNINGS, *command.group(1).split(), "-I", ROOT / "capi/include", "-x", "c", "-", "-x", "none",
         f"-L{library()}", f"-Wl,-rpath,{library()}", "-llock", *flags, "-o", built],
        input=blocks(page)[name], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return built


class Process:
    """A program whose lines are read as they come, in a process group of its own, so that nothing of it survives."""

    def __init__(self, *words, stdin=subprocess.DEVNULL, **more):
        self.process = subprocess.Popen([str(word) for word in words], stdin=stdin, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, start_new_session=True,
                                        preexec_fn=die_with_parent, **more)
        self.lines = queue.Queue()
        self.said = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def line(self, pattern, seconds=20):
        """The next line that matches; those before it are passed over, and remembered in `said`."""
        while True:
            try:
                line = self.lines.get(timeout=seconds * SLOW)
            except queue.Empty:
                raise AssertionError(f"no line like {pattern!r} after {self.said}") from None
            assert line is not None, f"ended without a line like {pattern!r}: {self.said}"
            self.said.append(line)
            found = re.search(pattern, line)
            if found:
                return found

    def write(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def end(self, number=None, seconds=60):
        """Its status at the end, for which it may be sent a signal; the rest of its lines are in `said`."""
        if number is not None:
            self.process.send_signal(number)
        status = self.process.wait(seconds * SLOW)
        while (line := self.lines.get(timeout=seconds * SLOW)) is not None:
            self.said.append(line)
        return status

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
