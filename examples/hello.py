# SPDX-License-Identifier: MIT
"""hello.c from Python, with nothing but ctypes: the types of the calls, a guard, and a lock that somebody else holds.

Usage: hello.py [URL], "local:hello" by default. The library is liblock.so.0 where the loader finds it, or what
LIBLOCK_LIBRARY names.
"""
import contextlib
import ctypes as c
import os
import sys

OK, BUSY = 0, 1
Context, Lock = c.c_void_p, c.c_uint64


class Result(c.Structure):
    """liblock_result of the header, in its order. The message has cause and cure of whatever failed."""
    _fields_ = [("struct_size", c.c_size_t), ("status", c.c_int32), ("attempts", c.c_uint32), ("token", c.c_uint64),
                ("waited_ms", c.c_int64), ("remaining_ms", c.c_int64), ("queue_position", c.c_int64),
                ("queue_length", c.c_int64), ("hold_count", c.c_uint32), ("flags", c.c_uint32), ("votes", c.c_uint32),
                ("nodes", c.c_uint32), ("message", c.c_char * 256), ("replicas", c.c_uint32),
                ("reserved", c.c_uint32), ("info", c.c_void_p)]


library = c.CDLL(os.environ.get("LIBLOCK_LIBRARY", "liblock.so.0"))
# Without these a pointer would be cut to the width of an int.
library.liblock_open.argtypes = c.c_char_p, c.c_void_p, c.POINTER(Context), c.POINTER(Result)
library.liblock_acquire.argtypes = Context, c.c_char_p, c.c_size_t, c.c_void_p, c.POINTER(Lock), c.POINTER(Result)
library.liblock_try_acquire.argtypes = library.liblock_acquire.argtypes
library.liblock_release.argtypes = Context, Lock, c.POINTER(Result)
library.liblock_context_free.argtypes = (Context,)
library.liblock_status_text.argtypes, library.liblock_status_text.restype = (c.c_int32,), c.c_char_p


def checked(call, *arguments):
    """Of the calls that fill a result, which is their last argument."""
    result = Result(struct_size=c.sizeof(Result))
    status = call(*arguments, c.byref(result))
    if status != OK:
        raise RuntimeError((result.message or library.liblock_status_text(status)).decode())
    return result


@contextlib.contextmanager
def opened(url):
    context = Context()
    checked(library.liblock_open, url.encode(), None, c.byref(context))
    try:
        yield context
    finally:
        library.liblock_context_free(context)


@contextlib.contextmanager
def held(context, key):
    """Holds the key (bytes) and gives its fencing token."""
    lock = Lock()
    granted = checked(library.liblock_acquire, context, key, len(key), None, c.byref(lock))
    try:
        yield granted.token
    finally:
        checked(library.liblock_release, context, lock)


with opened(sys.argv[1] if len(sys.argv) > 1 else "local:hello") as context:
    with held(context, b"greeting") as token:
        print(f'hello: I hold "greeting" with token {token}')
        if library.liblock_try_acquire(context, b"greeting", 8, None, c.byref(Lock()), None) != BUSY:
            sys.exit("somebody else could take it")
    with held(context, b"greeting") as later:
        if later <= token:
            sys.exit("a later token is not larger")
