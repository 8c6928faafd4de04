# SPDX-License-Identifier: MIT
"""redis-py's Lock as a contender (or none at all, to show that the test bites). See README.md."""
import contextlib
import os
import sys
import time

host, port, key, sections, directory, name = sys.argv[1:7]
marker, counter = os.path.join(directory, "marker"), os.path.join(directory, "counter")


def locks():
    if name.startswith("nobody"):
        return contextlib.nullcontext()
    import redis
    return redis.Redis(host=host, port=int(port)).lock(key, timeout=10, sleep=0.001)


lock = locks()
while not os.path.exists(os.path.join(directory, "start")):
    time.sleep(0.001)
with open(os.path.join(directory, name + ".log"), "w") as log:
    for _ in range(int(sections)):
        with lock:
            begin = time.monotonic_ns()
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            with open(counter, "r+") as file:
                value = int(file.read())
                file.seek(0)
                file.write(f"{value + 1}\n")
            os.unlink(marker)
            log.write(f"{name} {begin} {time.monotonic_ns()}\n")
