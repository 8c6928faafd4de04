#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The dashboard, the alerts and the page of docs/monitoring name metrics that a running context gives, and leave none
out; the program of the page serves them. Usage: monitoring.py LIBRARY_FOLDER [PART OF A NAME]. TAP."""
import functools
import json
import re
import urllib.request

from pages import ROOT, Process, program

from harness import Server, eventually, free_port, main, same, test

FOLDER = ROOT / "docs/monitoring"
METRIC = re.compile(r"\bliblock_[a-z_]+\b")
SAMPLE = re.compile(r'^(liblock_\w+)\{instance_id="[^"]+"(?:,le="([^"]+)")?\} (\S+)$')


def scraped(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            return answer.read().decode()
    except OSError:
        return None


@functools.cache
def text():
    """What the program of the page serves after a few scrapes."""
    with Server() as server:
        port = free_port()
        with Process(program("monitoring/README.md", "metrics.c"), server.url, port):
            assert eventually(lambda: scraped(port)), "nothing is served"
            return [scraped(port) for _ in range(3)][-1]


@functools.cache
def types():
    """{metric: type}, as the text says."""
    return dict(re.findall(r"^# TYPE (\w+) (\w+)$", text(), re.MULTILINE))


def families(names):
    """A histogram's parts count as the histogram."""
    return {re.sub(r"_(bucket|sum|count)$", "", name) if name not in types() else name for name in names}


def dashboard():
    return json.loads((FOLDER / "grafana.json").read_text(encoding="utf-8"))


def expressions():
    """(where, expression) of all panels and alerts."""
    found = [(f"panel {panel['title']}", target["expr"])
             for panel in dashboard()["panels"] for target in panel["targets"]]
    alerts = (FOLDER / "alerts.yml").read_text(encoding="utf-8")
    found += re.findall(r"- alert: (\w+)\n *expr: (?:>-\n)?(.*?)(?=\n *(?:for|annotations):)", alerts, re.DOTALL)
    return found


@test
def the_text_is_one_that_prometheus_reads():
    samples, buckets = 0, {}
    for line in text().splitlines():
        if line.startswith("# "):
            assert re.match(r"^# (HELP liblock_\w+ \S.*|TYPE liblock_\w+ (counter|gauge|histogram))$", line), line
            continue
        found = SAMPLE.match(line)
        assert found and families({found.group(1)}) <= set(types()), line
        samples += 1
        if found.group(2):
            buckets.setdefault(found.group(1), []).append(float(found.group(3)))
    assert samples > len(types())
    for counts in buckets.values():
        same(counts, sorted(counts))
    assert types()["liblock_acquired_total"] == "counter" and types()["liblock_acquire_seconds"] == "histogram"
    same(len(re.findall(r'_bucket\{[^}]*le="\+Inf"\} 0$', text(), re.MULTILINE)), 0)  # something was measured


@test
def every_metric_of_a_panel_or_an_alert_is_one_that_a_context_gives():
    assert len(expressions()) > 30, "they were not found"
    for where, expression in expressions():
        named = METRIC.findall(expression)
        assert named, f"{where} looks at no metric: {expression}"
        unknown = families(named) - set(types())
        assert not unknown, f"{where}: {unknown}"
        same(expression.count("("), expression.count(")"))


@test
def rates_are_of_counters_and_quantiles_of_histograms():
    for where, expression in expressions():
        for name in re.findall(r"(?:rate|increase)\((\w+)", expression):
            kind = types()[next(iter(families({name})))]
            rises = kind == "counter" or (kind == "histogram" and name.endswith("_bucket"))
            assert rises, f"{where}: {name} is a {kind}"
        for name in re.findall(r"histogram_quantile\([^,]+, sum by \([^)]*\ble\b[^)]*\) \(rate\((\w+)", expression):
            assert name.endswith("_bucket"), f"{where}: {name}"
        same(expression.count("histogram_quantile"), len(re.findall(r"by \([^)]*\ble\b[^)]*\) \(rate", expression)))


@test
def no_metric_is_left_out_by_the_page_or_the_dashboard():
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    page = page.partition("## What there is")[2].partition("## The server")[0]
    named = families(re.findall(r"`(liblock_[a-z_]+_(?:total|seconds|held)|liblock_waiters)`", page))
    same(sorted(set(types()) - named), [])
    same(sorted(named - set(types())), [])
    shown = families({name for where, expression in expressions() if where.startswith("panel")
                      for name in METRIC.findall(expression)})
    same(sorted(set(types()) - shown), [])


@test
def no_two_panels_of_the_dashboard_overlap():
    panels = dashboard()["panels"]
    same(len({panel["id"] for panel in panels}), len(panels))
    taken = {}
    for panel in panels:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24, panel["title"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                same(taken.setdefault((x, y), panel["title"]), panel["title"])


if __name__ == "__main__":
    main()
