# SPDX-License-Identifier: MIT
"""What samples of a soak say: how steeply each figure rises, and whether that is too much. Nothing is looked at before
the warm-up is over (a fifth of the time, five minutes at the most), in which caches and arenas fill."""
import statistics

RSS_MIB_PER_H_MAX = 1.0
RSS_RISE_MIB_MAX = 0.75  # over a short run the step of one arena would count as a steep slope
WARM_UP_S_MAX = 300
WAKE_TIMES_MAX, WAKE_MS_MORE = 2, 0.5
KEYS_TIMES_MAX, KEYS_MORE = 1.2, 200  # the fences of all the keys that there are
SCOPES = ("local", "redis", "quorum")


def slope(samples, name):
    """By least squares, per hour."""
    seconds = [one["s"] for one in samples]
    return statistics.linear_regression(seconds, [one[name] for one in samples]).slope * 3600


def quarters(samples):
    """The first and the last of what is judged."""
    size = max(1, len(samples) // 4)
    return samples[:size], samples[-size:]


def level(samples, name):
    """What it mostly is: contexts that are opened for a while, and connections that broke, make it more or less."""
    return statistics.mode(one[name] for one in samples)


def wakes_p50_ms(samples, scope):
    seen = [one[f"{scope}_p50_us"] for one in samples if one[f"{scope}_wakes"] > 0 and not one["bent"]]
    return statistics.median(seen) / 1000 if seen else None


def summary(samples, last, lasting, status, minutes):
    warm_up_s = min(WARM_UP_S_MAX, samples[-1]["s"] / 5)
    judged = [one for one in samples if one["s"] >= warm_up_s]
    first, final = quarters(judged)
    rss_per_h = slope(judged, "rss_kib") / 1024
    run = {"minutes": minutes, "lasted_s": samples[-1]["s"], "warm_up_s": round(warm_up_s, 1),
           "samples_taken": len(samples), "exit_status": status,
           "rss_mib": {"first": round(statistics.median(one["rss_kib"] for one in first) / 1024, 2),
                       "last": round(statistics.median(one["rss_kib"] for one in final) / 1024, 2),
                       "per_hour": round(rss_per_h, 3),
                       "rise": round(rss_per_h * (judged[-1]["s"] - judged[0]["s"]) / 3600, 3)},
           "keys": {"first": max(one["keys"] for one in first), "last": max(one["keys"] for one in final)},
           "keys_without_expiry": lasting, "scopes": {}}
    for name in ("descriptors", "threads"):
        run[name] = {"first": level(first, name), "last": level(final, name),
                     "per_hour": round(slope(judged, name), 2)}
    for scope in SCOPES:
        told = dict(last[scope])
        told["wake_p50_ms"] = {"first": wakes_p50_ms(first, scope), "last": wakes_p50_ms(final, scope)}
        told["hand_overs_in_the_last_quarter"] = final[-1][f"{scope}_hand_overs"] - final[0][f"{scope}_hand_overs"]
        for transient in ("wakes", "p50_us", "p99_us"):
            told.pop(transient, None)
        run["scopes"][scope] = told
    return run


def rules(run):
    """Name, whether it held, the figures."""
    rss = run["rss_mib"]
    yield ("it lasts as long as it was told", run["lasted_s"] >= 60 * run["minutes"], f"{run['lasted_s']:.0f} s")
    yield ("memory does not grow", rss["per_hour"] < RSS_MIB_PER_H_MAX or rss["rise"] < RSS_RISE_MIB_MAX,
           f"{rss['per_hour']:+.2f} MiB/h after a warm-up of {run['warm_up_s']:.0f} s, "
           f"from {rss['first']} to {rss['last']} MiB")
    for name in ("descriptors", "threads"):
        one = run[name]
        yield f"{name} do not grow", one["last"] <= one["first"], f"from {one['first']} to {one['last']}"
    keys = run["keys"]
    yield ("keys on the servers do not grow", keys["last"] <= keys["first"] * KEYS_TIMES_MAX + KEYS_MORE,
           f"from {keys['first']} to {keys['last']}")
    yield "every key on the servers expires", not run["keys_without_expiry"], ", ".join(run["keys_without_expiry"][:5])
    for scope, told in run["scopes"].items():
        wakes = told["wake_p50_ms"]
        known = None not in wakes.values()
        yield (f"{scope}: waiters wake up as quickly at the end as at the beginning",
               known and wakes["last"] <= wakes["first"] * WAKE_TIMES_MAX + WAKE_MS_MORE,
               f"p50 from {wakes['first']:.3f} to {wakes['last']:.3f} ms" if known else "none woke up")
        yield f"{scope}: the key goes from hand to hand until the end", told["hand_overs_in_the_last_quarter"] > 0, \
            f"{told['hand_overs']} times"
        yield f"{scope}: nobody believes in a key that another believes in", told["doubles"] == 0, str(told["doubles"])
        yield f"{scope}: tokens rise", told["tokens_back"] == 0, str(told["tokens_back"])
        yield f"{scope}: no call ends as it never should", told["unexpected"] == 0, str(told["ends"])
    yield "it closes in the end and ends well", run["exit_status"] == 0, f"status {run['exit_status']}"


def tell(run):
    """As TAP; the exit status."""
    failed = 0
    for number, (name, holds, figures) in enumerate(rules(run), 1):
        failed += not holds
        print(f"{'ok' if holds else 'not ok'} {number} - {name} # {figures}", flush=True)
    print(f"1..{number}")
    return int(failed != 0)
