# SPDX-License-Identifier: MIT
"""lockctl as a person and a script use it: run to its end, run beside others, and in a terminal whose screen can be
read. Nothing is assumed about time but what is promised: tests wait for what must come."""
import contextlib
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import harness  # noqa: E402
from harness import SLOW, Server, die_with_parent, eventually, same, test  # noqa: E402,F401

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else "lockctl"
PATIENCE = 60 * SLOW

# However the tests were started: what nohup or a shell's & leaves ignored, no shell below can trap.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


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
    """lockctl beside the test, through a program that becomes it; whatever the test does, it ends with it."""

    def __init__(self, *words, url=None, stdin=subprocess.DEVNULL, env=None, through=()):
        self.words = words
        self.process = subprocess.Popen([*through, PROGRAM, *words], stdin=stdin, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment(url, **(env or {})),
                                        preexec_fn=die_with_parent)

    def signal(self, number):
        self.process.send_signal(number)

    def is_running(self):
        return self.process.poll() is None

    def line(self, stream=None):
        """The next line that it prints, which must come; on its standard output, if no other stream is named."""
        stream = stream or self.process.stdout
        text = b""
        while not text.endswith(b"\n"):
            if not select.select([stream], [], [], 20 * SLOW)[0]:
                raise AssertionError(f"{self.words} says no more; the last was {text!r}")
            byte = os.read(stream.fileno(), 1)
            assert byte, f"{self.words} has ended"
            text += byte
        return text.decode("utf-8", "replace")

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
    where = options if "--prefix" in options else ()
    with Running("run", *options, key, "--", "sleep", "1000", url=url) as running:
        is_there = lambda: lockctl("info", *where, key, url=url, code=None).code == 0  # noqa: E731
        assert eventually(is_there, 20), running.process.poll()
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


def state_of(pid):
    """S = it sleeps, T = it is stopped."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def program_of(pid):
    return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()


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
    """A program in a terminal of so many columns and rows, by tmux: what it shows is what a person would see."""

    def __init__(self, *words, url=None, columns=100, rows=30, env=None):
        self.folder = Folder()
        self.socket = self.folder.file("tmux")
        self.server = subprocess.Popen(["tmux", "-S", self.socket, "-f", "/dev/null", "-D"], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       env=environment(url, SHELL="/bin/sh", **(env or {})),
                                       preexec_fn=die_with_parent)
        assert eventually(lambda: self.tmux("start-server", check=False).returncode == 0, 20), "tmux does not start"
        # A shell of its own notes how the program ends and keeps the screen: tmux itself may miss that, and never say.
        note = f"trap : INT; \"$@\"; echo $? >{self.folder.file('code')}; exec sleep 1000"
        self.tmux("new-session", "-d", "-x", str(columns), "-y", str(rows), "--", "sh", "-c", note, "sh", *words, ";",
                  "set-option", "status", "off")

    def tmux(self, *words, check=True):
        # -N: a client that comes too early must not start a server of its own, with another environment.
        done = subprocess.run(["tmux", "-N", "-S", self.socket, *words], capture_output=True, check=False,
                              env=environment(), timeout=PATIENCE)
        if check and done.returncode != 0:
            raise AssertionError(f"tmux {words}: {done.stderr!r}")
        return done

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def type(self, text):
        self.tmux("send-keys", "-l", "--", text)
        self.press("Enter")

    def press(self, *keys):
        """Keys by tmux' names: q, Enter, Up, C-c."""
        self.tmux("send-keys", *keys)

    @property
    def text(self):
        return self.tmux("capture-pane", "-p").stdout.decode("utf-8", "replace")

    @property
    def coloured_text(self):
        return self.tmux("capture-pane", "-p", "-e").stdout.decode("utf-8", "replace")

    @property
    def lines(self):
        return [line.rstrip() for line in self.text.split("\n")[:-1]]

    def shows(self, text, seconds=20):
        if not eventually(lambda: text in self.text, seconds):
            raise AssertionError(f"{text!r} is not on the screen:\n{self.text.rstrip()}\n{self.processes()}")

    def shows_not(self, text, seconds=20):
        if not eventually(lambda: text not in self.text, seconds):
            raise AssertionError(f"{text!r} is still on the screen:\n{self.text}")

    def end(self):
        """Its exit code, as a shell has it, when it has ended."""
        if not eventually(lambda: self.folder.text("code").endswith("\n"), PATIENCE):
            raise AssertionError(f"has not ended:\n{self.processes()}\nthe screen:\n{self.text.rstrip()}")
        return int(self.folder.text("code"))

    def processes(self):
        """What runs in the terminal, for a failure's message."""
        tty = self.tmux("display-message", "-p", "#{pane_tty}").stdout.decode().strip()
        return subprocess.run(["ps", "-L", "-o", "pid,ppid,lwp,pgid,tpgid,stat,wchan:20,cmd", "-t", tty],
                              capture_output=True, text=True, check=False).stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server", check=False)
        self.server.kill()
        self.server.wait()
        self.folder.keeper.cleanup()


def main():
    harness.main()
