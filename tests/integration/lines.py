#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The switchboard is tested itself: each fault of a line happens as it is told, to the lines it is told of, and no
byte is lost or out of order where none should be. Usage: lines.py - [PART OF A NAME]"""
import contextlib
import socket
import threading
import time

from harness import encode, eventually, main, same, test
from manners import Manner
from switchboard import Switchboard


class Echo:
    """A server that takes down what came, by the first byte of the connection, and answers it."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.came = []  # in the order in which it came
        self.ended = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.answer, args=(self.listener.accept()[0],), daemon=True).start()

    def answer(self, connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError), connection:
            while data := connection.recv(65536):
                self.came.append(data)
                connection.sendall(data)
        self.ended += 1

    def text(self):
        return b"".join(self.came)


class Stage(contextlib.ExitStack):
    """An echo behind a switchboard, and clients with names before it."""

    def __enter__(self):
        self.echo = Echo()
        self.callback(self.echo.listener.close)
        self.board = self.enter_context(Switchboard([self.echo.port]))
        return self

    def client(self, name):
        connection = self.enter_context(socket.create_connection(("127.0.0.1", self.board.ports[0])))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.settimeout(5)
        greeting = encode("CLIENT", "SETNAME", name)
        connection.sendall(greeting)
        same(read(connection, len(greeting)), greeting)
        self.echo.came.clear()
        return connection


def read(connection, size):
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise OSError("ended")
        data += piece
    return data


def is_silent(connection, seconds=0.2):
    connection.settimeout(seconds)
    try:
        connection.recv(1)  # also where it is the end
        return False
    except TimeoutError:
        return True
    finally:
        connection.settimeout(5)


@test
def what_is_swallowed_never_comes_and_nobody_is_told():
    with Stage() as stage:
        bent, other = stage.client("bent"), stage.client("other")
        manner = stage.board.lay(Manner(client="bent", directions=("down",), swallow=True))
        bent.sendall(b"lost")
        assert eventually(lambda: stage.echo.text() == b"lost")
        assert is_silent(bent)
        other.sendall(b"here")
        same(read(other, 4), b"here")
        stage.board.lift(manner)
        bent.sendall(b"more")
        assert is_silent(bent), "what comes behind a hole is not what was sent"


@test
def a_half_open_line_ends_at_one_end_only_and_both_are_told_when_it_is_healed():
    with Stage() as stage:
        bent = stage.client("bent")
        manner = stage.board.lay(Manner(swallow=True))
        bent.sendall(b"x")
        assert is_silent(bent)
        bent.close()
        time.sleep(0.2)
        same(stage.echo.ended, 0)
        stage.board.lift(manner)
        stage.board.reset_hollow()
        assert eventually(lambda: stage.echo.ended == 1)


@test
def a_delayed_piece_comes_late_and_keeps_its_place_on_its_line():
    with Stage() as stage:
        bent = stage.client("bent")
        stage.board.lay(Manner(directions=("up",), delay=(0.1, 0.3)))
        began = time.monotonic()
        for number in range(20):
            bent.sendall(b"%02d" % number)
        same(read(bent, 40), b"".join(b"%02d" % number for number in range(20)))
        assert time.monotonic() - began >= 0.1
        assert stage.board.slowed > 0


@test
def lines_overtake_each_other():
    with Stage() as stage:
        slow, fast = stage.client("slow"), stage.client("fast")
        stage.board.lay(Manner(client="slow", directions=("up",), delay=(0.3, 0.3)))
        slow.sendall(b"first")
        fast.sendall(b"second")
        assert eventually(lambda: stage.echo.text() == b"secondfirst")


@test
def a_piece_is_split():
    with Stage() as stage:
        bent = stage.client("bent")
        stage.board.lay(Manner(directions=("up",), piece=1))
        bent.sendall(b"x" * 200)
        same(read(bent, 200), b"x" * 200)
        assert len(stage.echo.came) > 10, len(stage.echo.came)
        assert stage.board.reshaped > 10, stage.board.reshaped


@test
def pieces_are_joined():
    with Stage() as stage:
        bent = stage.client("bent")
        stage.board.lay(Manner(directions=("up",), join=0.5))
        for _ in range(20):
            bent.sendall(b"y")
            time.sleep(0.005)
        same(read(bent, 20), b"y" * 20)
        assert len(stage.echo.came) <= 3, stage.echo.came
        assert 1 <= stage.board.reshaped <= 3, stage.board.reshaped


@test
def a_line_is_reset_within_a_reply():
    with Stage() as stage:
        bent, other = stage.client("bent"), stage.client("other")
        stage.board.lay(Manner(client="bent", directions=("down",), reset_after=3))
        bent.sendall(b"whole")
        try:
            raise AssertionError(f"{read(bent, 5)!r} came")
        except ConnectionResetError:
            pass
        assert eventually(lambda: stage.echo.ended == 1)
        same(stage.board.resets, 1)
        other.sendall(b"fine")
        same(read(other, 4), b"fine")


@test
def a_line_has_so_many_bytes_a_second():
    with Stage() as stage:
        bent = stage.client("bent")
        stage.board.lay(Manner(directions=("up",), rate=20000))
        began = time.monotonic()
        bent.sendall(b"z" * 10000)
        same(read(bent, 10000), b"z" * 10000)
        assert 0.35 < time.monotonic() - began, time.monotonic() - began


@test
def what_is_sent_over_a_cut_line_arrives_when_it_is_mended_though_its_sender_has_gone():
    with Stage() as stage:
        bent = stage.client("bent")
        stage.board.cut("bent", 0)
        bent.sendall(b"late")
        bent.close()
        time.sleep(0.1)
        same(stage.echo.text(), b"")
        stage.board.mend("bent", 0)
        assert eventually(lambda: stage.echo.text() == b"late")
        assert stage.board.late > 0


if __name__ == "__main__":
    main()
