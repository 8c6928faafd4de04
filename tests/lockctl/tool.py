# SPDX-License-Identifier: MIT
"""lockctl as a person and a script use it: run to its end, run beside others, and in a terminal whose screen can be
read. Nothing is assumed about time but what is promised: tests wait for what must come."""
import codecs
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import harness  # noqa: E402
from harness import SLOW, Server, die_with_parent, eventually, same, test  # noqa: E402,F401

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else "lockctl"
PATIENCE = 60 * SLOW


def environment(url=None, **more):
    """What a command finds: nothing of the caller's that would change what is tested."""
    plain = {name: value for name, value in os.environ.items()
             if not name.startswith("LIBLOCK_") and name not in ("NO_COLOR", "TERM")}
    plain.update({"TERM": "xterm", "LC_ALL": "C.UTF-8"}, **({"LIBLOCK_URL": url} if url else {}))
    plain["PATH"] = f"{pathlib.Path(PROGRAM).resolve().parent}:{plain.get('PATH', '')}"
    return {**plain, **more}


class Done:
    def __init__(self, words, code, out, err):
        self.words, self.code, self.out, self.err = words, code, out, err

    @property
    def json(self):
        """The only object on standard output."""
        same(len(self.out.splitlines()), 1)
        return json.loads(self.out)

    @property
    def objects(self):
        return [json.loads(line) for line in self.out.splitlines()]

    def __repr__(self):
        return f"{self.words}: exit {self.code}, out {self.out!r}, err {self.err!r}"


class Running:
    """lockctl beside the test; whatever the test does, it ends with it."""

    def __init__(self, *words, url=None, stdin=subprocess.DEVNULL, env=None):
        self.words = words
        self.process = subprocess.Popen([PROGRAM, *words], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=environment(url, **(env or {})), preexec_fn=die_with_parent)

    def signal(self, number):
        self.process.send_signal(number)

    def is_running(self):
        return self.process.poll() is None

    def done(self):
        try:
            out, err = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired as late:
            self.process.kill()
            raise AssertionError(f"{self.words} has not ended; it said {late.stdout!r}, {late.stderr!r}") from None
        return Done(self.words, self.process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.is_running():
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            stream.close()


def lockctl(*words, url=None, env=None, code=0):
    """To its end, which must have this exit code."""
    with Running(*words, url=url, env=env) as running:
        done = running.done()
    if code is not None and done.code != code:
        raise AssertionError(f"{done}, not {code}")
    return done


def is_held(server, key):
    return server.call("EXISTS", f"liblock:{key}") == 1


@contextlib.contextmanager
def held(url, key, *options):
    """Somebody holds the key, by running a command that does not end by itself."""
    with Running("run", *options, key, "--", "sleep", "1000", url=url) as running:
        assert eventually(lambda: lockctl("info", key, url=url, code=None).code == 0, 20), running.process.poll()
        yield running


@contextlib.contextmanager
def waiting(url, key, *options):
    """Somebody waits for the key, which must be held."""
    before = len(queue_of(url, key))
    with Running("run", *options, key, "--", "true", url=url) as running:
        assert eventually(lambda: len(queue_of(url, key)) > before, 20), running.process.poll()
        yield running


def queue_of(url, key):
    return lockctl("queue", "--json", key, url=url, code=None).json["queue"]


def is_alive(pid):
    """Runs, or could: not what nobody has reaped yet."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Folder:
    """Where a command leaves its marks."""

    def __init__(self):
        self.keeper = tempfile.TemporaryDirectory(prefix="lockctl-")
        self.path = pathlib.Path(self.keeper.name)

    def file(self, name):
        return str(self.path / name)

    def text(self, name):
        try:
            return (self.path / name).read_text()
        except OSError:
            return ""

    def number(self, name):
        """What stands in the file, once it stands there whole."""
        assert eventually(lambda: self.text(name).endswith("\n"), 20), name
        return int(self.text(name))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.keeper.cleanup()


class Terminal:
    """A program in a terminal of so many columns and rows; what stands on its screen is kept by pyte."""

    def __init__(self, *words, url=None, columns=100, rows=30, env=None):
        import pyte  # only those who look at a screen need it
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.Stream(self.screen)
        self.raw = ""
        self.lock = threading.Lock()
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            try:
                die_with_parent()
                os.execvpe(words[0], words, environment(url, **(env or {})))
            finally:
                os._exit(127)
        self.resize(columns, rows)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        with contextlib.suppress(OSError):
            while True:
                raw = os.read(self.descriptor, 65536)
                if not raw:
                    return
                with self.lock:
                    text = decoder.decode(raw)
                    self.raw += text
                    self.stream.feed(text)

    def resize(self, columns, rows):
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        with self.lock:
            self.screen.resize(rows, columns)

    def press(self, text):
        os.write(self.descriptor, text.encode())

    @property
    def lines(self):
        with self.lock:
            return [line.rstrip() for line in self.screen.display]

    @property
    def text(self):
        return "\n".join(self.lines)

    def shows(self, text, seconds=20):
        if not eventually(lambda: text in self.text, seconds):
            raise AssertionError(f"{text!r} is not on the screen:\n{self.text}")
        return True

    def end(self):
        """Its exit code; negative for a signal."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            pid, how = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                return os.waitstatus_to_exitcode(how)
            time.sleep(0.01)
        raise AssertionError(f"has not ended; the screen:\n{self.text}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.descriptor)


def main():
    harness.main()
