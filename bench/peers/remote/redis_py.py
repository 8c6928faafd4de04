# SPDX-License-Identifier: MIT
"""redis-py's Lock as a peer, one lock object per thread, as its documentation has it. See README.md."""
import sys
import threading
import time

import redis

ports, key, threads, sections, run_ms, hold_us, pause_us, delay_ms, counter = sys.argv[1:10]
threads, sections, run_ms, delay_ms = map(int, (threads, sections, run_ms, delay_ms))
hold, pause = int(hold_us) / 1e6, int(pause_us) / 1e6
client = redis.Redis(host="127.0.0.1", port=int(ports))
sleeping = {} if delay_ms < 0 else {"sleep": delay_ms / 1000}
records = [[] for _ in range(threads)]


def new_lock():
    return client.lock(key, timeout=10, **sleeping)


def one_section(lock):
    asked = time.monotonic_ns()
    lock.acquire()
    had = time.monotonic_ns()
    if counter != "-":
        with open(counter, "r+") as file:
            value = int(file.read())
            file.seek(0)
            file.write(f"{value + 1}\n")
    if hold:
        time.sleep(hold)
    letting = time.monotonic_ns()
    lock.release()
    let = time.monotonic_ns()
    if pause:
        time.sleep(pause)
    return asked, had, letting, let


def take_part(mine):
    lock = new_lock()
    end = time.monotonic() + run_ms / 1000 if run_ms else float("inf")
    while (not sections or len(mine) < sections) and time.monotonic() < end:
        mine.append(one_section(lock))


with new_lock():
    pass
print("ready", flush=True)
if not sys.stdin.readline():
    sys.exit("nobody said go")
running = [threading.Thread(target=take_part, args=(mine,)) for mine in records]
for thread in running:
    thread.start()
for thread in running:
    thread.join()
for nth, mine in enumerate(records):
    for moments in mine:
        print(nth, *moments)
