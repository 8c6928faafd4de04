# SPDX-License-Identifier: MIT
"""A peer without any lock, by which is shown that one would be found out. See README.md."""
import sys
import threading
import time

threads, sections, counter = int(sys.argv[3]), int(sys.argv[4]), sys.argv[9]
lines = []


def take_part(nth):
    for _ in range(sections):
        had = time.monotonic_ns()
        with open(counter, "r+") as file:
            value = int(file.read() or 0)
            file.seek(0)
            time.sleep(0.001)
            file.write(f"{value + 1}\n")
        letting = time.monotonic_ns()
        lines.append(f"{nth} {had} {had} {letting} {letting}")


print("ready", flush=True)
sys.stdin.readline()
running = [threading.Thread(target=take_part, args=(nth,)) for nth in range(threads)]
for thread in running:
    thread.start()
for thread in running:
    thread.join()
print("\n".join(lines))
