# SPDX-License-Identifier: MIT
"""Keyed locks of Java beside the local context, by JMH in a JVM of its own: asked for by `nightly`, since Maven has to
fetch what they are made of."""

import functools
import json
import pathlib
import subprocess
import tempfile

from . import peer_clients
from .failed import Failed
from .rows import PAIR, plain, ratio

SOURCES = peer_clients.ROOT / "bench" / "peers" / "jmh"
TARGET = peer_clients.INSTALLED / "jmh"
JAR = TARGET / "peer-jmh.jar"
LIMIT_S = 120
PROGRAM = "java"
COUNTED, STRIPED = "java.countedPair/hot", "java.stripedPair/hot"
PARTS = (
    ratio("pair / Java ConcurrentHashMap of counted locks", PAIR, COUNTED),
    ratio("pair / Guava Striped x 4,096 (not exact)", PAIR, STRIPED),
    plain("Java ConcurrentHashMap of counted locks", COUNTED, "ns"),
    plain("Guava Striped x 4,096", STRIPED, "ns"),
)


@functools.cache
def why_not():
    """Builds the programs; why that cannot be, or an empty text."""
    try:
        peer_clients.tool("mvn")
        peer_clients.done("mvn", "-q", "-B", f"-Dpeers.target={TARGET}", "package", cwd=SOURCES)
    except peer_clients.Missing as reason:
        return f"Java ({reason})"
    return ""


def measure():
    """Metrics of one run: nanoseconds per pair."""
    with tempfile.TemporaryDirectory(prefix="liblock-") as folder:
        out = pathlib.Path(folder) / "out.json"
        ended = subprocess.run(["java", "-jar", str(JAR), "-rf", "json", "-rff", str(out)], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S)
        if ended.returncode != 0:
            raise Failed(f"JMH ended with {ended.returncode}:\n{ended.stdout[-2000:]}")
        return read(out.read_text())


def read(text):
    found = {}
    for one in json.loads(text):
        if one["primaryMetric"]["scoreUnit"] != "ns/op":
            raise Failed(f"JMH measured in {one['primaryMetric']['scoreUnit']}")
        found[f"java.{one['benchmark'].rsplit('.', 1)[1]}/hot"] = one["primaryMetric"]["score"]
    return found
