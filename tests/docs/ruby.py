#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Ruby that stands in the documents, with the binding of this tree beside a real server. Usage:
ruby.py LIBRARY_FOLDER [PART OF A NAME]. TAP."""
import os

from pages import ROOT, Process, blocks, library

from harness import Server, main, same, test


def ruby(server, text):
    """The text with what its page takes for granted: a client of the server."""
    environment = {**os.environ, "RUBYLIB": str(ROOT / "bindings/ruby/lib"),
                   "LIBLOCK_LIBRARY": str(library() / "liblock.so.0")}
    return Process("ruby", "-w", "-e", f"redis_client = {server.url!r}\n{text}", env=environment)


@test
def a_program_of_redis_queued_locks_goes_on_with_another_require():
    with Server() as server:
        changed = ruby(server, blocks("coming-from/redis_queued_locks.md")["layer.rb"])
        same(changed.end(), 0)
        same(changed.said, ["alone"])
        same(len(server.call("KEYS", "ll1:f:*my_lock*")), 1)  # a token was given: it was alone by a lock
        same(server.locks(), [])


if __name__ == "__main__":
    main()
