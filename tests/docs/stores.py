# SPDX-License-Identifier: MIT
"""What the programs of the fences write to: an object store that keeps to the conditions of HTTP, and a PostgreSQL."""
import glob
import http.server
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import uuid

from pages import die_with_parent

from harness import eventually


class ObjectStore:
    """Objects with an ETag and metadata, at http://127.0.0.1:PORT/NAME. A PUT is one step, and is refused with 412 when
    If-Match or If-None-Match is not met. One can be held: it has arrived, and is carried out when it is let go."""

    def __init__(self):
        self.objects = {}
        self.lock = threading.Lock()
        self.held_token = None
        self.is_held = threading.Event()
        self.may_go = threading.Event()
        store = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_HEAD(self):
                with store.lock:
                    found = store.objects.get(self.path)
                self.answer(404 if found is None else 200, found)

            def do_PUT(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                token = self.headers["x-amz-meta-token"]
                if token == store.held_token:
                    store.is_held.set()
                    store.may_go.wait(60)
                self.answer(*store.put(self.path, self.headers, token, body))

            def answer(self, status, found):
                self.send_response(status)
                if found is not None:
                    self.send_header("ETag", found["etag"])
                    self.send_header("x-amz-meta-token", found["token"])
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def put(self, path, conditions, token, body):
        with self.lock:
            found = self.objects.get(path)
            wanted = conditions.get("If-Match")
            if wanted is not None and (found is None or wanted != found["etag"]):
                return 412, None
            if conditions.get("If-None-Match") == "*" and found is not None:
                return 412, None
            self.objects[path] = {"etag": f'"{uuid.uuid4().hex}"', "token": token, "body": body}
            return 200, self.objects[path]

    def hold_put_of(self, token):
        self.held_token = str(token)

    def url(self, name):
        return f"http://127.0.0.1:{self.server.server_address[1]}/{name}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.may_go.set()
        self.server.shutdown()
        self.server.server_close()


def postgres_folder():
    """Where the programs of the newest PostgreSQL are: a distribution keeps them beside the path."""
    found = shutil.which("initdb")
    known = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda path: int(path.split("/")[4]))
    return pathlib.Path(known[-1] if known else os.path.realpath(found or "/nonexistent")).parent


class Postgres:
    """A PostgreSQL in a directory of its own, on a unix socket alone. It will not be root's: then it is the user's that
    its package makes."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="liblock-pg-"))
        self.process = None
        user = {}
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
            user = {"user": "postgres", "group": "postgres", "extra_groups": []}
        programs = postgres_folder()
        try:
            subprocess.run([programs / "initdb", "-D", self.folder / "data", "-A", "trust", "-U", "tester", "--no-sync",
                            "--no-locale", "-E", "UTF8"], check=True, capture_output=True, cwd=self.folder, **user)
            self.process = subprocess.Popen(
                [programs / "postgres", "-D", self.folder / "data", "-k", self.folder, "-c", "listen_addresses=",
                 "-c", "fsync=off"], stdout=subprocess.DEVNULL, stderr=open(self.folder / "log", "ab"),
                cwd=self.folder, preexec_fn=die_with_parent, **user)
            assert eventually(lambda: self.psql("SELECT 1", check=False).returncode == 0, 30), self.log()
        except BaseException:
            self.__exit__()
            raise

    def log(self):
        return (self.folder / "log").read_text(encoding="utf-8")[-2000:]

    @property
    def url(self):
        return f"host={self.folder} user=tester dbname=postgres"

    def psql(self, *statements, check=True):
        """What the statements answer, each in a transaction of its own, as text without ornaments."""
        words = [word for statement in statements for word in ("-c", statement)]
        return subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", *words, self.url], capture_output=True,
                              text=True, check=check)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
