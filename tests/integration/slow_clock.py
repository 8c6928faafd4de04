#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A process for which time passes between any two looks at the clock (slow_clock.c, LIBLOCK_SLOW_CLOCK)."""
import os
import time

from harness import SLOW, Agent, Server, eventually, main, same, status, test


@test
def a_renewal_near_the_end_of_max_hold_is_sent_though_time_passes_while_it_is_made():
    with Server() as server, Agent(LD_PRELOAD=os.environ["LIBLOCK_SLOW_CLOCK"]) as agent:
        status(agent("open", "c", server.url), "OK")
        for i in range(4):
            status(agent("acquire", "c", f"k{i}", ttl_ms=1000, renew=1, max_hold_ms=1400), "OK")
        time.sleep(1.5)
        assert eventually(lambda: agent("told", "c").lost == 4, 3 * SLOW)
        same(server.locks(), [])


if __name__ == "__main__":
    main()
