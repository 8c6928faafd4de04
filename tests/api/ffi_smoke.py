# SPDX-License-Identifier: MIT
"""Smoke test from Python by ctypes: the object needs no macro and no struct that an FFI cannot express.

The struct is copied from the header by hand, field by field, as a foreign program would do; its size is
checked by the library, which refuses what it does not know.
"""
import ctypes as c
import sys

OK, BUSY, NOT_HELD, INVALID_HANDLE = 0, 1, 20, 61


class AcquireOptions(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t), ("owner", c.c_void_p), ("ttl_ms", c.c_int64),
        ("wait_ms", c.c_int64),
        ("retries", c.c_int64), ("retry_interval_ms", c.c_int64), ("retry_jitter_ms", c.c_int64),
        ("backoff", c.c_int32), ("backoff_base", c.c_int32), ("backoff_step_ms", c.c_int64),
        ("backoff_cap_ms", c.c_int64), ("backoff_callback", c.c_void_p), ("backoff_user_data", c.c_void_p),
        ("order", c.c_int32), ("priority", c.c_int32), ("age_step_ms", c.c_int64),
        ("queue_ttl_ms", c.c_int64),
        ("mode", c.c_int32), ("on_conflict", c.c_int32), ("on_deadlock", c.c_int32), ("renew", c.c_int32),
        ("max_hold_ms", c.c_int64), ("min_remaining_ms", c.c_int64), ("value", c.c_void_p),
        ("value_size", c.c_size_t), ("metadata", c.c_void_p), ("metadata_count", c.c_size_t),
        ("on_lost", c.c_void_p), ("on_lost_user_data", c.c_void_p), ("completions", c.c_void_p),
    ]


class Completion(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t), ("kind", c.c_int32), ("status", c.c_int32), ("request", c.c_uint64),
        ("lock", c.c_uint64), ("token", c.c_uint64), ("remaining_ms", c.c_int64), ("waited_ms", c.c_int64),
        ("user_data", c.c_void_p), ("message", c.c_char_p),
    ]


class Liblock:
    """The functions used here, with their types."""

    def __init__(self, path):
        self.so = c.CDLL(path)
        p, u64, i64, size = c.c_void_p, c.c_uint64, c.c_int64, c.c_size_t
        self.declare("liblock_version_string", c.c_char_p)
        self.declare("liblock_status_name", c.c_char_p, c.c_int32)
        self.declare("liblock_open", c.c_int32, c.c_char_p, p, c.POINTER(p), p)
        self.declare("liblock_close", c.c_int32, p)
        self.declare("liblock_context_free", None, p)
        self.declare("liblock_acquire_options_init", None, c.POINTER(AcquireOptions), size)
        self.declare("liblock_acquire", c.c_int32, p, c.c_char_p, size, c.POINTER(AcquireOptions),
                     c.POINTER(u64), p)
        self.declare("liblock_acquire_async", c.c_int32, p, c.c_char_p, size, c.POINTER(AcquireOptions), p, p,
                     c.POINTER(u64))
        self.declare("liblock_release", c.c_int32, p, u64, p)
        self.declare("liblock_fencing_token", c.c_int32, p, u64, c.POINTER(u64))
        self.declare("liblock_remaining_ms", c.c_int32, p, u64, c.POINTER(i64))
        self.declare("liblock_completions_open", c.c_int32, p, size, c.POINTER(p), p)
        self.declare("liblock_completions_next", c.c_int32, p, i64, c.POINTER(Completion))
        self.declare("liblock_completions_free", None, p)

    def declare(self, name, result, *arguments):
        function = getattr(self.so, name)
        function.restype, function.argtypes = result, arguments
        setattr(self, name.removeprefix("liblock_"), function)


class Tap:
    def __init__(self):
        self.count = self.failures = 0

    def check(self, good, sentence):
        self.count += 1
        self.failures += not good
        print("%s %d - %s" % ("ok" if good else "not ok", self.count, sentence))

    def end(self):
        print("1..%d" % self.count)
        return 1 if self.failures else 0


def token_of(lib, context, lock):
    token = c.c_uint64()
    return token.value if lib.fencing_token(context, lock, c.byref(token)) == OK else 0


def check_null_options(lib, tap, context):
    lock, other = c.c_uint64(), c.c_uint64()
    tap.check(lib.acquire(context, b"key", 3, None, c.byref(lock), None) == OK,
              "null options acquire a free key")
    first = token_of(lib, context, lock)
    tap.check(first > 0, "a held lock has a token")
    tap.check(lib.release(context, lock, None) == OK, "a held lock is released")
    tap.check(lib.release(context, lock, None) == NOT_HELD, "a second release is not held")
    tap.check(lib.release(context, 12345, None) == INVALID_HANDLE, "a made-up handle is refused")
    lib.acquire(context, b"key", 3, None, c.byref(other), None)
    tap.check(token_of(lib, context, other) > first, "the next token is larger")
    lib.release(context, other, None)


def check_option_struct(lib, tap, context):
    lock, other, remaining = c.c_uint64(), c.c_uint64(), c.c_int64()
    options = AcquireOptions()
    lib.acquire_options_init(c.byref(options), c.sizeof(options))
    tap.check(options.struct_size == c.sizeof(options), "the init function sets the size")
    options.ttl_ms, options.wait_ms = 60000, 0
    tap.check(lib.acquire(context, b"k\0y", 3, c.byref(options), c.byref(lock), None) == OK,
              "an initialised options struct acquires a key with a zero byte")
    lib.remaining_ms(context, lock, c.byref(remaining))
    tap.check(0 < remaining.value <= 60000, "the lease is the one asked for")
    tap.check(lib.acquire(context, b"k\0y", 3, c.byref(options), c.byref(other), None) == BUSY,
              "a held key is busy")
    tap.check(lib.release(context, lock, None) == OK, "the lock is given back")


def check_completion_queue(lib, tap, context):
    queue, request, completion = c.c_void_p(), c.c_uint64(), Completion()
    lib.completions_open(context, 4, c.byref(queue), None)
    options = AcquireOptions()
    lib.acquire_options_init(c.byref(options), c.sizeof(options))
    options.completions = queue
    tap.check(lib.acquire_async(context, b"a", 1, c.byref(options), None, None, c.byref(request)) == OK,
              "a request to a completion queue is accepted")
    completion.struct_size = c.sizeof(completion)
    tap.check(lib.completions_next(queue, 20000, c.byref(completion)) == OK,
              "its end is read without a callback")
    tap.check(completion.status == OK and completion.request == request.value, "it was granted")
    tap.check(lib.release(context, completion.lock, None) == OK, "its lock is released")
    lib.completions_free(queue)


def main():
    lib, tap, context = Liblock(sys.argv[1]), Tap(), c.c_void_p()
    tap.check(lib.version_string().count(b".") == 2, "the version is text")
    tap.check(lib.status_name(BUSY) == b"BUSY", "statuses have names")
    tap.check(lib.open(b"local:", None, c.byref(context), None) == OK, "a local context opens")
    check_null_options(lib, tap, context)
    check_option_struct(lib, tap, context)
    check_completion_queue(lib, tap, context)
    tap.check(lib.close(context) == OK, "the context closes")
    lib.context_free(context)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
