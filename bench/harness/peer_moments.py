# SPDX-License-Identifier: MIT
"""Figures out of sections. A section is (thread, asked, had, letting, let), in nanoseconds of the monotonic clock,
which all processes share: when the lock was asked for, was had, began to be given back, and had been. Everything that
is said of a peer comes from these four, and from nothing that the peer reckons itself. No I/O here."""

import bisect

ASKED, HAD, LETTING, LET = 1, 2, 3, 4


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def merged(parties):
    """All sections of all parties in the order in which the lock was had, each with its party's name at the end."""
    return sorted(((*section, name) for name, sections in parties.items() for section in sections),
                  key=lambda section: section[HAD])


def overlaps(parties):
    """How often somebody had the lock before the one before began to give it back."""
    sections = merged(parties)
    return sum(1 for before, after in zip(sections, sections[1:]) if after[HAD] < before[LETTING])


def pair_us(sections, passed_over):
    """Of each section the time until the lock was had and that of giving it back, without the first ones."""
    return [(s[HAD] - s[ASKED] + s[LET] - s[LETTING]) / 1e3 for s in sections[passed_over:]]


def window(parties, run_ms):
    """Where everybody is at it: from a tenth into the run, counted from the last one to begin, to its end."""
    begin = max(min(s[ASKED] for s in sections) for sections in parties.values() if sections)
    end = min(min(s[ASKED] for s in sections) for sections in parties.values() if sections) + run_ms * 1_000_000
    return begin + (end - begin) // 10, end


def within(parties, run_ms):
    begin, end = window(parties, run_ms)
    return {name: [s for s in sections if begin <= s[HAD] < end] for name, sections in parties.items()}, end - begin


def per_second(parties, run_ms):
    inside, span_ns = within(parties, run_ms)
    return sum(map(len, inside.values())) * 1e9 / span_ns


def share_of_least(parties, run_ms):
    """What the process that had least had of all, in per cent; of two, 50 is even."""
    inside, _ = within(parties, run_ms)
    counts = [len(sections) for sections in inside.values()]
    return 100 * min(counts) / max(1, sum(counts))


def waits_ms(parties, run_ms):
    """How long those waited who had the lock within the window, or still waited at its end: an order that starves
    somebody shows in its tail."""
    begin, end = window(parties, run_ms)
    return [(min(s[HAD], end) - s[ASKED]) / 1e6 for sections in parties.values() for s in sections
            if s[HAD] >= begin and s[ASKED] < end]


def hand_overs_us(parties):
    """From the moment that one process gives the lock back to the next holder's having it in another one that was
    waiting by then. Where the releaser asked again before that, the wait was not for the hand-over alone: such are left
    out, and counted in the second value."""
    sections = merged(parties)
    asked = {name: sorted(s[ASKED] for s in own) for name, own in parties.items()}
    taken, disturbed = [], 0
    for before, after in zip(sections, sections[1:]):
        name = before[-1]
        if after[-1] == name:
            disturbed += 1
        elif after[ASKED] < before[LETTING]:
            again = bisect.bisect_right(asked[name], before[LETTING])
            if again < len(asked[name]) and asked[name][again] < after[HAD]:
                disturbed += 1
            else:
                taken.append((after[HAD] - before[LETTING]) / 1e3)
    return taken, disturbed


def longest_wait(parties, run_ms):
    """The longest wait that began and ended in the window: how long it was, how many were ahead of it (had the lock or
    had asked for it, and not yet had it), how many had the lock meanwhile, and how long one of these took."""
    begin, end = window(parties, run_ms)
    sections = merged(parties)
    of_all = [s for s in sections if begin <= s[ASKED] and s[HAD] < end]
    if not of_all:
        return None
    longest = max(of_all, key=lambda s: s[HAD] - s[ASKED])
    since = longest[ASKED]
    wait_ns = longest[HAD] - since
    ahead = sum(1 for s in sections if s[ASKED] < since and s[LETTING] > since)
    meanwhile = sum(1 for s in sections if s is not longest and s[LETTING] > since and s[HAD] < longest[HAD])
    return {"wait_us": wait_ns / 1e3, "ahead": ahead, "meanwhile": meanwhile,
            "each_us": wait_ns / 1e3 / max(1, meanwhile)}
