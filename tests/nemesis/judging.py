# SPDX-License-Identifier: MIT
"""What is made of a history: the calls that clients wrote down, judged by the interval sweep (check-intervals) and by
Porcupine (judge/), which know nothing of each other, and the resource by its own count."""
import dataclasses
import re
import subprocess

from clients import judge_spans
from kinds import EXCLUSION
from worlds import LEASE_MS

JUDGE_SECONDS = 60
HEARS_WITHIN_NS = (LEASE_MS + 100) * 1e6  # a process of a lock that was forgotten: when its lease ends, at the latest


def porcupine(judge, calls, model):
    """Lines of what it found; a judge that comes to no end is not content."""
    history = "\n".join(f"{c.key} {c.token} {c.asked} {c.begin} {c.until} {-1 if c.status != 0 else c.ended}"
                        for c in calls if c.is_hold)
    judged = subprocess.run([judge, model, str(JUDGE_SECONDS)], input=history + "\n", capture_output=True, text=True)
    if judged.returncode not in (0, 1):
        raise RuntimeError(f"the judge ended with {judged.returncode}: {judged.stdout}{judged.stderr}")
    return judged.stdout.splitlines() if judged.returncode else []


def hand_overs(calls):
    """How often a key went from one to another."""
    last, count = {}, 0
    for call in sorted((call for call in calls if call.is_hold), key=lambda call: call.begin):
        count += call.key in last and last[call.key] != call.who
        last[call.key] = call.who
    return count


def with_their_locks(calls):
    """A lock that its server forgot goes on from hand to hand within its process, under the tokens that came with it,
    until the process hears of that (docs/safety.md): such a hold, by somebody who stood in line when the one before it
    ended and under the very next token, was asked for when its lock was. That it has not heard holds for one lease from
    the grant to somebody else on."""
    known, ordered = {}, []

    def should_have_heard(call):
        return any(other.key == call.key and other.process != call.process and other.token > call.token and
                   other.is_hold and other.begin + HEARS_WITHIN_NS < call.begin for other in calls)
    for call in sorted(calls, key=lambda call: call.token):
        before = known.get((call.key, call.process, call.token - 1)) if call.is_hold else None
        if before is not None and call.asked <= before.ended and not should_have_heard(call):
            call = dataclasses.replace(call, asked=min(call.asked, before.asked))
        known[call.key, call.process, call.token] = call
        ordered.append(call)
    return ordered


def given_twice(calls):
    """A token belongs to one grant for ever, also where whoever was granted it never certainly held."""
    givers = {}
    for call in calls:
        if call.token != 0:
            givers.setdefault((call.key, call.token), []).append(call.who)
    return [f"token {token} of {key} was given to {', '.join(whom)}"
            for (key, token), whom in sorted(givers.items()) if len(whom) > 1]


def judge(clients, group, check, porcupine_judge=None):
    """{what: lines}: violations of exclusion, where it is promised; violations of the guard; what is no violation."""
    calls = clients.calls()
    doubles, figures = judge_spans(check, calls, "--overlaps")
    excludes = group in EXCLUSION
    # Where two may hold at once a grant may be heard of late: whoever asked meanwhile may be before it or behind.
    in_order = calls if excludes else with_their_locks(calls)
    tokens, _ = judge_spans(check, in_order, "--tokens", *([] if excludes else ["--asked"]))
    said = porcupine(porcupine_judge, in_order, "mutex" if excludes else "tokens") if porcupine_judge else []
    lost = clients.lost_updates()
    places = clients.places()
    return {
        "violations": [*(doubles if excludes else []), *said],
        "guard_violations": [*tokens, *given_twice(calls), *([f"{lost} updates lost"] if lost else [])],
        "porcupine": len(said),
        "doubles": int(re.search(r"(\d+) wrong", figures)[1]),
        "operations": len(calls) + sum(call.is_hold for call in calls),
        "holds": sum(call.is_hold for call in calls),
        "hand_overs": hand_overs(calls),
        "passed_on": clients.told("passed_on"),
        "written": sum(place.written for place in places),
        "refused": sum(place.refused for place in places),
    }
