#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What those whom one must not trust can do to whoever locks, and what they get to see: the threats of SECURITY.md that
no narrower test shows. Everything that a context ever tells is taken down by tell_all.c and looked through here.

  run.py TELL_ALL AGENT [PART OF A NAME]

Leaves what it counted in $LIBLOCK_RELIABILITY/security.json, where that folder is given. Prints TAP.
"""
import base64
import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import re
import socket
import string
import subprocess
import sys
import threading
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import harness  # noqa: E402  (the path had to be set first)
from certificates import Certificates  # noqa: E402
from harness import Server, die_with_parent, percent, same, test  # noqa: E402
from networks import Imposter, Pretender, Rubbish  # noqa: E402
from quorums import MAX_TTL_MS, Quorum, found  # noqa: E402

if len(sys.argv) < 3:
    sys.exit("usage: run.py TELL_ALL AGENT [PART OF A NAME]: tests/security/tell-all and "
             "tests/integration/integration-agent of a build")
TELL_ALL = sys.argv.pop(1)
COUNTS = collections.Counter()
FOUND = []  # a secret, and where
KEEPS_MEMORY = "LIBLOCK_TEST_KEEPS_MEMORY" in os.environ  # a sanitizer, of what was freed
# Of what is told, what people read: one line, of printable characters.
LINES = ("message", "log", "event", "node_why", "copies_in_memory")
HOSTILE = [
    b"nul\0inside", b"two\r\nlines", b"\r\n*1\r\n$8\r\nFLUSHALL\r\n", b"{a}{b}", b"}{", b"\x1b[2J\x1b]0;owned\x07",
    b"%s%n%p%1000000d", b"\xff\xfe\xc3(", b"*?[a-z]\\", b"') redis.call('FLUSHALL') --", b"]] redis.call('FLUSHALL')",
    b"1|2|3|4|5|6|7|8", b"%00%25|%7c", b"../../../etc/passwd", b"\xe2\x80\xae\xe2\x80\x8b", b"\n# HELP liblock_x\nx 1",
    bytes(range(1, 240)), b"a" * 250]


def told_by(**settings):
    """What a process that does everything with a context was told: (kind, bytes) in order. keys: a list."""
    keys = settings.pop("keys", [b"k"])
    lines = [f"{name} {percent(value)}" for name, value in settings.items() if value is not None]
    lines += [f"key {percent(key)}" for key in keys]
    done = subprocess.run([TELL_ALL], input="\n".join(lines) + "\n", capture_output=True, text=True, check=False,
                          timeout=120 * harness.SLOW, preexec_fn=die_with_parent)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"status {done.returncode}: {done.stderr[-2000:]}")
    told = []
    for line in done.stdout.splitlines():
        kind, _, text = line.partition(" ")
        told.append((kind, urllib.parse.unquote_to_bytes(text)))
    same(told[-1][0], "copies_in_memory")
    return told


def outcomes(told, kind):
    return [text.decode() for name, text in told if name == kind]


# ----- secrets

def new_secret():
    """Of letters and digits, so that it looks the same wherever it is written; told apart by chance from all else."""
    return "S3cr" + "".join(random.choices(string.ascii_letters + string.digits, k=20))


def disguises(secret):
    raw = secret.encode()
    return (raw, raw[::-1], raw.hex().encode(), base64.b64encode(raw).rstrip(b"="), raw[:12], raw[-12:])


def nowhere(secret, *wanted, **settings):
    """The context opens or pings as wanted, and the secret is in nothing that was told nor in memory afterwards."""
    told = told_by(secret=secret, connect_timeout_ms=1500, **settings)
    ended = (outcomes(told, "ping") or outcomes(told, "open"))[0]
    if ended not in wanted:
        raise AssertionError(f"{settings}: {ended}, not {wanted}: {outcomes(told, 'message')[:3]}")
    COUNTS["secrets planted"] += 1
    COUNTS["bytes searched"] += sum(len(text) for _, text in told)
    where = [f"a {kind}: {text!r}" for kind, text in told if any(one in text for one in disguises(secret))]
    if not KEEPS_MEMORY:
        where += [f"{told[-1][1].decode()} places in memory"] if told[-1][1] != b"0" else []
        for copies in outcomes(told, "copies_while_open"):
            assert int(copies) > 0, f"{settings}: the search of the memory finds nothing where there must be a copy"
            COUNTS["contexts in whose memory it was found while open"] += 1
    FOUND.extend(where)
    assert not where, f"{settings}: it stands in {'; '.join(where)}"


@contextlib.contextmanager
def locked_server(secret, **options):
    with Server(**options) as server:
        server.call("ACL", "SETUSER", "locker", "on", ">" + secret, "~*", "&*", "+@all")
        server.call("ACL", "SETUSER", "default", "off")
        server.user = ("locker", secret)
        yield server


@test
def a_password_in_the_url_is_told_nowhere_and_in_no_memory_afterwards():
    secret = new_secret()
    with locked_server(secret) as server:
        host = f"127.0.0.1:{server.port}"
        nowhere(secret, "OK", url=f"redis://locker:{secret}@{host}")
        nowhere(secret, "AUTH", url=f"redis://somebody:{secret}@{host}")
        nowhere(secret, "AUTH", url=f"redis://{secret}@{host}")  # forgot the colon: it is taken for a user
        nowhere(secret, "CONNECT", url=f"redis://locker:{secret}@127.0.0.1:{harness.free_port()}")
        nowhere(secret, "CONNECT", url=f"redis://locker:{secret}@no-such-host.invalid")
        nowhere(secret, "CONNECT", url=f"rediss://locker:{secret}@{host}")


@test
def a_password_in_the_options_is_told_nowhere_and_in_no_memory_afterwards():
    secret = new_secret()
    with locked_server(secret) as server:
        nowhere(secret, "OK", url=f"redis://127.0.0.1:{server.port}", username="locker", password=secret)
        nowhere(secret, "AUTH", url=f"redis://127.0.0.1:{server.port}", username="another", password=secret)
        nowhere(secret, "INVALID_ARGUMENT", url="local:x", password=secret)


# Urls that nobody can take apart: what is the password in them, only who wrote them knows.
UNREADABLE = [
    "redis://me:{}@", "redis://me:{}@host:0", "redis://me:{}%@host", "redis://me:{}%zz@host", "redis:/{}@host",
    "redis://:{}@host/notanumber", "http://me:{}@host", "{}", "me:{}@host", "redis://me:{}@[::1", "redis://{} a",
    "redis://a:{}@host\r\nFLUSHALL", "quorum:redis://a,redis://me:{}@b c", "quorum:redis://me:{}@a:0,redis://b",
    "quorum:{}", "unix://{}?db=x"]


@test
def a_password_in_a_url_that_cannot_be_read_is_told_nowhere():
    for form in UNREADABLE:
        secret = new_secret()
        nowhere(secret, "INVALID_ARGUMENT", "UNSUPPORTED", url=form.format(secret))


@test
def passwords_of_nodes_are_told_nowhere_and_in_no_memory_afterwards():
    secret = new_secret()
    with Quorum(3, "--requirepass", "x", founded=False) as quorum:
        for server in quorum.servers:
            server.user = ("default", "x")
            server.call("CONFIG", "SET", "requirepass", secret)
            server.user = ("default", secret)
        with_password = "quorum:" + ",".join(f"redis://:{secret}@127.0.0.1:{server.port}" for server in quorum.servers)
        nowhere(secret, "OK", url=with_password, max_ttl_ms=MAX_TTL_MS)
        nowhere(secret, "OK", url=quorum.url, password=secret, max_ttl_ms=MAX_TTL_MS)
        wrong = new_secret()
        nowhere(wrong, "AUTH", url=with_password.replace(secret, wrong), max_ttl_ms=MAX_TTL_MS)


@test
def a_password_is_sent_to_nobody_whose_certificate_is_wrong():
    certificates, secret = Certificates(), new_secret()
    good = certificates.signed("good", "localhost")
    with locked_server(secret, tls=good) as server:
        url = f"rediss://locker:{secret}@localhost:{server.tls_port}"
        nowhere(secret, "OK", url=url, tls_ca_file=good["ca"])
        before = server.commands().get("auth", 0)
        nowhere(secret, "CONNECT", url=url, tls_ca_file=str(certificates.path / "stranger.crt"))
        same(server.commands().get("auth", 0), before + 1)  # the one that looked


NO_LINES = bytes.maketrans(b"\r\n", b"  ")


class Repeater(Imposter):
    """Says of every command what it was, in an error."""

    def talk(self, client):
        while words := client.recv(65536):
            client.sendall(b"-ERR unknown command with " + words[:400].translate(NO_LINES) + b"\r\n")


@test
def a_server_that_repeats_the_password_in_its_refusal_is_not_quoted():
    secret = new_secret()
    with Repeater() as server:
        nowhere(secret, "AUTH", url=f"redis://me:{secret}@127.0.0.1:{server.port}")
        nowhere(secret, "AUTH", url=f"redis://{secret}@127.0.0.1:{server.port}")  # taken for a user
    with Server("--rename-command", "AUTH", "") as server:  # says what the words behind the unknown command were
        nowhere(secret, "AUTH", url=f"redis://:{secret}@127.0.0.1:{server.port}")


@test
def a_server_that_repeats_the_password_gets_to_see_none_that_was_meant_for_tls():
    secret = new_secret()
    with Repeater() as server:
        told = told_by(secret=secret, url=f"rediss://me:{secret}@127.0.0.1:{server.port}", connect_timeout_ms=400)
        assert all(secret.encode() not in text for _, text in told)
        same(outcomes(told, "ping"), ["CONNECT"] * len(outcomes(told, "ping")))


# ----- names

PATIENT = {"ttl_ms": 20000, "wait_ms": 20000, "command_timeout_ms": 5000}  # a busy machine is no reason to fail


def exercised(told, names, what):
    """Each name came back as it went in, as key, owner, value, metadata; and what people read is one printable line."""
    for kind, wanted in (("info_key", names), ("info_value", names)):
        seen = [text for name, text in told if name == kind]
        for name in wanted:
            assert name in seen, f"{what}: no {kind} is {name!r}"
    owners = [text for kind, text in told if kind == "info_owner"]
    for name in names:
        assert any(owner.endswith(b"/" + name) for owner in owners), f"{what}: nobody is {name!r}"
    one_line(told, what)


def one_line(told, what):
    for kind, text in told:
        if kind in LINES:
            decoded = text.decode()  # UTF-8, or this fails
            assert decoded.isprintable(), f"{what}: a {kind} is not one printable line: {text!r}"
        if kind == "prometheus":
            for line in text.decode().splitlines():
                assert line.startswith(("# HELP liblock_", "# TYPE liblock_", "liblock_")), f"{what}: {line!r}"
    COUNTS["lines read"] += sum(kind in LINES for kind, _ in told)


def left_alone(server, before):
    """Whatever names did: the foreign key is there, and no command was run but those of locking."""
    same(server.call("GET", "canary"), b"sings")
    ran = {name for name, calls in server.commands().items() if calls > before.get(name, 0)}
    for command in ("flushall", "flushdb", "config", "config|set", "keys", "script|flush", "debug", "shutdown"):
        assert command not in ran, f"{command} was run"


@test
def hostile_names_are_bytes_on_a_local_context():
    told = told_by(url="local:", keys=HOSTILE)
    exercised(told, HOSTILE, "local")
    same(set(outcomes(told, "acquire")), {"OK"})
    COUNTS["hostile names"] += len(HOSTILE)


@test
def hostile_names_are_bytes_on_a_server():
    with Server() as server:
        server.call("SET", "canary", "sings")
        before = server.commands()
        told = told_by(url=server.url, keys=HOSTILE, **PATIENT)
        exercised(told, HOSTILE, "redis")
        same(set(outcomes(told, "acquire")), {"OK"})
        left_alone(server, before)
        for key in server.call("KEYS", "*"):
            assert key == b"canary" or key.startswith((b"liblock:", b"ll1:")), key
    COUNTS["hostile names"] += len(HOSTILE)


@test
def hostile_names_are_bytes_over_a_quorum():
    with Quorum(3, max_ttl_ms=30000) as quorum:
        for server in quorum.servers:
            server.call("SET", "canary", "sings")
        before = [server.commands() for server in quorum.servers]
        told = told_by(url=quorum.url, keys=HOSTILE, **PATIENT, max_ttl_ms=30000)
        one_line(told, "quorum")
        exercised(told, HOSTILE, "quorum")
        for server, ran in zip(quorum.servers, before):
            left_alone(server, ran)
    COUNTS["hostile names"] += len(HOSTILE)


@test
def hostile_prefixes_and_client_names_stay_what_they_are():
    with Server() as server:
        server.call("SET", "canary", "sings")
        before = server.commands()
        for hostile in HOSTILE:
            told = told_by(url=server.url, prefix=hostile[:100], keys=[b"k"])
            one_line(told, hostile)
            same(outcomes(told, "acquire"), ["OK"])
            if b"\0" not in hostile:
                one_line(told_by(url=server.url, client_name=hostile, keys=[b"k"]), hostile)
        left_alone(server, before)


# ----- what others who use the same server may do

# Each reads, writes, hears or stops what is not theirs. In scripts rights are looked at once more.
FORBIDDEN = [
    ("GET", "other"), ("SET", "other", "x"), ("DEL", "other"), ("EVAL", "return redis.call('GET', 'other')", 0),
    ("EVAL", "return redis.call('FLUSHALL')", 0), ("EVAL", "return redis.call('CONFIG', 'GET', '*')", 0),
    ("PUBLISH", "other", "x"), ("SUBSCRIBE", "other"), ("FLUSHALL",), ("FLUSHDB",), ("CONFIG", "GET", "*"),
    ("KEYS", "*"), ("SCAN", 0), ("SCRIPT", "FLUSH"), ("SHUTDOWN",), ("ACL", "LIST"), ("CLIENT", "LIST"),
    ("CLIENT", "KILL", "TYPE", "normal"), ("REPLICAOF", "NO", "ONE"), ("MONITOR",), ("DEBUG", "SLEEP", 0)]


def refusal(server, words):
    try:
        return f"it answers {server.call(*words)}"
    except harness.ServerError as error:
        return str(error)


@test
def a_user_who_has_the_rights_for_locking_reaches_no_other_key_channel_or_command():
    with Server() as server:
        server.call("SET", "other", "sings")
        server.call("ACL", "SETUSER", "locker", "reset", "on", ">pw", *harness.recipe())
        server.user = ("locker", "pw")
        same(server.call("GET", "liblock:k"), None)
        for words in FORBIDDEN:
            said = refusal(server, words)
            assert re.search("permission|can't|not allowed from script", said), f"{words}: {said}"
        server.user = None
        same(server.call("GET", "other"), b"sings")
    COUNTS["forbidden commands"] += len(FORBIDDEN)


# ----- what servers say

WORDS = [
    b"\x1b[31mERROR\x1b[0m forged", b"line\nERROR: forged", b"tab\tand\x07bell", b"%s%s%s%n", b"\xff\xfe\xc3(",
    b"x" * 400, b"WRONGPASS \x1b]0;owned\x07", b"NOPERM \n2026-01-01 root logged in", b"\x00nul", b"NOAUTH \x9b31m",
    b"MOVED 1 \x1b[2J:1", b"\xe2\x80\xae right to left"]


def in_vain(what, **settings):
    """Whoever locks so gets none, and can print why. Returns what was told."""
    told = told_by(**settings)
    taken = outcomes(told, "acquire")
    opened = outcomes(told, "open") == ["OK"]
    assert bool(taken) == opened and "OK" not in taken, f"{settings}, {what}: {taken}"
    one_line(told, what)
    return told


@contextlib.contextmanager
def nodes_that_say(answer):
    """The url of a server, and of a quorum, that have nothing else to say."""
    with contextlib.ExitStack() as stack:
        nodes = [stack.enter_context(Rubbish(answer)) for _ in range(4)]
        yield nodes[0].url, "quorum:" + ",".join(node.url for node in nodes[1:])
        assert all(node.said for node in nodes), f"somebody has not heard {answer[:40]}"


def each_at_once(function, arguments):
    """Most of what a context does with such servers is waiting."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(function, arguments))


@test
def what_a_server_says_is_shown_as_one_printable_line():
    def hears(words):
        with nodes_that_say(b"-" + words + b"\r\n") as urls:
            for url in urls:
                in_vain(words, url=url, connect_timeout_ms=1000)
            nobody = f"redis://127.0.0.1:{harness.free_port()}"
            one_line(told_by(url=f"quorum:{urls[0]},{nobody}", connect_timeout_ms=200), words)
        with Pretender(b"-" + words + b"\r\n") as server:
            in_vain(words, url=server.url)
    each_at_once(hears, WORDS)
    COUNTS["hostile texts"] += len(WORDS)


@test
def what_a_server_says_is_shown_as_it_is_and_never_taken_for_a_format():
    words = b"ERR %s%n%p%1000000d%%"
    with Pretender(b"-" + words + b"\r\n") as server:
        told = in_vain(words, url=server.url)
        assert words in [text for kind, text in told if kind == "message"], outcomes(told, "message")


# Sizes and depths that nobody could hold, kinds that nobody asked for, and what is no protocol at all.
REPLIES = [
    b"*4294967295\r\n", b"$-5\r\n", b"$9223372036854775807\r\n", b"*1\r\n" * 5000, b"+" + b"x" * 300000, b"%100000\r\n",
    b">3\r\n+message\r\n+a\r\n+b\r\n", b"~2\r\n:1\r\n:2\r\n", b",inf\r\n", b"#t\r\n", b"_\r\n", b"|1\r\n+a\r\n+b\r\n",
    b"(99999999999999999999\r\n", b"+OK\r\n" * 1000, b":9223372036854775808\r\n", b"*-2\r\n", b"\r\n\r\n",
    b"*3\r\n$2\r\nOK\r\n:9007199254740993\r\n:-1\r\n", bytes(range(256)) * 16, b"HTTP/1.1 200 OK\r\n\r\n"]


@test
def no_bytes_of_a_server_make_anybody_hold_a_lock():
    def hears(answer):
        with nodes_that_say(answer) as urls:
            for url in urls:
                in_vain(answer[:40], url=url, connect_timeout_ms=1000)
    each_at_once(hears, REPLIES)
    COUNTS["hostile replies"] += len(REPLIES)


ANSWERS = REPLIES + [b"-" + words + b"\r\n" for words in WORDS]


class Liar(Imposter):
    """Stands before a node. What names the lock k below the prefix "all-N:" is answered by ANSWERS[N], "one-N:" by the
    first of them alone; all else by the node."""

    LIE = re.compile(rb"(all|one)-(\d+):k")

    def __init__(self, node, is_first):
        self.node, self.is_first = node, is_first
        self.lies = set()
        super().__init__()

    def talk(self, client):
        with socket.create_connection(("127.0.0.1", self.node.port)) as node:
            threading.Thread(target=self.talk_back, args=(node, client), daemon=True).start()
            stream = client.makefile("rb")
            while True:
                words = harness.read_reply(stream)
                lie = self.LIE.search(b" ".join(words))
                if lie and (lie[1] == b"all" or self.is_first):
                    self.lies.add(lie[0])
                    client.sendall(ANSWERS[int(lie[2])])
                else:
                    node.sendall(harness.encode(*words))

    @staticmethod
    def talk_back(node, client):
        with contextlib.suppress(OSError):
            while said := node.recv(65536):
                client.sendall(said)


@test
def no_answers_of_nodes_make_anybody_hold_a_lock_and_those_of_one_keep_nobody_from_it():
    with Quorum(3, founded=False) as quorum, contextlib.ExitStack() as stack:
        liars = [stack.enter_context(Liar(node, node is quorum[0])) for node in quorum.servers]
        url = "quorum:" + ",".join(liar.url for liar in liars)
        found(url)

        def hears(number):
            answer = ANSWERS[number][:40]
            in_vain(answer, url=url, prefix=b"all-%d:" % number, max_ttl_ms=MAX_TTL_MS, wait_ms=500)
            assert all(b"all-%d:k" % number in liar.lies for liar in liars), f"somebody has not heard {answer}"
            told = told_by(url=url, prefix=b"one-%d:" % number, max_ttl_ms=MAX_TTL_MS, wait_ms=10000)
            same(outcomes(told, "acquire"), ["OK"])
            assert b"one-%d:k" % number in liars[0].lies, f"nobody has heard {answer}"
            one_line(told, answer)
        each_at_once(hears, range(len(ANSWERS)))
    COUNTS["hostile answers of nodes"] += len(ANSWERS)


def keep_counts(went_well):
    """What was found counts, whatever else failed; not where a sanitizer keeps memory from being searched."""
    folder = os.environ.get("LIBLOCK_RELIABILITY")
    if folder and len(sys.argv) < 3 and not KEEPS_MEMORY and (went_well or FOUND):
        kept = {"counts": COUNTS, "found": len(FOUND), "command": "./dev test security"}
        pathlib.Path(folder, "security.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    try:
        harness.main()
    except SystemExit as end:
        keep_counts(end.code in (None, False, 0))
        raise
