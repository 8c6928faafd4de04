#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command beside a redis-server behind TLS that wants to know its clients, as with_redis.py does beside a plain
one. In the words of the command {tls} becomes its URL, {ca} who has signed its certificate, {certificate} and {key} the
client's, as files. Usage: with_tls.py COMMAND ARGUMENT…"""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from certificates import Certificates  # noqa: E402
from harness import Server, die_with_parent  # noqa: E402


def main():
    certificates = Certificates()
    server, client = certificates.signed("server", "localhost"), certificates.signed("client", "client")
    with Server(tls=dict(server, clients="yes")) as behind:
        known = {"{tls}": f"rediss://localhost:{behind.tls_port}/0", "{ca}": server["ca"],
                 "{certificate}": client["certificate"], "{key}": client["key"]}
        words = sys.argv[1:]
        for name, value in known.items():
            words = [word.replace(name, value) for word in words]
        return subprocess.run(words, preexec_fn=die_with_parent).returncode


if __name__ == "__main__":
    sys.exit(main())
